//! Shows and checks repositories for operators.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, RepositoryId};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_git::fsck::{self, Findings};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_store::cache::pack_file_stem;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::pack::{self, Pack};
use holdfast_store::repository::snapshot::RefKind;
use holdfast_store::repository::{network, repository};

use super::open_repository::open_repository;
use super::pack_download;
use crate::{Actor, App, Error, Resource, Result, access};

#[derive(Clone, Debug)]
pub struct RepositoryInfo {
    pub path: String,
    pub project: ProjectId,
    pub repository: RepositoryId,
    pub created_at: DateTime<Utc>,
    pub head: Option<String>,
    pub generation: i64,
    pub branches: usize,
    pub tags: usize,
    pub other_refs: usize,
    /// When a ref was last updated.
    pub refs_updated_at: Option<DateTime<Utc>>,
    pub packs: usize,
    /// Number of packs that are stored in PostgreSQL.
    pub inline_packs: usize,
    /// Number of packs that other repositories of the fork network list, too.
    pub shared_packs: usize,
    pub own_bytes: u64,
    pub shared_bytes: u64,
    /// Number of projects in the fork network.
    pub network_size: i64,
    /// Paths of these projects, oldest first; not all of a large network.
    pub members: Vec<String>,
}

const MAX_MEMBERS: i64 = 10;

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef) -> Result<RepositoryInfo> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    let repository = open_repository(app, actor, project, ProjectAction::Read).await?;
    let state = &repository.project.repository;
    let mut connection = app.database.connection().await?;
    let (generation, packs) = pack::list(&mut connection, state.id).await?.ok_or(Error::NotFound(Resource::Project))?;
    let shared = network::find_shared_packs(&mut connection, state.id).await?;
    let network_info = repository::find_network_info(&mut connection, state.id, MAX_MEMBERS).await?;
    let bytes =
        |is_shared: bool| packs.iter().filter(|it| shared.contains_key(&it.id) == is_shared).map(Pack::bytes).sum();
    let (branches, tags) = (repository.refs.count(RefKind::Branches), repository.refs.count(RefKind::Tags));
    Ok(RepositoryInfo {
        path: repository.project.full_path(),
        project: repository.project.id,
        repository: state.id,
        created_at: network_info.created_at,
        head: state.head.clone(),
        generation,
        branches,
        tags,
        other_refs: repository.refs.len() - branches - tags,
        refs_updated_at: network_info.last_update_at,
        packs: packs.len(),
        inline_packs: packs.iter().filter(|pack| pack.object_key.is_none()).count(),
        shared_packs: shared.len(),
        own_bytes: bytes(false),
        shared_bytes: bytes(true),
        network_size: network_info.network_size,
        members: network_info.members,
    })
}

/// The result of checking a repository.
#[derive(Clone, Debug)]
pub struct FsckReport {
    pub refs: usize,
    pub packs: usize,
    pub findings: Findings,
}

/// Checks a repository with `git fsck`. Downloads every pack, whatever this node has cached. If `is_quick` is set, it
/// checks that all objects exist, but not their content.
#[crate::boxed]
pub async fn check(app: &App, actor: &Actor, project: &ProjectRef, is_quick: bool) -> Result<FsckReport> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    let repository = open_repository(app, actor, project, ProjectAction::Read).await?;
    let listed = pack::list(&mut *app.database.connection().await?, repository.project.repository.id).await?;
    let (_, packs) = listed.ok_or(Error::NotFound(Resource::Project))?;
    let scratch = app.git_runtime.cache()?.quarantine(None)?;
    let mut errors = Vec::new();
    for pack in &packs {
        let stem = scratch.repository().pack_dir().join(pack_file_stem(pack));
        let location = pack.object_key.as_deref().unwrap_or("the database");
        let missing = || match &pack.object_key {
            Some(key) => format!("{key} is missing in the object store (pack {})", pack.id),
            None => format!("the content of pack {} is missing in the database", pack.id),
        };
        match pack_download::open_content(app, pack).await? {
            None => errors.push(missing()),
            Some(content) => {
                if !pack_download::write_files(content, pack.sizes, &stem).await? {
                    errors.push(format!("pack {} must have {} bytes, but {location} has fewer", pack.id, pack.bytes()));
                }
            }
        }
    }
    scratch.repository().write_refs(repository.refs.head(), repository.refs.iter_with_prefix(""))?;
    let mut findings = fsck::check(&app.git_runtime.git, scratch.repository(), is_quick).await?;
    findings.errors.splice(0..0, errors);
    Ok(FsckReport { refs: repository.refs.len(), packs: packs.len(), findings })
}
