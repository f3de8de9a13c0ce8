use serde::{Deserialize, Serialize};

use super::duration;
use super::section::{A_BOOLEAN, A_STRING, STRINGS, Section, boolean, string, strings};

/// What a job leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    pub name: Option<String>,
    pub untracked: bool,
    pub paths: Vec<String>,
    pub when: ArtifactsWhen,
    /// As it was written; it is a duration.
    pub expire_in: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactsWhen {
    OnSuccess,
    OnFailure,
    Always,
}

impl ArtifactsWhen {
    pub const ALL: [Self; 3] = [Self::OnSuccess, Self::OnFailure, Self::Always];

    pub const fn word(self) -> &'static str {
        match self {
            Self::OnSuccess => "on_success",
            Self::OnFailure => "on_failure",
            Self::Always => "always",
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|when| when.word() == word)
    }
}

pub(super) fn read(job: &Section) -> Result<Option<Artifacts>, String> {
    let Some(value) = job.get("artifacts") else { return Ok(None) };
    let artifacts = Section::of(job.place_of("artifacts"), value)?;
    artifacts.has_only(&["name", "untracked", "paths", "when", "expire_in"])?;
    let name = artifacts.attribute("name", string, A_STRING)?;
    let untracked = artifacts.attribute("untracked", boolean, A_BOOLEAN)?.unwrap_or(false);
    let paths = artifacts.attribute("paths", strings, STRINGS)?.unwrap_or_default();
    let when = artifacts.attribute(
        "when",
        |value| ArtifactsWhen::named(&string(value)?),
        "should be on_success, on_failure or always",
    )?;
    let expire_in = artifacts.attribute(
        "expire_in",
        |value| string(value).filter(|text| duration::seconds(text).is_some()),
        "should be a duration",
    )?;
    Ok(Some(Artifacts { name, untracked, paths, when: when.unwrap_or(ArtifactsWhen::OnSuccess), expire_in }))
}
