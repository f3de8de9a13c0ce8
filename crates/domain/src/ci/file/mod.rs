//! Parses `.gitlab-ci.yml` and selects the jobs that run for a ref.
//!
//! - Reading is bounded in time and memory, whatever the file contains.
//! - Only the first error is reported, in the order and wording that existing clients expect.

mod artifacts;
mod cache;
mod defaults;
mod document;
pub mod duration;
mod environment;
mod job;
pub mod pattern;
mod ref_filters;
mod references;
mod scalar;
mod section;
mod syntax;
#[cfg(test)]
mod tests;
mod value;
mod when;

use std::rc::Rc;

pub use artifacts::{Artifacts, ArtifactsWhen};
pub use cache::Cache;
pub use environment::{Environment, EnvironmentAction};
pub use job::Job;
pub use pattern::find_coverage;
pub use when::When;

use defaults::JobDefaults;
use pattern::Patterns;
use section::Section;
use value::{Map, MapKey, Value};

const MAX_FILE_BYTES: usize = 1024 * 1024;
/// Maximum size of the file with its aliases expanded, and of all jobs together with the defaults they inherit.
const MAX_EXPANDED_BYTES: usize = 4 * 1024 * 1024;
const MAX_JOBS: usize = 1000;

/// A valid CI file.
#[derive(Clone, Debug)]
pub struct CiFile {
    pub stages: Vec<String>,
    /// The jobs in the order of the file, without hidden ones.
    pub jobs: Vec<Job>,
}

/// The ref that a pipeline is created for.
#[derive(Clone, Copy, Debug)]
pub struct PipelineTarget<'a> {
    /// The short name, such as `main` or `v1`.
    pub ref_name: &'a str,
    pub is_tag: bool,
    pub is_triggered: bool,
    /// The path of the project with its namespace.
    pub project_path: &'a str,
}

/// Parses and validates a file. The error is the first problem found, as it is shown to users.
pub fn read(text: &[u8]) -> Result<CiFile, String> {
    if text.len() > MAX_FILE_BYTES {
        return Err("The file is larger than 1 MiB".into());
    }
    let text = std::str::from_utf8(text).map_err(syntax::invalid_utf8)?;
    let Value::Map(file) = document::read(text)? else {
        return Err("Invalid configuration format".into());
    };
    let (defaults, stages) = JobDefaults::from_file(&Section::for_file(Rc::clone(&file)))?;
    let mut jobs = read_jobs(&file, &defaults)?;
    references::check(&mut jobs, &stages)?;
    jobs.iter().try_for_each(check_lengths)?;
    Ok(CiFile { stages, jobs })
}

impl CiFile {
    /// Returns the jobs that run for a target, sorted by stage and then by their order in the file.
    pub fn into_jobs_for(mut self, target: &PipelineTarget<'_>) -> Vec<Job> {
        self.jobs.retain(|job| job.runs_for(target));
        self.jobs.sort_by_key(|job| job.stage_index);
        self.jobs
    }
}

const MAX_NAME_LENGTH: usize = 255;
const MAX_TAGS: usize = 50;
/// Maximum size of all tags of a job together, so that they fit into an index of the database.
const MAX_TAGS_BYTES: usize = 2000;

/// Checks the lengths of names that are stored and searched.
fn check_lengths(job: &Job) -> Result<(), String> {
    let short_name: String = job.name.chars().take(MAX_NAME_LENGTH).collect();
    for (what, text) in [("name", &job.name), ("stage", &job.stage)] {
        if text.chars().count() > MAX_NAME_LENGTH {
            return Err(format!("jobs:{short_name} {what} is too long (maximum is {MAX_NAME_LENGTH} characters)"));
        }
    }
    let bytes: usize = job.tags.iter().map(String::len).sum();
    if job.tags.len() > MAX_TAGS || bytes > MAX_TAGS_BYTES {
        return Err(format!(
            "jobs:{short_name} tags are too long (maximum is {MAX_TAGS} of {MAX_TAGS_BYTES} bytes together)"
        ));
    }
    Ok(())
}

const FILE_KEYS: [&str; 8] =
    ["before_script", "image", "services", "after_script", "variables", "stages", "types", "cache"];

/// Reads the jobs of a file. Every key that is not in `FILE_KEYS` is the name of a job.
fn read_jobs(file: &Map, defaults: &JobDefaults) -> Result<Vec<Job>, String> {
    let is_job = |key: &MapKey| !matches!(key, MapKey::Name(name) if FILE_KEYS.contains(&&**name));
    let is_hidden = |key: &MapKey| key.as_str().starts_with('.');
    match file.iter().filter(|(key, _)| is_job(key) && !is_hidden(key)).count() {
        0 => return Err("jobs config should contain at least one visible job".into()),
        1..=MAX_JOBS => {}
        _ => return Err(format!("jobs config should contain at most {MAX_JOBS} jobs")),
    }
    let mut patterns = Patterns::default();
    let mut jobs = Vec::new();
    let mut weight = 0;
    for (name, value) in file.iter().filter(|(key, _)| is_job(key)) {
        if is_hidden(name) {
            if value.is_blank() {
                return Err(section::format_error(&job::error_path(name), "config can't be blank"));
            }
            continue;
        }
        let job = Job::read(name, value, defaults, &mut patterns)?;
        weight += job.weight();
        if weight > MAX_EXPANDED_BYTES {
            return Err("The jobs are larger than 4 MiB together".into());
        }
        jobs.push(job);
    }
    Ok(jobs)
}
