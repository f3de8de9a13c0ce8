//! Reads the definition of a job in the CI file. Each job becomes a build of the pipeline.

use super::artifacts::{self, Artifacts};
use super::cache::{self, Cache};
use super::defaults::{JobDefaults, merge_variables, read_variables};
use super::document::NODE_WEIGHT;
use super::environment::{self, Environment};
use super::pattern::{Patterns, strip_slashes};
use super::ref_filters::RefFilters;
use super::section::{
    SHOULD_BE_BOOLEAN, SHOULD_BE_STRING, SHOULD_BE_STRINGS, Section, boolean, format_error, string, string_or_strings,
    strings,
};
use super::value::{MapKey, Value};
use super::{PipelineTarget, When};
use crate::violations::BLANK;

/// A job of a CI file, with the defaults of the file applied.
#[derive(Clone, Debug)]
pub struct Job {
    pub name: String,
    pub stage: String,
    /// The index of the job's stage among the stages of the file.
    pub stage_index: usize,
    /// The commands of `before_script`, from the job or else from the file, followed by those of `script`.
    pub script: Vec<String>,
    pub after_script: Vec<String>,
    pub image: Option<String>,
    pub services: Vec<String>,
    /// The variables of the file, overridden by those of the job.
    pub variables: Vec<(String, String)>,
    pub tags: Vec<String>,
    pub allow_failure: bool,
    pub when: When,
    /// The jobs whose artifacts the job receives. None means all jobs of earlier stages.
    pub dependencies: Option<Vec<String>>,
    pub artifacts: Option<Artifacts>,
    pub cache: Option<Cache>,
    pub environment: Option<Environment>,
    /// The expression that finds the coverage in a trace, without its slashes.
    pub coverage: Option<String>,
    only: RefFilters,
    except: RefFilters,
}

const KEYS: [&str; 18] = [
    "tags",
    "script",
    "only",
    "except",
    "type",
    "image",
    "services",
    "allow_failure",
    "stage",
    "when",
    "artifacts",
    "cache",
    "dependencies",
    "before_script",
    "after_script",
    "variables",
    "environment",
    "coverage",
];

impl Job {
    /// Reads a job. If there are several errors, the first in the order of this function is reported.
    pub(super) fn read(
        name: &MapKey,
        value: &Value,
        defaults: &JobDefaults,
        patterns: &mut Patterns,
    ) -> Result<Self, String> {
        let path = error_path(name);
        if matches!(value, Value::Null | Value::Bool(false)) {
            return Err(format_error(&path, &format!("config {BLANK}")));
        }
        let job = Section::from_value(path, value)?;
        job.reject_unknown_keys(&KEYS)?;
        if job.map().is_empty() {
            return Err(job.error(&format!("config {BLANK}")));
        }
        if job.get("script").is_none_or(Value::is_blank) {
            return Err(job.error(&format!("script {BLANK}")));
        }
        let name = match name {
            MapKey::Name(name) if !name.is_empty() => (**name).to_owned(),
            MapKey::Name(_) | MapKey::Null => return Err(job.error(&format!("name {BLANK}"))),
            MapKey::Other(_) => return Err(job.error("name should be a symbol")),
        };
        let tags = job.attribute("tags", strings, SHOULD_BE_STRINGS)?.unwrap_or_default();
        let allow_failure = job.attribute("allow_failure", boolean, SHOULD_BE_BOOLEAN)?.unwrap_or(false);
        let when = |value: &Value| When::from_str_opt(&string(value)?);
        let when = job.attribute("when", when, "should be on_success, on_failure, always or manual")?;
        let dependencies = job.attribute("dependencies", strings, SHOULD_BE_STRINGS)?;

        let before_script = job.entry("before_script", strings, SHOULD_BE_STRINGS)?;
        let script = job.entry("script", string_or_strings, "should be a string or an array of strings")?;
        let stage = read_stage(&job)?;
        let after_script = job.entry("after_script", strings, SHOULD_BE_STRINGS)?;
        let cache = cache::read(&job)?;
        let image = job.entry("image", string, SHOULD_BE_STRING)?;
        let services = job.entry("services", strings, SHOULD_BE_STRINGS)?;
        let only = read_ref_filters(&job, "only", patterns)?;
        let except = read_ref_filters(&job, "except", patterns)?;
        let variables = read_variables(&job)?;
        let artifacts = artifacts::read(&job)?;
        let environment = environment::read(&job)?;
        let coverage = |value: &Value| {
            let text = string(value)?;
            let pattern = strip_slashes(&text)?;
            patterns.compile(pattern).map(|_| pattern.to_owned())
        };
        let coverage = job.entry("coverage", coverage, "must be a regular expression")?;

        let mut commands = before_script.or_else(|| defaults.before_script.clone()).unwrap_or_default();
        commands.extend(script.unwrap_or_default());
        Ok(Self {
            name,
            stage,
            stage_index: 0,
            script: commands,
            after_script: after_script.or_else(|| defaults.after_script.clone()).unwrap_or_default(),
            image: image.or_else(|| defaults.image.clone()),
            services: services.or_else(|| defaults.services.clone()).unwrap_or_default(),
            variables: merge_variables(&defaults.variables, variables),
            tags,
            allow_failure,
            when: when.unwrap_or(When::OnSuccess),
            dependencies,
            artifacts,
            cache: cache.or_else(|| defaults.cache.clone()),
            environment,
            coverage,
            only,
            except,
        })
    }

    /// Returns whether the job runs for a target. An empty `only` list means that there is no restriction.
    pub(super) fn runs_for(&self, target: &PipelineTarget<'_>) -> bool {
        (self.only.is_empty() || self.only.matches(target)) && !self.except.matches(target)
    }

    /// Returns the size of the parts of the job that it may have inherited from the file. Other parts are counted when
    /// the document is read.
    pub(super) fn weight(&self) -> usize {
        let lists = [&self.script, &self.after_script, &self.services, &self.tags];
        let texts = lists.into_iter().flatten();
        let variables = self.variables.iter().flat_map(|(name, value)| [name, value]);
        let paths = self.cache.iter().flat_map(|cache| cache.paths.iter().chain(&cache.key));
        texts.chain(variables).chain(paths).chain(&self.image).map(|text| NODE_WEIGHT + text.len()).sum()
    }
}

/// Returns the path of a job in error messages. A job without a name also needs one.
pub(super) fn error_path(name: &MapKey) -> String {
    match name.as_str() {
        "" => "jobs:job".to_owned(),
        name => format!("jobs:{name}"),
    }
}

/// Reads the stage. `type` is the deprecated name of the key; `stage` takes precedence.
fn read_stage(job: &Section) -> Result<String, String> {
    let key = if job.get("stage").is_some() { "stage" } else { "type" };
    Ok(job.entry(key, string, SHOULD_BE_STRING)?.unwrap_or_else(|| "test".to_owned()))
}

fn read_ref_filters(job: &Section, key: &str, patterns: &mut Patterns) -> Result<RefFilters, String> {
    let filters =
        job.entry(key, |value| RefFilters::read(value, patterns), "should be an array of strings or regexps")?;
    Ok(filters.unwrap_or_default())
}
