//! Builds that wait for a runner, with what decides when they get one.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::BuildId;

use crate::{Connection, Result};

/// A build in the queue, with the numbers of runners that may take builds of its project.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct PendingBuild {
    #[sqlx(try_from = "i64")]
    pub build_id: BuildId,
    pub tags: Vec<String>,
    /// The tags that none of the runners has.
    pub missing_tags: Vec<String>,
    pub queued_at: DateTime<Utc>,
    /// The runners of the project, and the shared runners if the project allows them.
    pub runners: i64,
    /// The runners that have all tags, and accept builds without tags if there are none.
    pub suitable_runners: i64,
    pub active_runners: i64,
    pub online_runners: i64,
    /// The number of builds that the same runners take before this one, counted up to 1,000.
    pub builds_ahead: i64,
}

/// Finds those of the builds that are in the queue, sorted by id. Runners that have contacted the server since
/// `online_since` are online.
pub async fn find_many(
    connection: &mut Connection,
    builds: &[BuildId],
    online_since: DateTime<Utc>,
) -> Result<Vec<PendingBuild>> {
    let ids: Vec<i64> = builds.iter().map(|id| id.get()).collect();
    let query = sqlx::query_as(
        "select q.build_id, t.tags, c.missing_tags, q.queued_at, c.runners, c.suitable_runners, c.active_runners,
           c.online_runners, case when q.shared
             then (select count(*) from (select from build_queue o where o.shared and o.tag_set_id = q.tag_set_id
                     and (o.turn, o.build_id) < (q.turn, q.build_id) limit 1000) o)
             else (select count(*) from (select from build_queue o where o.project_id = q.project_id
                     and (o.turn, o.build_id) < (q.turn, q.build_id) limit 1000) o)
           end as builds_ahead
         from build_queue q join tag_sets t on t.id = q.tag_set_id cross join lateral (
           with usable as (
             select r.tags, r.active, r.contacted_at,
               t.tags <@ r.tags and (r.run_untagged or t.tags <> '{}') as is_suitable
             from runners r where r.id in (
               select id from runners where shared and q.shared
               union all select runner_id from runner_projects where project_id = q.project_id))
           select count(*) as runners,
             count(*) filter (where is_suitable) as suitable_runners,
             count(*) filter (where is_suitable and active) as active_runners,
             count(*) filter (where is_suitable and active and contacted_at > $2) as online_runners,
             array(select tag from unnest(t.tags) tag
               where not exists (select from usable u where tag = any(u.tags)) order by tag) as missing_tags
           from usable) c
         where q.build_id = any($1) order by q.build_id",
    );
    Ok(query.bind(ids).bind(online_since).fetch_all(connection).await?)
}
