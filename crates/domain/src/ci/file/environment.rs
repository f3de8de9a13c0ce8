use serde::{Deserialize, Serialize};

use super::section::{A_STRING, Section, string, wrong};
use super::value::Value;
use crate::violations::{BLANK, at_most};

/// Where a job deploys to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    pub name: String,
    pub url: Option<String>,
    pub action: EnvironmentAction,
    /// The job that stops it.
    pub on_stop: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentAction {
    Start,
    Stop,
}

impl EnvironmentAction {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        [Self::Start, Self::Stop].into_iter().find(|action| action.word() == word)
    }
}

pub(super) fn read(job: &Section) -> Result<Option<Environment>, String> {
    let Some(value) = job.get("environment") else { return Ok(None) };
    let place = job.place_of("environment");
    match value {
        Value::Text(_) => {
            let name = name_of(Some(value)).map_err(|what| wrong(&place, &what))?;
            Ok(Some(Environment { name, url: None, action: EnvironmentAction::Start, on_stop: None }))
        }
        Value::Map(_) => of_map(&Section::of(place, value)?).map(Some),
        _ => Err(wrong(&place, "config should be a hash or a string")),
    }
}

fn of_map(environment: &Section) -> Result<Environment, String> {
    let name = name_of(environment.get("name")).map_err(|what| environment.wrong(&what))?;
    environment.has_only(&["name", "url", "action", "on_stop"])?;
    let url = environment.attribute("url", text_or_number, A_STRING)?;
    if let Some(url) = &url {
        at_most(url, 255).map_err(|what| environment.wrong(&format!("url {what}")))?;
    }
    let action = environment.attribute(
        "action",
        |value| EnvironmentAction::named(&string(value)?),
        "should be start or stop",
    )?;
    let on_stop = environment.attribute("on_stop", string, A_STRING)?;
    Ok(Environment { name, url, action: action.unwrap_or(EnvironmentAction::Start), on_stop })
}

fn name_of(value: Option<&Value>) -> Result<String, String> {
    let value = value.filter(|value| !value.is_blank()).ok_or_else(|| format!("name {BLANK}"))?;
    string(value)
        .filter(|name| name.chars().all(is_of_name))
        .ok_or_else(|| "name can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.' and spaces".to_owned())
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '$' | '{' | '}' | '.' | ' ')
}

fn text_or_number(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some((**number).to_owned()),
        _ => value.text_or_symbol().map(str::to_owned),
    }
}
