//! Looking after repositories, and the way back.

use std::fmt::Display;

use anyhow::{Context as _, anyhow, bail};
use clap::Subcommand;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::inspection::{self, About};
use holdfast_app::repository::maintenance::{self, Extent};
use holdfast_app::repository::ref_log::{self, Shown};
use holdfast_app::repository::undo::{self, Restored};
use holdfast_app::{Actor, App, Error, Thing};
use holdfast_domain::page::PageRequest;

use super::{explain, print};

#[derive(Subcommand)]
pub enum Command {
    /// Show what a repository consists of.
    Show {
        /// As NAMESPACE/PROJECT.
        project: String,
    },
    /// Fetch all packs anew and have git check them; ends with 1 if something is damaged.
    Fsck {
        /// As NAMESPACE/PROJECT.
        project: String,
        /// Only look whether everything is there, not into it.
        #[arg(long)]
        quick: bool,
    },
    /// List who moved which branch or tag, the last first.
    Log {
        /// As NAMESPACE/PROJECT.
        project: String,
        /// Of one alone: a branch, or a name in full such as refs/tags/v1.
        #[arg(long, value_name = "REF")]
        r#ref: Option<String>,
        /// How many.
        #[arg(long, default_value_t = 20)]
        limit: u16,
    },
    /// Put a branch or tag back to where it was before it moved last.
    Undo {
        /// As NAMESPACE/PROJECT.
        project: String,
        /// A branch, or a name in full such as refs/tags/v1.
        r#ref: String,
        /// Undo the change of this number, which `log` shows; the ref must still be where that left it.
        #[arg(long, value_name = "NUMBER")]
        generation: Option<i64>,
    },
    /// Bring a deleted branch back to where it was last.
    RestoreBranch {
        /// As NAMESPACE/PROJECT.
        project: String,
        /// Its name.
        branch: String,
    },
    /// Pack all of it anew, set apart what no ref leads to, and make few of the packs that it shared with its forks. The nodes
    /// do so by themselves as packs pile up.
    Repack {
        /// As NAMESPACE/PROJECT.
        project: String,
    },
}

pub async fn run(app: &App, command: Command) -> anyhow::Result<()> {
    match command {
        Command::Show { project } => {
            let about = inspection::show(app, &Actor::Operator, &find(&project)?).await;
            print(describe(&about.map_err(|error| told(error, &project))?))
        }
        Command::Fsck { project, quick } => fsck(app, &project, quick).await,
        Command::Log { project, r#ref, limit } => log(app, &project, r#ref.as_deref(), limit).await,
        Command::Undo { project, r#ref, generation } => {
            let place = find(&project)?;
            let done = match generation {
                Some(generation) => undo::restore(app, &Actor::Operator, &place, &r#ref, generation).await,
                None => undo::restore_last(app, &Actor::Operator, &place, &r#ref).await,
            };
            say_restored(&project, done)
        }
        Command::RestoreBranch { project, branch } => {
            let done = undo::restore_branch(app, &Actor::Operator, &find(&project)?, &branch).await;
            say_restored(&project, done)
        }
        Command::Repack { project } => {
            let done = maintenance::maintain(app, &Actor::Operator, &find(&project)?, Extent::Whole).await;
            let done = done.map_err(|error| told(error, &project))?;
            print(format!("{project}: {} packs before, {} now", done.before, done.after))
        }
    }
}

fn find(path: &str) -> anyhow::Result<ProjectRef> {
    let (namespace, project) = path.split_once('/').context("name the project as NAMESPACE/PROJECT")?;
    Ok(ProjectRef::Path { namespace: namespace.to_owned(), project: project.to_owned() })
}

fn told(error: Error, path: &str) -> anyhow::Error {
    match error {
        Error::NotFound(Thing::Project) => anyhow!("there is no project {path}"),
        Error::NotFound(Thing::Record) => {
            anyhow!("no such change is known; `holdfast admin repo log {path}` shows those that are")
        }
        Error::Conflict(text) | Error::Refused(text) => {
            anyhow!("{text}; `holdfast admin repo log {path}` shows what happened")
        }
        other => explain(other),
    }
}

fn say_restored(path: &str, done: Result<Restored, Error>) -> anyhow::Result<()> {
    let done = done.map_err(|error| told(error, path))?;
    let from = done.from.map_or("gone".to_owned(), |id| format!("at {id}"));
    print(format!("{path}: {} was {from} and is at {} again", done.name, done.target))?;
    print("hooks and the feed are not told of what the command line does; tell those who work there to fetch")?;
    match done.from {
        Some(_) => print(format!("to take this back: holdfast admin repo undo {path} {}", done.name)),
        None => print("to take this back, delete it again as usual"),
    }
}

fn describe(about: &About) -> String {
    let time = |at: chrono::DateTime<chrono::Utc>| at.format("%Y-%m-%d %H:%M:%S UTC").to_string();
    let others = about.network - about.members.len() as i64;
    let more = if others > 0 { format!(" and {others} more") } else { String::new() };
    let lines = [
        ("project", format!("{}, {}", about.project, about.path)),
        ("repository", format!("{}, since {}", about.repository, time(about.created_at))),
        ("network", format!("of {}: {}{more}", about.network, about.members.join(", "))),
        ("default", about.head.clone().unwrap_or_else(|| "none: nothing was pushed yet".into())),
        ("generation", about.generation.to_string()),
        ("refs", format!("{} branches, {} tags, {} others", about.branches, about.tags, about.other_refs)),
        ("last move", about.moved_at.map_or("none".into(), time)),
        (
            "packs",
            format!(
                "{}, {} in the database, {} shared with forks",
                about.packs, about.inline_packs, about.shared_packs
            ),
        ),
        ("bytes", format!("{} own, {} shared", bytes(about.own_bytes), bytes(about.shared_bytes))),
    ];
    lines.map(|(name, text)| format!("{name:<10}  {text}\n")).concat()
}

fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{:.1} KiB", count as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", count as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", count as f64 / 1_073_741_824.0),
    }
}

async fn fsck(app: &App, path: &str, quick: bool) -> anyhow::Result<()> {
    let checked = inspection::check(app, &Actor::Operator, &find(path)?, quick).await;
    let checked = checked.map_err(|error| told(error, path))?;
    for line in &checked.findings.oddities {
        print(format!("odd, and kept as it came: {line}"))?;
    }
    for line in &checked.findings.damage {
        print(format!("DAMAGED: {line}"))?;
    }
    let looked = format!("{path}: {} packs and {} refs were checked", checked.packs, checked.refs);
    match checked.findings.damage.len() {
        0 if quick => print(format!("{looked}, everything is there; without --quick what is in it is checked, too")),
        0 => print(format!("{looked}, nothing is damaged")),
        count => bail!(
            "{looked}, {count} findings of damage\n  cure: bring the objects of its packs back from a copy of the storage, \
             under the same names, and check again; `holdfast admin repo log {path}` tells who may have a clone of the rest"
        ),
    }
}

async fn log(app: &App, path: &str, name: Option<&str>, limit: u16) -> anyhow::Result<()> {
    let mut left = usize::from(limit);
    let mut number = 1;
    let size = limit.clamp(1, 100);
    while left > 0 {
        let page = PageRequest::new(Some(number), Some(size.into()));
        let page = ref_log::list(app, &Actor::Operator, &find(path)?, name, page).await;
        let page = page.map_err(|error| told(error, path))?;
        if number == 1 {
            if page.items.is_empty() {
                let of =
                    name.map_or(String::new(), |name| format!(" of {name}; a tag is named in full, as refs/tags/v1"));
                return print(format!("{path}: nothing is known{of}"));
            }
            print(format!(
                "{:>8}  {:<16}  {:<7}  {:<12}  {:<22}  {}",
                "number", "time (UTC)", "via", "by", "from..to", "ref"
            ))?;
        }
        for shown in page.items.iter().take(left) {
            print(line(shown))?;
        }
        left = left.saturating_sub(page.items.len());
        if !page.has_next {
            break;
        }
        number += 1;
    }
    print("* can be undone: holdfast admin repo undo PROJECT REF --generation NUMBER")
}

fn line(shown: &Shown) -> String {
    let Shown { entry, restorable } = shown;
    let who = entry.user.as_ref().map_or("-", |user| user.username.as_str());
    let mark = if *restorable { "*" } else { " " };
    format!(
        "{:>8}{mark} {}  {:<7}  {who:<12}  {}..{}  {}",
        entry.generation,
        entry.created_at.format("%Y-%m-%d %H:%M"),
        entry.via,
        short(entry.old),
        short(entry.new),
        entry.name
    )
}

fn short(id: Option<impl Display>) -> String {
    id.map_or("-".repeat(10), |id| id.to_string().chars().take(10).collect())
}
