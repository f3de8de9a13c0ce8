use holdfast_domain::ids::{ProjectId, RepositoryId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_git::Target;
use sqlx::{Postgres, QueryBuilder};

use super::snapshot::target;
use crate::page::{List, Total};
use crate::{Database, Result};

/// A tag and the notes of its release.
#[derive(Clone, Debug)]
pub struct Tag {
    pub name: String,
    pub target: Target,
    pub release: Option<String>,
}

/// By name, the last first.
pub async fn list(
    database: &Database,
    repository: RepositoryId,
    project: ProjectId,
    page: PageRequest,
) -> Result<Page<Tag>> {
    let list = List {
        columns: "substr(page.name, 11) as tag, page.target, page.peeled, releases.description",
        rows: "name, target, peeled",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from refs where repository_id = ").push_bind(repository.get());
            // What begins with refs/tags/: the slash is followed by the zero.
            query.push(" and name > 'refs/tags/' and name < 'refs/tags0'");
        },
        order: "name desc",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push(
                "page left join releases on releases.tag_name = substr(page.name, 11) and releases.project_id = ",
            );
            query.push_bind(project.get());
        },
        total: Total::Bounded,
        varies: false,
    };
    type Row = (String, Vec<u8>, Option<Vec<u8>>, Option<String>);
    let found: Page<Row> = list.fetch(&mut *database.connection().await?, page).await?;
    found.try_map(|(name, id, peeled, release)| Ok(Tag { name, target: target(&id, peeled.as_deref())?, release }))
}
