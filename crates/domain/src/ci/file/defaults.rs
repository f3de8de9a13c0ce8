//! Settings of the file that apply to all jobs unless a job overrides them.

use std::collections::HashMap;

use super::cache::{self, Cache};
use super::section::{SHOULD_BE_STRING, SHOULD_BE_STRINGS, Section, string, strings};
use super::value::{MapKey, Value};

/// The defaults of a file. None means that the file does not set the key.
#[derive(Clone, Debug, Default)]
pub(super) struct JobDefaults {
    pub before_script: Option<Vec<String>>,
    pub image: Option<String>,
    pub services: Option<Vec<String>>,
    pub after_script: Option<Vec<String>>,
    pub variables: Vec<(String, String)>,
    pub cache: Option<Cache>,
}

impl JobDefaults {
    /// Reads the defaults and the stages. If there are several errors, the first in the order of this function is
    /// reported.
    pub fn from_file(file: &Section) -> Result<(Self, Vec<String>), String> {
        let before_script = file.entry("before_script", strings, SHOULD_BE_STRINGS)?;
        let image = file.entry("image", string, SHOULD_BE_STRING)?;
        let services = file.entry("services", strings, SHOULD_BE_STRINGS)?;
        let after_script = file.entry("after_script", strings, SHOULD_BE_STRINGS)?;
        let variables = read_variables(file)?;
        let stages = read_stages(file)?;
        let cache = cache::read(file)?;
        Ok((Self { before_script, image, services, after_script, variables, cache }, stages))
    }
}

/// Reads the stages. `types` is the deprecated name of the key; `stages` takes precedence.
fn read_stages(file: &Section) -> Result<Vec<String>, String> {
    let key = if file.get("stages").is_some() { "stages" } else { "types" };
    let stages = file.entry(key, strings, SHOULD_BE_STRINGS)?;
    Ok(stages.unwrap_or_else(|| ["build", "test", "deploy"].map(str::to_owned).into()))
}

pub(super) fn read_variables(section: &Section) -> Result<Vec<(String, String)>, String> {
    let variables = section.entry("variables", parse_pairs, "should be a hash of key value pairs")?;
    Ok(variables.unwrap_or_default())
}

fn parse_pairs(value: &Value) -> Option<Vec<(String, String)>> {
    let Value::Map(map) = value else { return None };
    map.iter()
        .map(|(key, value)| match key {
            MapKey::Name(name) => Some(((**name).to_owned(), value.text_or_symbol()?.to_owned())),
            MapKey::Other(_) | MapKey::Null => None,
        })
        .collect()
}

/// Overrides the variables of the file by those of a job, at the same positions. New variables are appended.
pub(super) fn merge_variables(
    defaults: &[(String, String)],
    overrides: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let mut variables = defaults.to_vec();
    let indexes: HashMap<&str, usize> =
        defaults.iter().enumerate().map(|(index, (name, _))| (name.as_str(), index)).collect();
    for (name, value) in overrides {
        match indexes.get(name.as_str()) {
            Some(&index) => variables[index].1 = value,
            None => variables.push((name, value)),
        }
    }
    variables
}
