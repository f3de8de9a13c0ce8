//! The key `environment` of a job.

use serde::{Deserialize, Serialize};

use super::section::{SHOULD_BE_STRING, Section, format_error, string};
use super::value::Value;
use crate::violations::{BLANK, check_max_length};

/// The environment that a job deploys to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    pub name: String,
    pub url: Option<String>,
    pub action: EnvironmentAction,
    /// The job that stops the environment.
    pub on_stop: Option<String>,
}

/// The effect of a job on its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentAction {
    Start,
    Stop,
}

impl EnvironmentAction {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
        }
    }

    pub fn from_str_opt(word: &str) -> Option<Self> {
        [Self::Start, Self::Stop].into_iter().find(|action| action.as_str() == word)
    }
}

pub(super) fn read(job: &Section) -> Result<Option<Environment>, String> {
    let Some(value) = job.get("environment") else { return Ok(None) };
    let path = job.error_path("environment");
    match value {
        Value::Text(_) => {
            let name = read_name(Some(value)).map_err(|what| format_error(&path, &what))?;
            Ok(Some(Environment { name, url: None, action: EnvironmentAction::Start, on_stop: None }))
        }
        Value::Map(_) => read_map(&Section::from_value(path, value)?).map(Some),
        _ => Err(format_error(&path, "config should be a hash or a string")),
    }
}

fn read_map(environment: &Section) -> Result<Environment, String> {
    let name = read_name(environment.get("name")).map_err(|what| environment.error(&what))?;
    environment.reject_unknown_keys(&["name", "url", "action", "on_stop"])?;
    let url = environment.attribute("url", text_or_number, SHOULD_BE_STRING)?;
    if let Some(url) = &url {
        check_max_length(url, 255).map_err(|what| environment.error(&format!("url {what}")))?;
    }
    let action = environment.attribute(
        "action",
        |value| EnvironmentAction::from_str_opt(&string(value)?),
        "should be start or stop",
    )?;
    let on_stop = environment.attribute("on_stop", string, SHOULD_BE_STRING)?;
    Ok(Environment { name, url, action: action.unwrap_or(EnvironmentAction::Start), on_stop })
}

fn read_name(value: Option<&Value>) -> Result<String, String> {
    let value = value.filter(|value| !value.is_blank()).ok_or_else(|| format!("name {BLANK}"))?;
    string(value)
        .filter(|name| name.chars().all(is_name_char))
        .ok_or_else(|| "name can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.' and spaces".to_owned())
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '$' | '{' | '}' | '.' | ' ')
}

fn text_or_number(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some((**number).to_owned()),
        _ => value.text_or_symbol().map(str::to_owned),
    }
}
