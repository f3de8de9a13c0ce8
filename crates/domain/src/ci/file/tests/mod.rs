mod errors;
mod example;
mod generated;
mod keys;
mod limits;
mod ref_filters;
mod yaml;

use super::{CiFile, Job, PipelineTarget, read};

fn file(text: &str) -> CiFile {
    read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the first job of a file.
fn job(text: &str) -> Job {
    file(text).jobs.remove(0)
}

fn error(text: &str) -> String {
    match read(text.as_bytes()) {
        Err(error) => error,
        Ok(file) => panic!("{file:?}\n{text}"),
    }
}

fn branch(ref_name: &str) -> PipelineTarget<'_> {
    PipelineTarget { ref_name, is_tag: false, is_triggered: false, project_path: "group/project" }
}
