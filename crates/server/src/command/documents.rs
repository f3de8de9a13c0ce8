//! Commands that print documents generated from the code: routes, OpenAPI, permissions, completions and manual pages.

use std::path::Path;

use anyhow::Context as _;
use clap::Command;
use clap_complete::Shell;
use holdfast_http::{api, openapi, routes};

use super::print;
use crate::configuration::Configuration;

pub fn routes() -> anyhow::Result<()> {
    print(routes::to_text(api::v3::routes().list()))
}

pub fn openapi(configuration: &Configuration) -> anyhow::Result<()> {
    let site = configuration.site()?;
    print(openapi::render(api::v3::routes().list(), &site).as_str())
}

pub fn permissions() -> anyhow::Result<()> {
    print(holdfast_domain::policy::to_markdown())
}

pub fn completions(mut command: Command, shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "holdfast", &mut script);
    print(String::from_utf8(script)?)
}

pub fn manual(command: Command, directory: &Path) -> anyhow::Result<()> {
    let result = std::fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(command, directory));
    result.with_context(|| format!("cannot write to {}", directory.display()))
}
