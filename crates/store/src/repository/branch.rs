use holdfast_domain::ids::RepositoryId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_git::ObjectId;
use sqlx::{Postgres, QueryBuilder};

use super::snapshot::object_id;
use crate::page::{List, Total, named};
use crate::{Database, Result};

/// Names and what they point at, by name.
pub async fn list(
    database: &Database,
    repository: RepositoryId,
    page: PageRequest,
) -> Result<Page<(String, ObjectId)>> {
    let list = List {
        columns: "substr(name, 12) as name, target",
        rows: "*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from refs where repository_id = ").push_bind(repository.get());
            // What begins with refs/heads/: the slash is followed by the zero.
            query.push(" and name > 'refs/heads/' and name < 'refs/heads0'");
        },
        order: "name",
        page: named("page"),
        total: Total::Bounded,
        varies: false,
    };
    let found: Page<(String, Vec<u8>)> = list.fetch(&mut *database.connection().await?, page).await?;
    found.try_map(|(name, target)| Ok((name, object_id(&target)?)))
}
