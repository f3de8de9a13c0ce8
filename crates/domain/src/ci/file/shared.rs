//! What the file says for all its jobs, and a job may say for itself.

use std::collections::HashMap;

use super::cache::{self, Cache};
use super::section::{A_STRING, STRINGS, Section, string, strings};
use super::value::{Key, Value};

/// None where nothing is said.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared {
    pub before_script: Option<Vec<String>>,
    pub image: Option<String>,
    pub services: Option<Vec<String>>,
    pub after_script: Option<Vec<String>>,
    pub variables: Vec<(String, String)>,
    pub cache: Option<Cache>,
}

impl Shared {
    /// What is wrong in several ways is refused for the first in this order.
    pub fn of_file(file: &Section) -> Result<(Self, Vec<String>), String> {
        let before_script = file.entry("before_script", strings, STRINGS)?;
        let image = file.entry("image", string, A_STRING)?;
        let services = file.entry("services", strings, STRINGS)?;
        let after_script = file.entry("after_script", strings, STRINGS)?;
        let variables = variables_of(file)?;
        let stages = stages_of(file)?;
        let cache = cache::read(file)?;
        Ok((Self { before_script, image, services, after_script, variables, cache }, stages))
    }
}

/// `types` is the old word; who writes both means `stages`.
fn stages_of(file: &Section) -> Result<Vec<String>, String> {
    let key = if file.get("stages").is_some() { "stages" } else { "types" };
    let stages = file.entry(key, strings, STRINGS)?;
    Ok(stages.unwrap_or_else(|| ["build", "test", "deploy"].map(str::to_owned).into()))
}

pub(super) fn variables_of(section: &Section) -> Result<Vec<(String, String)>, String> {
    let variables = section.entry("variables", pairs, "should be a hash of key value pairs")?;
    Ok(variables.unwrap_or_default())
}

fn pairs(value: &Value) -> Option<Vec<(String, String)>> {
    let Value::Map(map) = value else { return None };
    map.iter()
        .map(|(key, value)| match key {
            Key::Name(name) => Some(((**name).to_owned(), value.text_or_symbol()?.to_owned())),
            Key::Other(_) | Key::Nothing => None,
        })
        .collect()
}

/// Own variables stand over those of the file, at their places.
pub(super) fn merged(shared: &[(String, String)], own: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut all = shared.to_vec();
    let places: HashMap<&str, usize> =
        shared.iter().enumerate().map(|(place, (name, _))| (name.as_str(), place)).collect();
    for (name, value) in own {
        match places.get(name.as_str()) {
            Some(&place) => all[place].1 = value,
            None => all.push((name, value)),
        }
    }
    all
}
