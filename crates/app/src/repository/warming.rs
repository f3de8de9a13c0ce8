//! Cache warming: updates the cached repositories of a node and downloads those that are likely to be needed, before
//! they are requested. No request waits for it or depends on it. This file chooses the repositories;
//! `cache/warming.rs` of `store` updates one.

use futures_util::{StreamExt, stream};
use holdfast_domain::ids::RepositoryId;
use holdfast_store::cache::{self, Cache};
use holdfast_store::projects::list::{self, Filter, Narrowing, Order, ProjectScope, SortKey, Viewer};
use holdfast_store::repository::pack;

use crate::{App, Result};

/// Maximum number of repositories that are warmed at a time.
const MAX_CONCURRENT_REPOSITORIES: usize = 2;
/// Maximum number of recently active projects whose repositories an empty node downloads.
const MAX_REPOSITORIES: i64 = 200;

/// Warms the cache. Returns the number of repositories that are up to date.
#[crate::boxed]
pub async fn warm(app: &App) -> Result<usize> {
    let cache = app.git_runtime.cache()?;
    let recently_used = cache.recently_used();
    // An empty node fills only half of the cache, and leaves the rest for repositories that are requested.
    let (ids, max_bytes) = match recently_used.is_empty() {
        true => (recently_active(app).await?, cache.max_bytes() / 2),
        false => (recently_used, cache.max_bytes()),
    };
    let warmed =
        stream::iter(ids).map(|id| warm_one(app, cache, id, max_bytes)).buffer_unordered(MAX_CONCURRENT_REPOSITORIES);
    Ok(warmed.filter(|is_warm| std::future::ready(*is_warm)).count().await)
}

async fn warm_one(app: &App, cache: &Cache, id: RepositoryId, max_bytes: u64) -> bool {
    let warmed = async {
        let listed = pack::list(&mut *app.database.connection().await?, id).await?;
        let (_, packs) = listed.ok_or(cache::Error::NoRepository)?;
        if packs.is_empty() || !cache.has_room(&packs, max_bytes) {
            return Ok(false);
        }
        cache.warm(&app.database, &app.objects, id).await.map(|()| true)
    };
    warmed.await.unwrap_or_else(|error: cache::Error| {
        tracing::info!(%error, repository = id.get(), "cache warming failed for repository");
        false
    })
}

async fn recently_active(app: &App) -> Result<Vec<RepositoryId>> {
    let filter = Filter {
        viewer: Viewer { user: None, min_visibility: None, today: app.today() },
        scope: ProjectScope::All,
        archived: Some(false),
        visibility: None,
        search: None,
        narrowing: Narrowing::default(),
        order: Order { sort_key: SortKey::LastActivityAt, descending: true, builds_first: false },
    };
    let projects = list::list_first(&mut *app.database.connection().await?, &filter, MAX_REPOSITORIES).await?;
    Ok(projects.into_iter().map(|project| project.repository.id).collect())
}
