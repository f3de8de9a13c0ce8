//! Who contributed how much.

use std::collections::HashSet;
use std::time::Duration;

use holdfast_domain::ids::ProjectId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_git::contributions::{self, Commits, Contribution, Contributions};
use holdfast_git::reader::{Kind, Reader};
use holdfast_store::commit as commit_transaction;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::contributor::{self as rows, Counted};
use holdfast_store::repository::repository;
use holdfast_store::worker::contributors;
use tokio::time::Instant;

pub use holdfast_store::repository::contributor::Contributor;

use super::fetch::{self, Opened};
use super::objects;
use crate::{Actor, App, Error, Result, Thing};

/// So many commits are counted while the caller waits; more are a job's work.
const AT_ONCE: usize = 1000;
/// For that job.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOKS: Duration = Duration::from_millis(200);

/// To the default branch, merges left out. Who committed last comes first.
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Contributor>> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadCode).await?;
    let tip = opened.refs.head_target().ok_or(Error::NotFound(Thing::Named("404 Not Found")))?;
    let id = opened.project.repository.id;
    let mut connection = app.database.connection().await?;
    let counted = rows::counted(&mut connection, id).await?;
    if is_current(counted, &opened, tip) {
        return Ok(rows::list(&mut connection, id, page).await?);
    }
    drop(connection);
    if is_soon_done(app, &opened, counted, tip).await? {
        count(app, &opened, tip).await?;
    } else {
        wait_for_job(app, &opened, tip).await?;
    }
    Ok(rows::list(&mut *app.database.connection().await?, id, page).await?)
}

/// What was counted after the refs were read is newer than they are.
fn is_current(counted: Option<Counted>, opened: &Opened, tip: ObjectId) -> bool {
    counted.is_some_and(|counted| counted.tip == tip || counted.generation > opened.refs.generation)
}

async fn is_soon_done(app: &App, opened: &Opened, counted: Option<Counted>, tip: ObjectId) -> Result<bool> {
    objects::read(app, opened, move |reader| {
        let Some(base) = base(reader, counted) else { return Ok(!reader.is_longer_than(AT_ONCE, tip)?) };
        Ok(reader.between(&[base], tip)?.len() + reader.between(&[tip], base)?.len() <= AT_ONCE)
    })
    .await
}

/// Where counting goes on, if that commit is still there.
fn base(reader: &Reader, counted: Option<Counted>) -> Option<ObjectId> {
    counted.map(|counted| counted.tip).filter(|tip| matches!(reader.kind(*tip), Ok(Some(Kind::Commit))))
}

async fn wait_for_job(app: &App, opened: &Opened, tip: ObjectId) -> Result<()> {
    contributors::enqueue(&mut *app.database.connection().await?, opened.project.id).await?;
    // Any node may be the one that does it.
    let (end, mut looks) = (Instant::now() + PATIENCE, tokio::time::interval(LOOKS));
    while looks.tick().await < end {
        let counted = rows::counted(&mut *app.database.connection().await?, opened.project.repository.id).await?;
        if is_current(counted, opened, tip) {
            return Ok(());
        }
    }
    Err(Error::NotYet("The contributors are being counted, which takes a while: please ask again later"))
}

pub(crate) async fn run(app: &App, project: ProjectId) -> Result<()> {
    let opened = fetch::open(app, &Actor::Operator, &ProjectRef::Id(project), ProjectAction::ReadCode).await?;
    match opened.refs.head_target() {
        Some(tip) => count(app, &opened, tip).await,
        None => Ok(()),
    }
}

/// What has come since it was last counted, and what has gone since: a forced push costs what it changed.
async fn count(app: &App, opened: &Opened, tip: ObjectId) -> Result<()> {
    let id = opened.project.repository.id;
    loop {
        let counted = rows::counted(&mut *app.database.connection().await?, id).await?;
        if is_current(counted, opened, tip) {
            return Ok(());
        }
        let looked = objects::read(app, opened, move |reader| {
            let anew = (None, Commits::Until(tip), Vec::new());
            let Some(base) = base(reader, counted) else { return Ok(anew) };
            // These figures are kept, so what is added to them must be right whatever the clocks said.
            let gone = reader.between_exactly(&[tip], base)?;
            if !gone.is_empty() && !reader.is_longer_than(gone.len(), tip)? {
                return Ok(anew);
            }
            Ok((Some(base), Commits::These(reader.between_exactly(&[base], tip)?), gone))
        });
        let (base, come, gone) = looked.await?;
        let held = fetch::hold(app, opened).await?;
        let (git, bare) = (&app.engine.git, &held.lease.bare);
        let more = contributors_of(contributions::count(git, bare, come, true).await?);
        let (mut less, mut names) = (Vec::new(), Vec::new());
        if !gone.is_empty() {
            less = contributors_of(contributions::count(git, bare, Commits::These(gone), true).await?);
            let fewer: HashSet<&str> = less.iter().map(|it| &*it.email).collect();
            names = contributors_of(contributions::count(git, bare, Commits::Until(tip), false).await?);
            names.retain(|it| fewer.contains(&*it.email));
        }
        let mut transaction = app.database.begin().await?;
        repository::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::Project))?;
        // Somebody else may have been quicker.
        if rows::counted(&mut transaction, id).await? != counted {
            continue;
        }
        if base.is_none() {
            rows::clear(&mut transaction, id).await?;
        }
        let counted = Counted { tip, generation: opened.refs.generation };
        rows::mark(&mut transaction, id, counted, app.clock.now()).await?;
        rows::add(&mut transaction, id, &more).await?;
        rows::subtract(&mut transaction, id, &less).await?;
        rows::rename(&mut transaction, id, &names).await?;
        return Ok(commit_transaction(transaction).await?);
    }
}

fn contributors_of(counted: Contributions) -> Vec<Contributor> {
    let figure = |figure: u64| i64::try_from(figure).unwrap_or(i64::MAX);
    let row = |(email, it): (String, Contribution)| Contributor {
        email,
        name: it.name,
        newest: it.newest,
        commits: figure(it.commits),
        additions: figure(it.additions),
        deletions: figure(it.deletions),
    };
    counted.into_iter().map(row).collect()
}
