//! What a node does before anybody asks: it brings the copies up to date that it has, and fetches those that will be asked
//! for. Nobody waits for this, and nothing depends on it.

use futures_util::{StreamExt, stream};
use holdfast_domain::ids::RepositoryId;
use holdfast_store::cache::{self, Cache};
use holdfast_store::projects::list::{self, Filter, Key, Order, Reader, Whose};
use holdfast_store::repository::pack;

use crate::{App, Result};

/// Copies at once.
const AT_ONCE: usize = 2;
/// Of a node that has none, so many of the projects that something happened in last.
const MOST: i64 = 200;

/// How many copies are current now.
pub async fn warm(app: &App) -> Result<usize> {
    let cache = app.engine.cache()?;
    let known = cache.recently_used();
    // What is fetched for nobody in particular leaves room for what somebody asks for.
    let (ids, at_most) = match known.is_empty() {
        true => (recently_active(app).await?, cache.budget() / 2),
        false => (known, cache.budget()),
    };
    let warmed = stream::iter(ids).map(|id| warm_one(app, cache, id, at_most)).buffer_unordered(AT_ONCE);
    Ok(warmed.filter(|is_warm| std::future::ready(*is_warm)).count().await)
}

async fn warm_one(app: &App, cache: &Cache, id: RepositoryId, at_most: u64) -> bool {
    let warmed = async {
        let listed = pack::list(&mut *app.database.connection().await?, id).await?;
        let (_, packs) = listed.ok_or(cache::Error::NoRepository)?;
        if packs.is_empty() || !cache.has_room(&packs, at_most) {
            return Ok(false);
        }
        cache.warm(&app.database, &app.objects, id).await.map(|()| true)
    };
    warmed.await.unwrap_or_else(|error: cache::Error| {
        tracing::info!(%error, repository = id.get(), "a copy is not brought up to date");
        false
    })
}

async fn recently_active(app: &App) -> Result<Vec<RepositoryId>> {
    let filter = Filter {
        reader: Reader { user: None, sees: None, today: app.today() },
        whose: Whose::All,
        archived: Some(false),
        visibility: None,
        search: None,
        order: Order { key: Key::LastActivityAt, descending: true, builds_first: false },
    };
    let projects = list::first(&mut *app.database.connection().await?, &filter, MOST).await?;
    Ok(projects.into_iter().map(|project| project.repository.id).collect())
}
