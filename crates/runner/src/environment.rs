//! The environment variables of scripts.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context as _;

use crate::directory::Directories;
use crate::payload::{Payload, Variable};

const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variables of a build, and the values that must be masked.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub variables: BTreeMap<String, String>,
    /// Values that are masked in the trace.
    pub secrets: Vec<String>,
    /// Names of variables that were left out because their name or value is not valid in a shell.
    pub rejected: Vec<String>,
}

impl Environment {
    /// Builds the environment of a build and writes its file variables. Nothing is inherited from the runner's own
    /// environment.
    pub fn new(payload: &Payload, directories: &Directories, path: Option<&str>) -> anyhow::Result<Environment> {
        let in_temporary = |name: &str| directories.temporary.join(name).display().to_string();
        let mut environment = Environment::default();
        for (key, value) in [
            ("PATH", path.unwrap_or(DEFAULT_PATH).to_owned()),
            ("HOME", in_temporary("home")),
            ("TMPDIR", in_temporary("tmp")),
            ("LANG", "C.UTF-8".to_owned()),
            ("CI_SERVER", "yes".to_owned()),
            ("CI_BUILDS_DIR", directories.builds.display().to_string()),
            ("CI_PROJECT_DIR", directories.project.display().to_string()),
        ] {
            environment.variables.insert(key.to_owned(), value);
        }
        let mut by_key: BTreeMap<&str, &Variable> = BTreeMap::new();
        for variable in &payload.variables {
            if is_variable_name(&variable.key) && !variable.value.contains('\0') {
                by_key.insert(&variable.key, variable);
            } else {
                environment.rejected.push(variable.key.clone());
            }
            if variable.masked {
                environment.secrets.push(variable.value.clone());
            }
        }
        let plain: BTreeMap<String, String> = by_key
            .values()
            .filter(|variable| !variable.file)
            .map(|variable| (variable.key.clone(), variable.value.clone()))
            .collect();
        let values = environment.variables.clone().into_iter().chain(plain).collect();
        for variable in by_key.into_values() {
            let value = if variable.raw { variable.value.clone() } else { expand(&variable.value, &values) };
            if variable.masked {
                environment.secrets.push(value.clone());
            }
            let value = if variable.file {
                write_file(&directories.temporary.join("variables").join(&variable.key), &variable.value)?
            } else {
                value
            };
            environment.variables.insert(variable.key.clone(), value);
        }
        environment.secrets.push(payload.token.clone());
        environment.secrets.extend(payload.dependencies.iter().map(|dependency| dependency.token.clone()));
        Ok(environment)
    }

    /// Expands variable references in a path, a cache key or an archive name.
    pub fn expand(&self, text: &str) -> String {
        expand(text, &self.variables)
    }
}

fn is_variable_name(key: &str) -> bool {
    !key.starts_with(|it: char| it.is_ascii_digit())
        && !key.is_empty()
        && key.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
}

/// Writes the value of a file variable and returns the path of the file, which becomes the variable's value.
fn write_file(path: &Path, value: &str) -> anyhow::Result<String> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(value.as_bytes()))
        .with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(path.display().to_string())
}

/// Replaces `$NAME` and `${NAME}` by their values, not recursively, and `$$` by a dollar sign. References to unknown
/// names are kept, because they may be part of a password.
fn expand(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find('$') {
        expanded += &rest[..position];
        let after = &rest[position + 1..];
        if let Some(after) = after.strip_prefix('$') {
            expanded.push('$');
            rest = after;
            continue;
        }
        let (name, following) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, following)) => (name, following),
            None => {
                let end = after.find(|it: char| !it.is_ascii_alphanumeric() && it != '_').unwrap_or(after.len());
                after.split_at(end)
            }
        };
        match values.get(name) {
            Some(value) => expanded += value,
            None => expanded += &rest[position..rest.len() - following.len()],
        }
        rest = following;
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    fn payload(variables: serde_json::Value) -> Payload {
        serde_json::from_value(json!({
            "id": 1, "token": "job-token", "steps": [], "variables": variables,
            "job_info": {"name": "a", "project_id": 1},
            "git_info": {"repo_url": "http://h/a.git", "ref": "main", "sha": "0"},
            "dependencies": null, "artifacts": null,
        }))
        .unwrap()
    }

    #[test]
    fn variable_references_are_expanded() {
        let known = [("A".to_owned(), "1".to_owned()), ("B_2".to_owned(), "$A".to_owned())].into();
        for (text, expected) in
            [("$A-${A}", "1-1"), ("$B_2", "$A"), ("pa$word ${x} $", "pa$word ${x} $"), ("$$A", "$A"), ("${A", "${A")]
        {
            assert_eq!(expand(text, &known), expected);
        }
    }

    #[test]
    fn variables_become_an_environment() {
        let root = tempfile::tempdir().unwrap();
        let directories = Directories::create(root.path(), "r", 0, "a/b").unwrap();
        let payload = payload(json!([
            {"key": "A", "value": "1", "public": true, "masked": false},
            {"key": "A", "value": "2", "public": true, "masked": false},
            {"key": "OUT", "value": "$CI_PROJECT_DIR/out"},
            {"key": "RAW", "value": "$A", "raw": true},
            {"key": "KEY", "value": "line\n", "file": true, "masked": true},
            {"key": "PASSWORD", "value": "x$A", "masked": true},
            {"key": "bad-name", "value": "x"},
            {"key": "NOTHING", "value": null},
        ]));
        let environment = Environment::new(&payload, &directories, None).unwrap();
        let of = |key: &str| environment.variables[key].clone();
        assert_eq!((of("A"), of("RAW"), of("NOTHING")), ("2".into(), "$A".into(), String::new()));
        assert_eq!(of("OUT"), directories.project.join("out").display().to_string());
        assert_eq!(std::fs::read_to_string(of("KEY")).unwrap(), "line\n");
        assert_eq!(std::fs::metadata(of("KEY")).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(environment.rejected, ["bad-name"]);
        for secret in ["line\n", "x$A", "x2", "job-token"] {
            assert!(environment.secrets.iter().any(|it| it == secret), "{secret}");
        }
        assert!(of("HOME").starts_with(&directories.temporary.display().to_string()));
        assert!(!environment.variables.contains_key("CARGO_MANIFEST_DIR"), "nothing is inherited");
    }
}
