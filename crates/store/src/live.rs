//! The states of what viewers of pages watch, read for all viewers of a node together.

use std::collections::HashMap;

use holdfast_domain::ids::{BoardId, BuildId, PipelineId};

use crate::{Connection, Result};

/// Something that pages watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watch {
    /// The status of a build and the length of its trace.
    Build(BuildId),
    /// The status of a pipeline and of its builds.
    Pipeline(PipelineId),
    /// The board of a project: its lists, labels and issues.
    Board(BoardId),
}

#[derive(sqlx::FromRow)]
struct Row {
    kind: String,
    id: i64,
    state: String,
}

/// Reads the states of all watched things in one statement. A state is an opaque text that differs after every change.
/// What does not exist has none.
pub async fn read_states(connection: &mut Connection, watched: &[Watch]) -> Result<HashMap<Watch, String>> {
    let (mut builds, mut pipelines, mut boards) = (Vec::new(), Vec::new(), Vec::new());
    for watch in watched {
        match watch {
            Watch::Build(id) => builds.push(id.get()),
            Watch::Pipeline(id) => pipelines.push(id.get()),
            Watch::Board(id) => boards.push(id.get()),
        }
    }
    // A board changes with its lists, with the titles, colors and counters of their labels, with the counters of the
    // project, or with the newest update of an issue. Other labels are not read: a project can have many. The issues are
    // found by `issues_by_updated_at`, one for each state.
    // The time of the last update of a pipeline does not change with each of its builds, so the builds are read, too.
    let rows: Vec<Row> = sqlx::query_as(
        "select 'build' as kind, b.id, concat_ws(' ', b.status, t.bytes, b.erased_at) as state
         from builds b left join traces t on t.build_id = b.id where b.id = any($1)
         union all
         select 'pipeline', p.id, concat_ws(' ', p.status, p.updated_at,
           (select sum(hashtextextended(b.id || b.status, 0)) from builds b where b.pipeline_id = p.id and b.latest))
         from pipelines p where p.id = any($2)
         union all
         select 'board', p.id, concat_ws(' ', p.last_issue_iid, p.open_issues, p.open_confidential_issues,
           (select sum(hashtextextended(concat_ws(' ', b.id, b.position, l.title, l.color, l.open_issues,
              l.open_confidential_issues), 0)) from board_lists b join labels l on l.id = b.label_id
            where b.project_id = p.id and b.position is not null),
           (select max(latest.updated_at)
            from (values (false, false), (false, true), (true, false), (true, true)) kind (closed, confidential)
            cross join lateral (select i.updated_at from issues i where i.project_id = p.id
              and i.closed = kind.closed and i.confidential = kind.confidential
              order by i.updated_at desc limit 1) latest))
         from projects p where p.id = any($3)",
    )
    .bind(builds)
    .bind(pipelines)
    .bind(boards)
    .fetch_all(connection)
    .await?;
    let states = rows.into_iter().map(|row| match row.kind.as_str() {
        "build" => (Watch::Build(row.id.into()), row.state),
        "board" => (Watch::Board(row.id.into()), row.state),
        _ => (Watch::Pipeline(row.id.into()), row.state),
    });
    Ok(states.collect())
}
