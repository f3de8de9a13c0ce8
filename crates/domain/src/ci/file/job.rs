use super::artifacts::{self, Artifacts};
use super::cache::{self, Cache};
use super::document::WEIGHT;
use super::environment::{self, Environment};
use super::pattern::{Patterns, between_slashes};
use super::refs::Refs;
use super::section::{A_BOOLEAN, A_STRING, STRINGS, Section, boolean, string, string_or_strings, strings, wrong};
use super::shared::{Shared, merged, variables_of};
use super::value::{Key, Value};
use super::{Target, When};
use crate::violations::BLANK;

#[derive(Clone, Debug)]
pub struct Job {
    pub name: String,
    pub stage: String,
    /// The place of its stage among those of the file.
    pub stage_index: usize,
    /// What is to be done first, of its own or else of the file, and then its own.
    pub script: Vec<String>,
    pub after_script: Vec<String>,
    pub image: Option<String>,
    pub services: Vec<String>,
    /// Those of the file, and its own over them.
    pub variables: Vec<(String, String)>,
    pub tags: Vec<String>,
    pub allow_failure: bool,
    pub when: When,
    /// The jobs of which it gets the artifacts. None: all of earlier stages.
    pub dependencies: Option<Vec<String>>,
    pub artifacts: Option<Artifacts>,
    pub cache: Option<Cache>,
    pub environment: Option<Environment>,
    /// How a log tells of the coverage: a regular expression without its slashes.
    pub coverage: Option<String>,
    only: Refs,
    except: Refs,
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
    /// What is wrong in several ways is refused for the first in this order.
    pub(super) fn read(name: &Key, value: &Value, shared: &Shared, patterns: &mut Patterns) -> Result<Self, String> {
        let place = place_of(name);
        if matches!(value, Value::Null | Value::Bool(false)) {
            return Err(wrong(&place, &format!("config {BLANK}")));
        }
        let job = Section::of(place, value)?;
        job.has_only(&KEYS)?;
        if job.map().is_empty() {
            return Err(job.wrong(&format!("config {BLANK}")));
        }
        if job.get("script").is_none_or(Value::is_blank) {
            return Err(job.wrong(&format!("script {BLANK}")));
        }
        let name = match name {
            Key::Name(name) if !name.is_empty() => (**name).to_owned(),
            Key::Name(_) | Key::Nothing => return Err(job.wrong(&format!("name {BLANK}"))),
            Key::Other(_) => return Err(job.wrong("name should be a symbol")),
        };
        let tags = job.attribute("tags", strings, STRINGS)?.unwrap_or_default();
        let allow_failure = job.attribute("allow_failure", boolean, A_BOOLEAN)?.unwrap_or(false);
        let when = |value: &Value| When::named(&string(value)?);
        let when = job.attribute("when", when, "should be on_success, on_failure, always or manual")?;
        let dependencies = job.attribute("dependencies", strings, STRINGS)?;

        let before_script = job.entry("before_script", strings, STRINGS)?;
        let script = job.entry("script", string_or_strings, "should be a string or an array of strings")?;
        let stage = stage_of(&job)?;
        let after_script = job.entry("after_script", strings, STRINGS)?;
        let cache = cache::read(&job)?;
        let image = job.entry("image", string, A_STRING)?;
        let services = job.entry("services", strings, STRINGS)?;
        let only = refs_of(&job, "only", patterns)?;
        let except = refs_of(&job, "except", patterns)?;
        let variables = variables_of(&job)?;
        let artifacts = artifacts::read(&job)?;
        let environment = environment::read(&job)?;
        let coverage = |value: &Value| {
            let text = string(value)?;
            let pattern = between_slashes(&text)?;
            patterns.compile(pattern).map(|_| pattern.to_owned())
        };
        let coverage = job.entry("coverage", coverage, "must be a regular expression")?;

        let mut commands = before_script.or_else(|| shared.before_script.clone()).unwrap_or_default();
        commands.extend(script.unwrap_or_default());
        Ok(Self {
            name,
            stage,
            stage_index: 0,
            script: commands,
            after_script: after_script.or_else(|| shared.after_script.clone()).unwrap_or_default(),
            image: image.or_else(|| shared.image.clone()),
            services: services.or_else(|| shared.services.clone()).unwrap_or_default(),
            variables: merged(&shared.variables, variables),
            tags,
            allow_failure,
            when: when.unwrap_or(When::OnSuccess),
            dependencies,
            artifacts,
            cache: cache.or_else(|| shared.cache.clone()),
            environment,
            coverage,
            only,
            except,
        })
    }

    /// A list without entries is as good as none.
    pub(super) fn runs_for(&self, target: &Target<'_>) -> bool {
        (self.only.is_empty() || self.only.matches(target)) && !self.except.matches(target)
    }

    /// Of what the file has once and every job gets. The rest was counted where it was read.
    pub(super) fn weight(&self) -> usize {
        let lists = [&self.script, &self.after_script, &self.services, &self.tags];
        let texts = lists.into_iter().flatten();
        let variables = self.variables.iter().flat_map(|(name, value)| [name, value]);
        let paths = self.cache.iter().flat_map(|cache| cache.paths.iter().chain(&cache.key));
        texts.chain(variables).chain(paths).chain(&self.image).map(|text| WEIGHT + text.len()).sum()
    }
}

/// A job without a name has a place all the same.
pub(super) fn place_of(name: &Key) -> String {
    match name.printed() {
        "" => "jobs:job".to_owned(),
        name => format!("jobs:{name}"),
    }
}

/// `type` is the old word; who writes both means `stage`.
fn stage_of(job: &Section) -> Result<String, String> {
    let key = if job.get("stage").is_some() { "stage" } else { "type" };
    Ok(job.entry(key, string, A_STRING)?.unwrap_or_else(|| "test".to_owned()))
}

fn refs_of(job: &Section, key: &str, patterns: &mut Patterns) -> Result<Refs, String> {
    let refs = job.entry(key, |value| Refs::read(value, patterns), "should be an array of strings or regexps")?;
    Ok(refs.unwrap_or_default())
}
