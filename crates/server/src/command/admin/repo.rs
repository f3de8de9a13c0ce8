//! The commands `admin repo`: inspect, check, repack and restore repositories.

use std::fmt::Display;

use anyhow::{Context as _, anyhow, bail};
use clap::Subcommand;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::inspection::{self, RepositoryInfo};
use holdfast_app::repository::maintenance::{self, RepackScope};
use holdfast_app::repository::refs::ref_log::{self, RestorableEntry};
use holdfast_app::repository::refs::ref_restore::{self, RestoredRef};
use holdfast_app::{Actor, App, Error, Resource};
use holdfast_domain::page::PageRequest;

use super::{cli_error, print};

#[derive(Subcommand)]
pub enum Command {
    /// Show the refs, packs and size of a repository.
    Show {
        /// Project path (NAMESPACE/PROJECT).
        project: String,
    },
    /// Download all packs and run `git fsck` on them.
    ///
    /// Exits with 1 if objects are damaged or missing.
    Fsck {
        /// Project path (NAMESPACE/PROJECT).
        project: String,
        /// Check only that all objects are there, not their content.
        #[arg(long)]
        quick: bool,
    },
    /// Show the ref update log, newest first.
    Log {
        /// Project path (NAMESPACE/PROJECT).
        project: String,
        /// Show only this ref: a branch name, or a full name such as refs/tags/v1.
        #[arg(long, value_name = "REF")]
        r#ref: Option<String>,
        /// Maximum number of entries.
        #[arg(long, default_value_t = 20)]
        limit: u16,
    },
    /// Restore a ref to its value before its last update.
    RestoreRef {
        /// Project path (NAMESPACE/PROJECT).
        project: String,
        /// Ref to restore: a branch name, or a full name such as refs/tags/v1.
        r#ref: String,
        /// Undo the update with this number in `log`. The ref must still have the value that it set.
        #[arg(long, value_name = "NUMBER")]
        generation: Option<i64>,
    },
    /// Restore a deleted branch to its last commit.
    RestoreBranch {
        /// Project path (NAMESPACE/PROJECT).
        project: String,
        /// Name of the branch.
        branch: String,
    },
    /// Run a full repack of a repository.
    ///
    /// Moves unreachable objects to cruft packs, and consolidates the packs that are shared with forks. Nodes repack
    /// repositories by themselves when the number of packs grows.
    Repack {
        /// Project path (NAMESPACE/PROJECT).
        project: String,
    },
}

pub async fn run(app: &App, command: Command) -> anyhow::Result<()> {
    match command {
        Command::Show { project } => {
            let about = inspection::show(app, &Actor::Operator, &parse_project(&project)?).await;
            print(describe(&about.map_err(|error| repo_error(error, &project))?))
        }
        Command::Fsck { project, quick } => fsck(app, &project, quick).await,
        Command::Log { project, r#ref, limit } => log(app, &project, r#ref.as_deref(), limit).await,
        Command::RestoreRef { project, r#ref, generation } => {
            let project_ref = parse_project(&project)?;
            let result = match generation {
                Some(generation) => ref_restore::restore(app, &Actor::Operator, &project_ref, &r#ref, generation).await,
                None => ref_restore::restore_last(app, &Actor::Operator, &project_ref, &r#ref).await,
            };
            print_restored(&project, result)
        }
        Command::RestoreBranch { project, branch } => {
            let result = ref_restore::restore_branch(app, &Actor::Operator, &parse_project(&project)?, &branch).await;
            print_restored(&project, result)
        }
        Command::Repack { project } => {
            let result =
                maintenance::maintain(app, &Actor::Operator, &parse_project(&project)?, RepackScope::Full).await;
            let result = result.map_err(|error| repo_error(error, &project))?;
            print(format!("{project}: {} packs before, {} now", result.packs_before, result.packs_after))
        }
    }
}

fn parse_project(path: &str) -> anyhow::Result<ProjectRef> {
    let (namespace, project) = path.split_once('/').context("invalid project path; write it as NAMESPACE/PROJECT")?;
    Ok(ProjectRef::Path { namespace: namespace.to_owned(), project: project.to_owned() })
}

fn repo_error(error: Error, path: &str) -> anyhow::Error {
    match error {
        Error::NotFound(Resource::Project) => anyhow!("there is no project {path}"),
        Error::NotFound(Resource::Record) => {
            anyhow!("no such ref update; list them with `holdfast admin repo log {path}`")
        }
        Error::Conflict(text) | Error::Rejected(text) => {
            anyhow!("{text}; list the ref updates with `holdfast admin repo log {path}`")
        }
        other => cli_error(other),
    }
}

fn print_restored(path: &str, result: Result<RestoredRef, Error>) -> anyhow::Result<()> {
    let restored = result.map_err(|error| repo_error(error, path))?;
    let from = restored.from.map_or("deleted".to_owned(), |id| format!("at {id}"));
    print(format!("{path}: {} was {from}, and is restored to {}", restored.name, restored.target))?;
    print("this change is not in the activity feed and not sent to webhooks; ask the users of the project to fetch")?;
    match restored.from {
        Some(_) => print(format!("to undo this: holdfast admin repo restore-ref {path} {}", restored.name)),
        None => print("to undo this, delete the ref again"),
    }
}

fn describe(about: &RepositoryInfo) -> String {
    let time = |at: chrono::DateTime<chrono::Utc>| at.format("%Y-%m-%d %H:%M:%S UTC").to_string();
    let others = about.network_size - about.members.len() as i64;
    let more = if others > 0 { format!(" and {others} more") } else { String::new() };
    let lines = [
        ("project", format!("{}, {}", about.project, about.path)),
        ("repository", format!("{}, created {}", about.repository, time(about.created_at))),
        ("network", format!("{} projects: {}{more}", about.network_size, about.members.join(", "))),
        ("default", about.head.clone().unwrap_or_else(|| "none: the repository is empty".into())),
        ("generation", about.generation.to_string()),
        ("refs", format!("{} branches, {} tags, {} others", about.branches, about.tags, about.other_refs)),
        ("updated", about.refs_updated_at.map_or("none".into(), time)),
        (
            "packs",
            format!(
                "{}, {} in the database, {} shared with forks",
                about.packs, about.inline_packs, about.shared_packs
            ),
        ),
        ("bytes", format!("{} own, {} shared", format_bytes(about.own_bytes), format_bytes(about.shared_bytes))),
    ];
    lines.map(|(name, text)| format!("{name:<10}  {text}\n")).concat()
}

fn format_bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{:.1} KiB", count as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", count as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", count as f64 / 1_073_741_824.0),
    }
}

async fn fsck(app: &App, path: &str, is_quick: bool) -> anyhow::Result<()> {
    let checked = inspection::check(app, &Actor::Operator, &parse_project(path)?, is_quick).await;
    let checked = checked.map_err(|error| repo_error(error, path))?;
    for line in &checked.findings.warnings {
        print(format!("warning: {line}"))?;
    }
    for line in &checked.findings.errors {
        print(format!("error: {line}"))?;
    }
    let summary = format!("{path}: checked {} packs and {} refs", checked.packs, checked.refs);
    match checked.findings.errors.len() {
        0 if is_quick => print(format!("{summary}: all objects are there; run without --quick to check their content")),
        0 => print(format!("{summary}: no damage found")),
        count => bail!(
            "{summary}, {count} errors\n  fix: restore the damaged or missing packs from a copy of the storage, under \
             the same names, and check again; `holdfast admin repo log {path}` lists users who may have a clone"
        ),
    }
}

async fn log(app: &App, path: &str, name: Option<&str>, limit: u16) -> anyhow::Result<()> {
    let mut remaining = usize::from(limit);
    let mut number = 1;
    let size = limit.clamp(1, 100);
    while remaining > 0 {
        let page = PageRequest::new(Some(number), Some(size.into()));
        let page = ref_log::list(app, &Actor::Operator, &parse_project(path)?, name, page).await;
        let page = page.map_err(|error| repo_error(error, path))?;
        if number == 1 {
            if page.items.is_empty() {
                let suffix = name.map_or(String::new(), |name| {
                    format!(" of {name}; write a tag with its full name, such as refs/tags/v1")
                });
                return print(format!("{path}: no ref updates{suffix}"));
            }
            print(format!(
                "{:>8}  {:<16}  {:<7}  {:<12}  {:<22}  {}",
                "number", "time (UTC)", "via", "by", "from..to", "ref"
            ))?;
        }
        for shown in page.items.iter().take(remaining) {
            print(format_entry(shown))?;
        }
        remaining = remaining.saturating_sub(page.items.len());
        if !page.has_next {
            break;
        }
        number += 1;
    }
    print("* can be undone: holdfast admin repo restore-ref PROJECT REF --generation NUMBER")
}

fn format_entry(shown: &RestorableEntry) -> String {
    let RestorableEntry { entry, is_restorable: restorable } = shown;
    let user = entry.user.as_ref().map_or("-", |user| user.username.as_str());
    let mark = if *restorable { "*" } else { " " };
    format!(
        "{:>8}{mark} {}  {:<7}  {user:<12}  {}..{}  {}",
        entry.generation,
        entry.created_at.format("%Y-%m-%d %H:%M"),
        entry.channel,
        short_id(entry.old),
        short_id(entry.new),
        entry.name
    )
}

fn short_id(id: Option<impl Display>) -> String {
    id.map_or("-".repeat(10), |id| id.to_string().chars().take(10).collect())
}
