//! `.gitlab-ci.yml`: from its text to the jobs that a ref asks for.

mod artifacts;
mod cache;
mod document;
pub mod duration;
mod environment;
mod job;
mod links;
pub mod pattern;
mod refs;
mod scalar;
mod section;
mod shared;
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
pub use pattern::coverage_in;
pub use when::When;

use pattern::Patterns;
use section::Section;
use shared::Shared;
use value::{Key, Map, Value};

const LARGEST: usize = 1024 * 1024;
/// Of what the file comes to with its aliases followed, and of its jobs, each with what it gets from the file.
const LARGEST_EXPANDED: usize = 4 * 1024 * 1024;
const MOST_JOBS: usize = 1000;

/// What the file says, found to be right.
#[derive(Clone, Debug)]
pub struct CiFile {
    pub stages: Vec<String>,
    /// In the order of the file, without those that are hidden.
    pub jobs: Vec<Job>,
}

/// What there is to build.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The short one: `main`, `v1`.
    pub ref_name: &'a str,
    pub tag: bool,
    pub triggered: bool,
    /// With its namespace.
    pub project_path: &'a str,
}

/// The error is the first of all, as it is told to users.
pub fn read(text: &[u8]) -> Result<CiFile, String> {
    if text.len() > LARGEST {
        return Err("The file is larger than 1 MiB".into());
    }
    let text = std::str::from_utf8(text).map_err(syntax::not_utf8)?;
    let Value::Map(file) = document::read(text)? else {
        return Err("Invalid configuration format".into());
    };
    let (shared, stages) = Shared::of_file(&Section::whole_file(Rc::clone(&file)))?;
    let mut jobs = jobs_of(&file, &shared)?;
    links::check(&mut jobs, &stages)?;
    jobs.iter().try_for_each(check_lengths)?;
    Ok(CiFile { stages, jobs })
}

impl CiFile {
    /// By stage, then by place in the file.
    pub fn jobs_for(&self, target: &Target<'_>) -> Vec<&Job> {
        let mut jobs: Vec<&Job> = self.jobs.iter().filter(|job| job.runs_for(target)).collect();
        jobs.sort_by_key(|job| job.stage_index);
        jobs
    }

    /// The same, where nothing else is wanted of the file.
    pub fn into_jobs_for(mut self, target: &Target<'_>) -> Vec<Job> {
        self.jobs.retain(|job| job.runs_for(target));
        self.jobs.sort_by_key(|job| job.stage_index);
        self.jobs
    }
}

const LONGEST_NAME: usize = 255;
const MOST_TAGS: usize = 50;
/// Together, in bytes: what an index takes.
const LONGEST_TAGS: usize = 2000;

/// What is kept and looked for by its name is kept short.
fn check_lengths(job: &Job) -> Result<(), String> {
    let place: String = job.name.chars().take(LONGEST_NAME).collect();
    for (what, text) in [("name", &job.name), ("stage", &job.stage)] {
        if text.chars().count() > LONGEST_NAME {
            return Err(format!("jobs:{place} {what} is too long (maximum is {LONGEST_NAME} characters)"));
        }
    }
    let bytes: usize = job.tags.iter().map(String::len).sum();
    if job.tags.len() > MOST_TAGS || bytes > LONGEST_TAGS {
        return Err(format!(
            "jobs:{place} tags are too long (maximum is {MOST_TAGS} of {LONGEST_TAGS} bytes together)"
        ));
    }
    Ok(())
}

const FILE_KEYS: [&str; 8] =
    ["before_script", "image", "services", "after_script", "variables", "stages", "types", "cache"];

/// Every key that means nothing else is a job.
fn jobs_of(file: &Map, shared: &Shared) -> Result<Vec<Job>, String> {
    let is_job = |key: &Key| !matches!(key, Key::Name(name) if FILE_KEYS.contains(&&**name));
    let is_hidden = |key: &Key| key.printed().starts_with('.');
    match file.iter().filter(|(key, _)| is_job(key) && !is_hidden(key)).count() {
        0 => return Err("jobs config should contain at least one visible job".into()),
        1..=MOST_JOBS => {}
        _ => return Err(format!("jobs config should contain at most {MOST_JOBS} jobs")),
    }
    let mut patterns = Patterns::default();
    let mut jobs = Vec::new();
    let mut weight = 0;
    for (name, value) in file.iter().filter(|(key, _)| is_job(key)) {
        if is_hidden(name) {
            if value.is_blank() {
                return Err(section::wrong(&job::place_of(name), "config can't be blank"));
            }
            continue;
        }
        let job = Job::read(name, value, shared, &mut patterns)?;
        weight += job.weight();
        if weight > LARGEST_EXPANDED {
            return Err("The jobs are larger than 4 MiB together".into());
        }
        jobs.push(job);
    }
    Ok(jobs)
}
