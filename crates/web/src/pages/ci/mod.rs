//! Pipelines and builds.

mod admin_runner;
mod artifact;
mod build;
mod build_live;
mod job_token_allowlist;
mod lint;
mod pipeline;
mod project_runner;
mod runner_form;
mod trigger;
mod variable;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    pipeline::declare(pages);
    build::declare(pages);
    build_live::declare(pages);
    artifact::declare(pages);
    lint::declare(pages);
    variable::declare(pages);
    trigger::declare(pages);
    project_runner::declare(pages);
    job_token_allowlist::declare(pages);
    admin_runner::declare(pages);
}
