mod errors;
mod example;
mod generated;
mod keys;
mod limits;
mod refs;
mod yaml;

use super::{CiFile, Job, Target, read};

fn file(text: &str) -> CiFile {
    read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The only job of a file, or the first.
fn job(text: &str) -> Job {
    file(text).jobs.remove(0)
}

fn error(text: &str) -> String {
    match read(text.as_bytes()) {
        Err(error) => error,
        Ok(file) => panic!("{file:?}\n{text}"),
    }
}

fn branch(ref_name: &str) -> Target<'_> {
    Target { ref_name, tag: false, triggered: false, project_path: "group/project" }
}
