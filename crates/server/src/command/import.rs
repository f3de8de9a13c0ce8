//! The command `import`: imports projects from other servers.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Subcommand};
use holdfast_app::accounts::user;
use holdfast_app::gitlab_export::Progress;
use holdfast_app::gitlab_export::create::{self, ArchiveContent, NewImport, UserMap};
use holdfast_app::projects::project::{self, ProjectRef};
use holdfast_app::{Actor, App, Error};

use super::admin::cli_error;
use super::{block_on, build_app, ensure_database_ready, print};
use crate::configuration::Configuration;

#[derive(Subcommand)]
pub enum Command {
    /// Import the export of a GitLab project.
    ///
    /// Creates a private project with the repository, labels, milestones, issues, merge requests, releases and mapped
    /// members. The nodes of the installation do the work as a background job, which continues after a crash. This command
    /// waits for it and prints what was left out. Once it has printed the number of the job, it may be stopped.
    GitlabExport(GitlabExport),
}

#[derive(Args)]
pub struct GitlabExport {
    /// The export: a .tar.gz file of GitLab 12.10 or later.
    file: PathBuf,
    /// Path of the new project, with the path of an existing user or group: NAMESPACE/PATH.
    #[arg(long, required_unless_present = "check")]
    project: Option<String>,
    /// Username of the user for whom the project is created.
    #[arg(long, required_unless_present = "check")]
    owner: Option<String>,
    /// File with the local users of authors and members, one in each line: SOURCE,LOCAL.
    ///
    /// SOURCE is the username of a member in the export, or the id of another user in it. LOCAL is a username on this
    /// server. The texts of others belong to placeholders.
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// Only read the export, and print what it contains and which parts are not imported.
    #[arg(long)]
    check: bool,
}

pub fn run(configuration: &Configuration, command: Command) -> anyhow::Result<()> {
    let Command::GitlabExport(arguments) = command;
    block_on(async {
        let file = &arguments.file;
        let readable = std::fs::File::open(file).and_then(|file| file.metadata());
        let metadata = readable.with_context(|| format!("cannot read {}", file.display()))?;
        if !metadata.is_file() {
            bail!("{} is not a file", file.display());
        }
        if arguments.check {
            let found = create::inspect(ArchiveContent::File(arguments.file)).await.map_err(cli_error)?;
            return print_progress(&found.progress);
        }
        ensure_database_ready(configuration).await?;
        import_export(&build_app(configuration)?, arguments).await
    })
}

async fn import_export(app: &App, arguments: GitlabExport) -> anyhow::Result<()> {
    let GitlabExport { file, project, owner, users, .. } = arguments;
    let (project, owner) = (project.unwrap_or_default(), owner.unwrap_or_default());
    let (namespace, path) =
        project.rsplit_once('/').ok_or_else(|| anyhow!("--project must be NAMESPACE/PATH, such as team/website"))?;
    let users = match users {
        None => UserMap::default(),
        Some(path) => {
            let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            UserMap::parse(&text).map_err(|error| anyhow!("{} {error}", path.display()))?
        }
    };
    let owner = match user::show_by_username(app, &Actor::Operator, &owner).await {
        Err(Error::NotFound(_)) => bail!("there is no user {owner}"),
        found => found.map_err(cli_error)?.id,
    };
    let input = NewImport {
        archive: ArchiveContent::File(file),
        namespace: Some(namespace.to_owned()),
        path: path.to_owned(),
        name: None,
        owner: Some(owner),
        users,
    };
    print("reading the export")?;
    let (created, job) = create::create(app, &Actor::Operator, input).await.map_err(cli_error)?;
    print(format!("created {} with id {}; job {job} imports the export", created.full_path(), created.id))?;
    wait(app, &ProjectRef::Id(created.id)).await
}

/// How often the progress is read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
const WAITING_HINT: &str = "still waiting: `holdfast admin jobs` shows whether the job runs or why it failed. Imports of one user \
    run one after the other, and a node with `imports.concurrency` above 0 must run. After a crash of a node it takes some minutes \
    until another one continues";
/// The number of polls without progress after which a hint is printed.
const POLLS_UNTIL_HINT: u32 = 30;

/// Waits until the import has ended, and prints its progress and its result.
async fn wait(app: &App, project: &ProjectRef) -> anyhow::Result<()> {
    let (mut shown, mut unchanged) = (String::new(), 0);
    let mut interval = tokio::time::interval(POLL_INTERVAL);
    loop {
        interval.tick().await;
        let (_, import) = project::show_import(app, &Actor::Operator, project).await.map_err(cli_error)?;
        let import = import.ok_or_else(|| anyhow!("another import of this project has started"))?;
        let progress = create::show_progress(app, &Actor::Operator, project).await.map_err(cli_error)?;
        let progress = progress.unwrap_or_default();
        if import.is_finished() {
            print_progress(&progress)?;
            return match import.phase.as_str() {
                "finished" => print("the import is finished"),
                "canceled" => bail!("the import was canceled"),
                _ => bail!("the import failed: {}", import.error.unwrap_or_default()),
            };
        }
        let counts: Vec<String> = progress.imported.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let state = format!("{}: {}", import.phase, counts.join(", "));
        unchanged += 1;
        if state != shown {
            print(&state)?;
            (shown, unchanged) = (state, 0);
        } else if unchanged == POLLS_UNTIL_HINT {
            print(WAITING_HINT)?;
        }
    }
}

fn print_progress(progress: &Progress) -> anyhow::Result<()> {
    for (relation, fetched) in &progress.fetched {
        match progress.imported.get(relation) {
            Some(imported) => print(format!("{relation}: {imported} of {fetched} imported"))?,
            None => print(format!("{relation}: {fetched}"))?,
        }
    }
    for left_out in &progress.left_out {
        let examples = match left_out.examples.is_empty() {
            true => String::new(),
            false => format!(" ({})", left_out.examples.join(", ").escape_debug()),
        };
        print(format!("left out: {} of {}: {}{examples}", left_out.count, left_out.relation, left_out.reason))?;
    }
    Ok(())
}
