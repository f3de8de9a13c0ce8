//! The payload of a job in the runner protocol, limited to the fields that the runner uses.

use serde::{Deserialize, Deserializer};

#[derive(Clone, Debug, Deserialize)]
pub struct Payload {
    pub id: u64,
    pub token: String,
    #[serde(default)]
    pub allow_git_fetch: bool,
    pub job_info: JobInfo,
    pub git_info: GitInfo,
    #[serde(default, deserialize_with = "or_default")]
    pub runner_info: RunnerInfo,
    #[serde(default, deserialize_with = "or_default")]
    pub variables: Vec<Variable>,
    pub steps: Vec<Step>,
    #[serde(default, deserialize_with = "or_default")]
    pub artifacts: Vec<Artifact>,
    #[serde(default, deserialize_with = "or_default")]
    pub cache: Vec<Cache>,
    #[serde(default, deserialize_with = "or_default")]
    pub dependencies: Vec<Dependency>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct JobInfo {
    pub name: String,
    #[serde(default)]
    pub stage: String,
    pub project_id: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct GitInfo {
    pub repo_url: String,
    #[serde(rename = "ref")]
    pub name: String,
    pub sha: String,
    #[serde(default)]
    pub ref_type: String,
    #[serde(default, deserialize_with = "or_default")]
    pub refspecs: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub depth: u32,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct RunnerInfo {
    #[serde(default, deserialize_with = "or_default")]
    pub timeout: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Variable {
    pub key: String,
    #[serde(default, deserialize_with = "or_default")]
    pub value: String,
    #[serde(default)]
    pub masked: bool,
    #[serde(default)]
    pub file: bool,
    /// Whether variable references in the value are kept as they are.
    #[serde(default)]
    pub raw: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Step {
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub script: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum When {
    Always,
    OnFailure,
    #[default]
    OnSuccess,
}

impl When {
    pub fn applies(self, is_success: bool) -> bool {
        match self {
            When::Always => true,
            When::OnFailure => !is_success,
            When::OnSuccess => is_success,
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Artifact {
    pub name: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub untracked: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub paths: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub exclude: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub when: When,
    pub expire_in: Option<String>,
    pub artifact_type: Option<String>,
    pub artifact_format: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Cache {
    pub key: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub untracked: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub paths: Vec<String>,
    pub policy: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub when: When,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Dependency {
    pub id: u64,
    pub token: String,
    pub name: String,
    pub artifacts_file: Option<ArtifactsFile>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ArtifactsFile {}

impl Payload {
    pub fn script(&self, name: &str) -> &[String] {
        self.steps.iter().find(|step| step.name == name).map_or(&[], |step| &step.script)
    }
}

/// Deserializes null as the default value, because servers send null for absent fields.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
