//! Memberships that have run out.

use chrono::NaiveDate;
use holdfast_domain::AccessLevel;
use holdfast_domain::ids::ProjectId;

use crate::accounts::user::{Person, person_columns};
use crate::{Connection, Result};

#[derive(sqlx::FromRow)]
struct Expired {
    project_id: i64,
    #[sqlx(try_from = "i16")]
    access_level: AccessLevel,
    #[sqlx(flatten)]
    user: Person,
}

/// Takes some away: whose, in which project, of which level.
pub async fn take_expired_members(
    connection: &mut Connection,
    today: NaiveDate,
    at_most: i64,
) -> Result<Vec<(ProjectId, Person, AccessLevel)>> {
    const QUERY: &str = concat!(
        "with expired as (delete from project_members m using (select project_id, user_id from project_members \
           where expires_at <= $1 order by expires_at limit $2 for update skip locked) old \
         where m.project_id = old.project_id and m.user_id = old.user_id \
         returning m.project_id, m.user_id, m.access_level) \
         select e.project_id, e.access_level, ",
        person_columns!(),
        " from expired e join users u on u.id = e.user_id"
    );
    let rows: Vec<Expired> = sqlx::query_as(QUERY).bind(today).bind(at_most).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|row| (row.project_id.into(), row.user, row.access_level)).collect())
}
