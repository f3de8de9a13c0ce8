//! The mistakes that are made most, found before somebody else does.

mod database;
mod machine;

use std::path::Path;

use anyhow::bail;
use holdfast_store::objects::Options;
use holdfast_store::{Objects, facts};

use super::{block_on, print};
use crate::configuration::{Configuration, Invalid};

/// What was found of one subject.
enum Finding {
    Well(String),
    /// Worth knowing; it may be meant so.
    Note {
        what: String,
        cure: &'static str,
    },
    Wrong {
        what: String,
        cure: &'static str,
    },
}

fn well(text: impl Into<String>) -> Finding {
    Finding::Well(text.into())
}

fn note(what: impl Into<String>, cure: &'static str) -> Finding {
    Finding::Note { what: what.into(), cure }
}

fn wrong(what: impl Into<String>, cure: &'static str) -> Finding {
    Finding::Wrong { what: what.into(), cure }
}

#[derive(Default)]
struct Report {
    wrong: usize,
}

impl Report {
    fn tell(&mut self, subject: &str, finding: Finding) -> anyhow::Result<()> {
        self.wrong += usize::from(matches!(finding, Finding::Wrong { .. }));
        let (word, what, cure) = match finding {
            Finding::Well(what) => ("ok", what, None),
            Finding::Note { what, cure } => ("NOTE", what, Some(cure)),
            Finding::Wrong { what, cure } => ("WRONG", what, Some(cure)),
        };
        print(format!("{subject:<10} {word:<6} {what}"))?;
        cure.map_or(Ok(()), |cure| print(format!("  cure: {cure}")))
    }
}

pub fn run(file: Option<&Path>, configuration: Result<Configuration, Invalid>) -> anyhow::Result<()> {
    let configuration = match configuration {
        Ok(configuration) => configuration,
        Err(error) => {
            print(format!("settings   WRONG  {error}"))?;
            bail!("mend the settings first, then run `holdfast doctor` again");
        }
    };
    let mut report = Report::default();
    report.tell("settings", machine::settings(file))?;
    report.tell("address", machine::address(&configuration))?;
    report.tell("user", machine::user())?;
    report.tell("files", machine::open_files())?;
    block_on(async {
        let facts = facts::read(configuration.direct_url()).await;
        report.tell("database", database::server(&configuration, &facts))?;
        report.tell("secrets", database::secrets(&configuration).await?)?;
        if let Ok(facts) = &facts {
            report.tell("schema", database::schema(&configuration).await)?;
            if configuration.has_pooler() {
                report.tell("pooler", database::pooler(&configuration).await)?;
            }
            report.tell("durable", database::durability(facts))?;
            report.tell("pool", database::pool(&configuration, facts))?;
            report.tell("clock", database::clock(facts))?;
        }
        report.tell("git", machine::git(&configuration).await)?;
        report.tell("storage", storage(&configuration).await?)?;
        report.tell("ssh", machine::ssh(&configuration)?)?;
        report.tell("backup", machine::backup(facts.as_ref().ok()))
    })?;
    match report.wrong {
        0 => Ok(()),
        wrong => bail!("{wrong} to mend"),
    }
}

async fn storage(configuration: &Configuration) -> anyhow::Result<Finding> {
    let (url, options) = (&configuration.storage.url, configuration.storage.options()?);
    if let Options::Directory(directory) = &options
        && machine::is_of_another_user(directory)
    {
        return Ok(machine::not_tried(url));
    }
    Ok(match Objects::new(options).check("check").await {
        Ok(()) => well(url.to_string()),
        Err(error) => wrong(
            format!("{url} {error}"),
            "let it run and be reachable, let this user write there, or set storage.url (HOLDFAST__STORAGE__URL) and, for a \
             bucket, its endpoint and keys",
        ),
    })
}
