//! Contributor statistics of the default branch, maintained incrementally (ADR 0018).
//!
//! They cover the history up to the [`Checkpoint`]. The caller of a function that writes has locked the repository.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::RepositoryId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_git::ObjectId;
use sqlx::{Postgres, QueryBuilder};

use super::snapshot::object_id;
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Result};

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Contributor {
    pub email: String,
    pub name: String,
    /// The time of the newest commit, in seconds since the Unix epoch.
    pub newest: i64,
    pub commits: i64,
    pub additions: i64,
    pub deletions: i64,
}

/// Lists the contributors of a repository, sorted by their newest commit, the latest first.
pub async fn list(
    connection: &mut Connection,
    repository: RepositoryId,
    page: PageRequest,
) -> Result<Page<Contributor>> {
    let list = PagedQuery {
        columns: "*",
        rows: "email, name, newest, commits, additions, deletions",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from contributors where repository_id = ").push_bind(repository.get());
        },
        order: "newest desc, email",
        page: table_alias("page"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(connection, page).await
}

/// The commit up to which contributions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub tip: ObjectId,
    /// A generation at which `tip` was the tip of the default branch.
    pub generation: i64,
}

pub async fn find_checkpoint(connection: &mut Connection, repository: RepositoryId) -> Result<Option<Checkpoint>> {
    let row = sqlx::query!("select tip, generation from contributions where repository_id = $1", repository.get())
        .fetch_optional(connection)
        .await?;
    row.map(|row| Ok(Checkpoint { tip: object_id(&row.tip)?, generation: row.generation })).transpose()
}

/// Records the commit up to which contributions are counted.
pub async fn set_checkpoint(
    connection: &mut Connection,
    repository: RepositoryId,
    checkpoint: Checkpoint,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into contributions (repository_id, tip, generation, counted_at) values ($1, $2, $3, $4)
         on conflict (repository_id) do update set tip = $2, generation = $3, counted_at = $4",
        repository.get(),
        checkpoint.tip.as_bytes(),
        checkpoint.generation,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Adds the contributions of new commits. A contributor gets the name of the newest commit.
pub async fn add(connection: &mut Connection, repository: RepositoryId, added: &[Contributor]) -> Result<()> {
    for batch in added.chunks(INSERT_BATCH_SIZE) {
        add_batch(connection, repository, batch).await?;
    }
    Ok(())
}

/// Maximum number of rows in one statement. Arbitrary.
const INSERT_BATCH_SIZE: usize = 1000;

async fn add_batch(connection: &mut Connection, repository: RepositoryId, added: &[Contributor]) -> Result<()> {
    let column = |field: fn(&Contributor) -> i64| added.iter().map(field).collect::<Vec<_>>();
    let (emails, names): (Vec<&str>, Vec<&str>) = added.iter().map(|it| (&*it.email, &*it.name)).unzip();
    sqlx::query!(
        "insert into contributors as old (repository_id, email, name, newest, commits, additions, deletions)
         select $1, * from unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
         on conflict (repository_id, email) do update set
           name = case when excluded.newest >= old.newest then excluded.name else old.name end,
           newest = greatest(old.newest, excluded.newest),
           commits = old.commits + excluded.commits,
           additions = old.additions + excluded.additions,
           deletions = old.deletions + excluded.deletions",
        repository.get(),
        &emails as &[&str],
        &names as &[&str],
        &column(|it| it.newest),
        &column(|it| it.commits),
        &column(|it| it.additions),
        &column(|it| it.deletions),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Subtracts the contributions of commits that left the default branch. Deletes contributors without remaining commits.
pub async fn subtract(connection: &mut Connection, repository: RepositoryId, removed: &[Contributor]) -> Result<()> {
    let column = |field: fn(&Contributor) -> i64| removed.iter().map(field).collect::<Vec<_>>();
    let emails: Vec<&str> = removed.iter().map(|it| &*it.email).collect();
    sqlx::query!(
        "delete from contributors c using unnest($2::text[], $3::bigint[]) as less (email, commits)
         where c.repository_id = $1 and c.email = less.email and c.commits <= less.commits",
        repository.get(),
        &emails as &[&str],
        &column(|it| it.commits),
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "update contributors c set commits = c.commits - less.commits, additions = c.additions - less.additions,
           deletions = c.deletions - less.deletions
         from unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) as less (email, commits, additions, deletions)
         where c.repository_id = $1 and c.email = less.email",
        repository.get(),
        &emails as &[&str],
        &column(|it| it.commits),
        &column(|it| it.additions),
        &column(|it| it.deletions),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Sets the names of contributors and the times of their newest commits.
pub async fn rename(connection: &mut Connection, repository: RepositoryId, renamed: &[Contributor]) -> Result<()> {
    let newest: Vec<i64> = renamed.iter().map(|it| it.newest).collect();
    let (emails, names): (Vec<&str>, Vec<&str>) = renamed.iter().map(|it| (&*it.email, &*it.name)).unzip();
    sqlx::query!(
        "update contributors c set name = found.name, newest = found.newest
         from unnest($2::text[], $3::text[], $4::bigint[]) as found (email, name, newest)
         where c.repository_id = $1 and c.email = found.email",
        repository.get(),
        &emails as &[&str],
        &names as &[&str],
        &newest,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes all contributors of a repository, before everything is counted again.
pub async fn clear(connection: &mut Connection, repository: RepositoryId) -> Result<()> {
    sqlx::query!("delete from contributors where repository_id = $1", repository.get()).execute(connection).await?;
    Ok(())
}
