//! The command `doctor`: checks the installation for common mistakes, and reports each problem with a fix.

mod database;
mod machine;

use std::path::Path;

use anyhow::bail;
use holdfast_store::objects::Options;
use holdfast_store::{Objects, cache, server_info};

use super::{block_on, print};
use crate::configuration::{Configuration, InvalidSetting};

/// The result of one check.
enum Finding {
    Ok(String),
    /// A condition that may be intended. It does not change the exit code.
    Warning {
        text: String,
        fix: &'static str,
    },
    Error {
        text: String,
        fix: &'static str,
    },
}

fn ok(text: impl Into<String>) -> Finding {
    Finding::Ok(text.into())
}

fn warning(text: impl Into<String>, fix: &'static str) -> Finding {
    Finding::Warning { text: text.into(), fix }
}

fn problem(text: impl Into<String>, fix: &'static str) -> Finding {
    Finding::Error { text: text.into(), fix }
}

#[derive(Default)]
struct Report {
    errors: usize,
    warnings: usize,
}

impl Report {
    fn print(&mut self, subject: &str, finding: Finding) -> anyhow::Result<()> {
        self.errors += usize::from(matches!(finding, Finding::Error { .. }));
        self.warnings += usize::from(matches!(finding, Finding::Warning { .. }));
        let (word, what, fix) = match finding {
            Finding::Ok(what) => ("ok", what, None),
            Finding::Warning { text: what, fix: cure } => ("warning", what, Some(cure)),
            Finding::Error { text: what, fix: cure } => ("error", what, Some(cure)),
        };
        print(format!("{subject:<10} {word:<7} {what}"))?;
        fix.map_or(Ok(()), |cure| print(format!("  fix: {cure}")))
    }
}

pub fn run(file: Option<&Path>, configuration: Result<Configuration, InvalidSetting>) -> anyhow::Result<()> {
    let configuration = match configuration {
        Ok(configuration) => configuration,
        Err(error) => {
            print(format!("settings   error   {error}"))?;
            bail!("fix the configuration, then run `holdfast doctor` again");
        }
    };
    let mut report = Report::default();
    report.print("settings", machine::settings(file))?;
    report.print("address", machine::address(&configuration))?;
    report.print("proxies", machine::proxies(&configuration))?;
    report.print("user", machine::user())?;
    report.print("files", machine::open_files())?;
    block_on(async {
        let info = server_info::read(configuration.direct_url()).await;
        report.print("database", database::server(&configuration, &info))?;
        report.print("encryption", database::secrets(&configuration).await?)?;
        if let Ok(info) = &info {
            report.print("schema", database::schema(&configuration).await)?;
            if configuration.has_pooler() {
                report.print("pooler", database::pooler(&configuration).await)?;
            }
            report.print("durability", database::durability(info))?;
            report.print("pool", database::pool(&configuration, info))?;
            report.print("clock", database::clock(info))?;
        }
        report.print("git", machine::git(&configuration).await)?;
        report.print("storage", storage(&configuration).await?)?;
        report.print("ssh", machine::ssh(&configuration)?)?;
        report.print("backup", machine::backup(info.as_ref().ok()))
    })?;
    let summary = format!("{}, {}", count(report.errors, "error"), count(report.warnings, "warning"));
    if report.errors > 0 {
        bail!(summary);
    }
    print(summary)
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

async fn storage(configuration: &Configuration) -> anyhow::Result<Finding> {
    let (url, options) = (&configuration.storage.url, configuration.storage.options()?);
    if let Options::Directory(directory) = &options
        && cache::find_other_owner(directory).is_some()
    {
        return Ok(machine::skipped(url));
    }
    Ok(match Objects::new(options).check("check").await {
        Ok(()) => ok(url.to_string()),
        Err(error) => problem(
            format!("{url}: {error}"),
            "check that the storage is running and that this user can write to it, or set storage.url \
             (HOLDFAST__STORAGE__URL) and, for a bucket, storage.endpoint and the access keys",
        ),
    })
}
