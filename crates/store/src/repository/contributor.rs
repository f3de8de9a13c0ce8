//! Who contributed how much to the default branch, as far as it is counted.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::RepositoryId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_git::ObjectId;
use sqlx::{Postgres, QueryBuilder};

use super::snapshot::object_id;
use crate::page::{List, Total, named};
use crate::{Connection, Result};

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Contributor {
    pub email: String,
    pub name: String,
    /// When the newest of the commits was made, in seconds since 1970.
    pub newest: i64,
    pub commits: i64,
    pub additions: i64,
    pub deletions: i64,
}

/// Who committed last comes first.
pub async fn list(
    connection: &mut Connection,
    repository: RepositoryId,
    page: PageRequest,
) -> Result<Page<Contributor>> {
    let list = List {
        columns: "*",
        rows: "email, name, newest, commits, additions, deletions",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from contributors where repository_id = ").push_bind(repository.get());
        },
        order: "newest desc, email",
        page: named("page"),
        total: Total::Bounded,
        varies: false,
    };
    list.fetch(connection, page).await
}

/// How far it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub tip: ObjectId,
    /// Of the refs that had it as their default branch.
    pub generation: i64,
}

pub async fn counted(connection: &mut Connection, repository: RepositoryId) -> Result<Option<Counted>> {
    let row = sqlx::query!("select tip, generation from contributions where repository_id = $1", repository.get())
        .fetch_optional(connection)
        .await?;
    row.map(|row| Ok(Counted { tip: object_id(&row.tip)?, generation: row.generation })).transpose()
}

/// While the repository is locked, as all that follows.
pub async fn mark(
    connection: &mut Connection,
    repository: RepositoryId,
    counted: Counted,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into contributions (repository_id, tip, generation, counted_at) values ($1, $2, $3, $4)
         on conflict (repository_id) do update set tip = $2, generation = $3, counted_at = $4",
        repository.get(),
        counted.tip.as_bytes(),
        counted.generation,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Puts what commits brought to what is there. Of the two names the one of the later commit stays.
pub async fn add(connection: &mut Connection, repository: RepositoryId, more: &[Contributor]) -> Result<()> {
    for some in more.chunks(AT_ONCE) {
        add_some(connection, repository, some).await?;
    }
    Ok(())
}

/// Rows in one statement.
const AT_ONCE: usize = 1000;

async fn add_some(connection: &mut Connection, repository: RepositoryId, more: &[Contributor]) -> Result<()> {
    let column = |of: fn(&Contributor) -> i64| more.iter().map(of).collect::<Vec<_>>();
    let (emails, names): (Vec<&str>, Vec<&str>) = more.iter().map(|it| (&*it.email, &*it.name)).unzip();
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

/// Takes away what commits had brought that are no longer there.
pub async fn subtract(connection: &mut Connection, repository: RepositoryId, less: &[Contributor]) -> Result<()> {
    let column = |of: fn(&Contributor) -> i64| less.iter().map(of).collect::<Vec<_>>();
    let emails: Vec<&str> = less.iter().map(|it| &*it.email).collect();
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

/// What they are called now, and since when.
pub async fn rename(connection: &mut Connection, repository: RepositoryId, named: &[Contributor]) -> Result<()> {
    let newest: Vec<i64> = named.iter().map(|it| it.newest).collect();
    let (emails, names): (Vec<&str>, Vec<&str>) = named.iter().map(|it| (&*it.email, &*it.name)).unzip();
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

/// Begins anew.
pub async fn clear(connection: &mut Connection, repository: RepositoryId) -> Result<()> {
    sqlx::query!("delete from contributors where repository_id = $1", repository.get()).execute(connection).await?;
    Ok(())
}
