//! What the home page of a project shows beside the project and its repository, read by one statement.

use chrono::{DateTime, Utc};
use holdfast_domain::ci::Status;
use holdfast_domain::ids::{PipelineId, ProjectId, UserId};

use crate::{Connection, Error, Result};

/// The newest pipeline of a commit.
#[derive(Clone, Debug)]
pub struct LatestPipeline {
    pub id: PipelineId,
    pub status: Status,
    /// The time that the pipeline ran, in seconds. None if it has not ended.
    pub duration: Option<i64>,
    pub created_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
}

/// The newest release of a project.
#[derive(Clone, Debug)]
pub struct LatestRelease {
    pub tag: String,
    pub created_at: DateTime<Utc>,
}

/// The branch whose pipeline is wanted, and its tip.
#[derive(Clone, Copy, Debug)]
pub struct BranchTip<'a> {
    /// The short name of the branch.
    pub branch: &'a str,
    pub commit: &'a str,
}

/// The newest pipeline of a branch's tip, the newest release of the project, and whether the viewer has starred it.
#[derive(Clone, Debug, Default)]
pub struct HomeDetails {
    pub pipeline: Option<LatestPipeline>,
    pub release: Option<LatestRelease>,
    pub is_starred: bool,
}

#[derive(sqlx::FromRow)]
struct Row {
    pipeline_id: Option<i64>,
    pipeline_status: Option<String>,
    pipeline_duration: Option<i64>,
    pipeline_created_at: Option<DateTime<Utc>>,
    pipeline_finished_at: Option<DateTime<Utc>>,
    release_tag: Option<String>,
    release_created_at: Option<DateTime<Utc>>,
    is_starred: bool,
}

impl Row {
    fn pipeline(&self) -> Result<Option<LatestPipeline>> {
        let Self {
            pipeline_id: Some(id), pipeline_status: Some(status), pipeline_created_at: Some(created_at), ..
        } = self
        else {
            return Ok(None);
        };
        Ok(Some(LatestPipeline {
            id: (*id).into(),
            status: Status::try_from(status.clone()).map_err(|_| Error::invalid_value("a status"))?,
            duration: self.pipeline_duration,
            created_at: *created_at,
            finished_at: self.pipeline_finished_at,
        }))
    }

    fn release(self) -> Option<LatestRelease> {
        Some(LatestRelease { tag: self.release_tag?, created_at: self.release_created_at? })
    }
}

/// Finds what the home page shows beside the project and its repository. Without a tip, no pipeline is searched.
pub async fn find(
    connection: &mut Connection,
    project: ProjectId,
    tip: Option<BranchTip<'_>>,
    viewer: Option<UserId>,
) -> Result<HomeDetails> {
    const QUERY: &str = "select p.id as pipeline_id, p.status as pipeline_status, p.duration as pipeline_duration, \
           p.created_at as pipeline_created_at, p.finished_at as pipeline_finished_at, r.tag_name as release_tag, \
           r.created_at as release_created_at, \
           exists (select from stars where user_id = $4 and project_id = project.id) as is_starred \
         from (values ($1::bigint)) project (id) \
         left join lateral (select * from pipelines where project_id = project.id and sha = $3 and ref = $2 and not tag \
           order by id desc limit 1) p on true \
         left join lateral (select * from releases where project_id = project.id \
           order by created_at desc, tag_name desc limit 1) r on true";
    let row: Row = sqlx::query_as(QUERY)
        .bind(project.get())
        .bind(tip.map(|tip| tip.branch))
        .bind(tip.map(|tip| tip.commit))
        .bind(viewer.map(UserId::get))
        .fetch_one(connection)
        .await?;
    Ok(HomeDetails { pipeline: row.pipeline()?, is_starred: row.is_starred, release: row.release() })
}
