//! Lists of merge requests. A list is merged from one range of an index for each state.

use holdfast_domain::ids::{MilestoneId, ProjectId, UserId};
use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use super::merge_request::{COLUMNS, MergeRequest, load_associations, push_joins};
use crate::page::{PagedQuery, Purpose, Total};
use crate::planning::issue_list::SortKey;
use crate::{Connection, Result};

/// The merge requests that a list shows.
#[derive(Clone, Debug)]
pub struct Filter {
    pub project: ProjectId,
    pub states: Vec<MergeRequestState>,
    /// Only those with these numbers. All if empty.
    pub iids: Vec<i64>,
    pub milestone: Option<MilestoneId>,
    pub sort_key: SortKey,
    pub descending: bool,
}

pub async fn list(
    connection: &mut Connection,
    filter: &Filter,
    viewer: Option<UserId>,
    page: PageRequest,
) -> Result<Page<MergeRequest>> {
    let direction = if filter.descending { " desc" } else { "" };
    let list = PagedQuery {
        columns: &["left(mr.description, 65536) as description", COLUMNS].join(", "),
        rows: "found_id, place",
        from: |query: &mut QueryBuilder<Postgres>, purpose| push_from(query, filter, purpose),
        order: &format!("place{direction}, found_id{direction}"),
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("page cross join (values (").push_bind(viewer.map(UserId::get)).push("::bigint)) viewer (id) ");
            query.push("join merge_requests mr on mr.id = found_id");
            push_joins(query);
        },
        total: Total::Bounded,
        needs_custom_plan: !filter.iids.is_empty() || filter.milestone.is_some(),
    };
    let mut page: Page<MergeRequest> = list.fetch(&mut *connection, page).await?;
    load_associations(connection, &mut page.items).await?;
    Ok(page)
}

fn push_from(query: &mut QueryBuilder<Postgres>, filter: &Filter, purpose: Purpose) {
    let column = match filter.sort_key {
        SortKey::CreatedAt => "created_at",
        SortKey::UpdatedAt => "updated_at",
    };
    let direction = if filter.descending { " desc" } else { "" };
    query.push("from (");
    for (index, state) in filter.states.iter().enumerate() {
        query.push(if index == 0 { "(" } else { " union all (" });
        query.push("select mr.id, mr.").push(column).push(" from merge_requests mr where mr.project_id = ");
        query.push_bind(filter.project.get()).push(" and mr.state = ").push(state.as_i16());
        if !filter.iids.is_empty() {
            query.push(" and mr.iid = any(").push_bind(filter.iids.clone()).push(")");
        }
        if let Some(milestone) = filter.milestone {
            query.push(" and mr.milestone_id = ").push_bind(milestone.get());
        }
        if let Purpose::Rows(_) = purpose {
            query.push(" order by mr.").push(column).push(direction).push(", mr.id").push(direction);
        }
        purpose.push_limit(query);
        query.push(")");
    }
    query.push(") mr (found_id, place)");
}
