//! A repository looked at by its operators.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, RepositoryId};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_git::fsck::{self, Findings};
use holdfast_git::protocol::advertisement::Refs;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::pack::{self, Pack};
use holdfast_store::repository::snapshot::Listed;
use holdfast_store::repository::{network, repository};

use super::{bring, fetch};
use crate::{Actor, App, Error, Result, Thing, access};

#[derive(Clone, Debug)]
pub struct About {
    pub path: String,
    pub project: ProjectId,
    pub repository: RepositoryId,
    pub created_at: DateTime<Utc>,
    pub head: Option<String>,
    pub generation: i64,
    pub branches: usize,
    pub tags: usize,
    pub other_refs: usize,
    /// When a ref moved last.
    pub moved_at: Option<DateTime<Utc>>,
    pub packs: usize,
    /// Of these, those in the database.
    pub inline_packs: usize,
    /// Of these, those that others of its network list, too.
    pub shared_packs: usize,
    pub own_bytes: u64,
    pub shared_bytes: u64,
    /// It, its forks and theirs.
    pub network: i64,
    /// Their paths, the oldest first; not all of a large one.
    pub members: Vec<String>,
}

const MOST_MEMBERS: i64 = 10;

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef) -> Result<About> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let opened = fetch::open(app, actor, project, ProjectAction::Read).await?;
    let state = &opened.project.repository;
    let mut connection = app.database.connection().await?;
    let (generation, packs) = pack::list(&mut connection, state.id).await?.ok_or(Error::NotFound(Thing::Project))?;
    let shared = network::shared(&mut connection, state.id).await?;
    let place = repository::place(&mut connection, state.id, MOST_MEMBERS).await?;
    let bytes = |wanted: bool| packs.iter().filter(|it| shared.contains_key(&it.id) == wanted).map(Pack::bytes).sum();
    let (branches, tags) = (opened.refs.count(Listed::Branches), opened.refs.count(Listed::Tags));
    Ok(About {
        path: opened.project.full_path(),
        project: opened.project.id,
        repository: state.id,
        created_at: place.created_at,
        head: state.head.clone(),
        generation,
        branches,
        tags,
        other_refs: opened.refs.len() - branches - tags,
        moved_at: place.moved_at,
        packs: packs.len(),
        inline_packs: packs.iter().filter(|pack| pack.object_key.is_none()).count(),
        shared_packs: shared.len(),
        own_bytes: bytes(false),
        shared_bytes: bytes(true),
        network: place.network,
        members: place.members,
    })
}

/// What was looked at, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Checked {
    pub refs: usize,
    pub packs: usize,
    pub findings: Findings,
}

/// Fetches every pack anew, whatever this node has of it. `quick` looks whether everything is there, and not into it.
pub async fn check(app: &App, actor: &Actor, project: &ProjectRef, quick: bool) -> Result<Checked> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let opened = fetch::open(app, actor, project, ProjectAction::Read).await?;
    let listed = pack::list(&mut *app.database.connection().await?, opened.project.repository.id).await?;
    let (_, packs) = listed.ok_or(Error::NotFound(Thing::Project))?;
    let copy = app.engine.cache()?.incoming(None)?;
    let mut damage = Vec::new();
    for pack in &packs {
        let stem = copy.bare().packs().join(format!("pack-{}-{}", pack.checksum, pack.id));
        let place = pack.object_key.as_deref().unwrap_or("the database");
        match bring::content(app, pack).await? {
            None => damage.push(format!("pack {} is listed, but {place} has nothing of it", pack.id)),
            Some(content) => {
                if !bring::write_parts(content, &pack.sizes, &stem).await? {
                    damage.push(format!("pack {} should have {} bytes, {place} has fewer", pack.id, pack.bytes()));
                }
            }
        }
    }
    copy.bare().write_refs(opened.refs.head(), opened.refs.with_prefix(""))?;
    let mut findings = fsck::check(&app.engine.git, copy.bare(), quick).await?;
    findings.damage.splice(0..0, damage);
    Ok(Checked { refs: opened.refs.len(), packs: packs.len(), findings })
}
