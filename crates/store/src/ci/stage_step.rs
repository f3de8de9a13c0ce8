//! The stages of pipelines, for lists of pipelines.

use holdfast_domain::ci::Status;
use holdfast_domain::ci::file::When;
use holdfast_domain::ci::transitions::BuildStep;
use holdfast_domain::ids::PipelineId;

use crate::{Connection, Result};

/// Equal builds of a stage.
#[derive(Clone, Debug)]
pub struct StageStep {
    pub pipeline: PipelineId,
    pub stage: String,
    pub step: BuildStep,
}

/// Lists the different kinds of builds in the stages of some pipelines, sorted by pipeline and stage. Only the latest
/// build of each name counts.
pub async fn list(connection: &mut Connection, pipelines: &[PipelineId]) -> Result<Vec<StageStep>> {
    let ids: Vec<i64> = pipelines.iter().map(|id| id.get()).collect();
    let rows: Vec<StepRow> = sqlx::query_as(
        "select b.pipeline_id, b.stage, b.stage_index, b.status, b.run_when, b.allow_failure from builds b
         where b.pipeline_id = any($1) and b.latest group by 1, 2, 3, 4, 5, 6 order by 1, 3, 2",
    )
    .bind(ids)
    .fetch_all(connection)
    .await?;
    let step = |row: StepRow| StageStep {
        pipeline: row.pipeline_id.into(),
        stage: row.stage,
        step: BuildStep {
            stage: row.stage_index,
            status: row.status,
            when: row.run_when,
            allow_failure: row.allow_failure,
        },
    };
    Ok(rows.into_iter().map(step).collect())
}

#[derive(sqlx::FromRow)]
struct StepRow {
    pipeline_id: i64,
    stage: String,
    stage_index: i32,
    #[sqlx(try_from = "String")]
    status: Status,
    #[sqlx(try_from = "String")]
    run_when: When,
    allow_failure: bool,
}
