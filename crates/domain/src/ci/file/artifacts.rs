//! The key `artifacts` of a job.

use serde::{Deserialize, Serialize};

use super::duration;
use super::section::{SHOULD_BE_BOOLEAN, SHOULD_BE_STRING, SHOULD_BE_STRINGS, Section, boolean, string, strings};

/// The artifacts that a job uploads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    pub name: Option<String>,
    pub untracked: bool,
    pub paths: Vec<String>,
    pub when: ArtifactsWhen,
    /// The duration as it was written. It has been validated.
    pub expire_in: Option<String>,
}

/// The outcome of a build after which its artifacts are uploaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactsWhen {
    OnSuccess,
    OnFailure,
    Always,
}

impl ArtifactsWhen {
    pub const ALL: [Self; 3] = [Self::OnSuccess, Self::OnFailure, Self::Always];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnSuccess => "on_success",
            Self::OnFailure => "on_failure",
            Self::Always => "always",
        }
    }

    pub fn from_str_opt(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|when| when.as_str() == word)
    }
}

pub(super) fn read(job: &Section) -> Result<Option<Artifacts>, String> {
    let Some(value) = job.get("artifacts") else { return Ok(None) };
    let artifacts = Section::from_value(job.error_path("artifacts"), value)?;
    artifacts.reject_unknown_keys(&["name", "untracked", "paths", "when", "expire_in"])?;
    let name = artifacts.attribute("name", string, SHOULD_BE_STRING)?;
    let untracked = artifacts.attribute("untracked", boolean, SHOULD_BE_BOOLEAN)?.unwrap_or(false);
    let paths = artifacts.attribute("paths", strings, SHOULD_BE_STRINGS)?.unwrap_or_default();
    let when = artifacts.attribute(
        "when",
        |value| ArtifactsWhen::from_str_opt(&string(value)?),
        "should be on_success, on_failure or always",
    )?;
    let expire_in = artifacts.attribute(
        "expire_in",
        |value| string(value).filter(|text| duration::parse_seconds(text).is_some()),
        "should be a duration",
    )?;
    Ok(Some(Artifacts { name, untracked, paths, when: when.unwrap_or(ArtifactsWhen::OnSuccess), expire_in }))
}
