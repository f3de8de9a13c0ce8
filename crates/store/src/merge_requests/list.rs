//! Lists of merge requests. The list of a project is merged from one range of an index for each state, and that of a
//! group from those of its projects. The merge requests of a person are found by author or assignee and sorted.

use holdfast_domain::ids::{MilestoneId, NamespaceId, ProjectId, UserId};
use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::{AccessLevel, Field};
use sqlx::{Postgres, QueryBuilder};

use super::merge_request::{COLUMNS, MergeRequest, load_associations, push_joins};
use crate::page::{PagedQuery, Purpose, Total, count_rows};
use crate::planning::issue_list::{SortKey, TimeBounds};
use crate::projects::list::{Viewer, push_has_level};
use crate::{Connection, Result, search};

/// The set of merge requests that a list selects from.
#[derive(Clone, Copy, Debug)]
pub enum RequestScope {
    /// Merge requests into one project. The caller has checked that the viewer can read them.
    Project(ProjectId),
    /// Merge requests into the group's projects whose merge requests the viewer can read.
    Group(NamespaceId),
    /// Merge requests of the author, in projects whose merge requests the viewer can read.
    Author(UserId),
    /// Merge requests that are assigned to the user, in projects whose merge requests the viewer can read.
    Assignee(UserId),
}

/// The merge requests that a list shows.
#[derive(Clone, Debug)]
pub struct Filter {
    pub scope: RequestScope,
    pub viewer: Viewer,
    pub states: Vec<MergeRequestState>,
    /// Only those with these numbers. All if empty.
    pub iids: Vec<i64>,
    pub milestone: Option<MilestoneId>,
    pub conditions: Conditions,
    pub sort_key: SortKey,
    pub descending: bool,
}

/// Further conditions. By default all merge requests fulfill them.
///
/// They are checked on the rows that the indexes of the list return in its order, so the cost is at most that of
/// reading the merge requests of the projects or of the person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The assignee. Null means that there is none.
    pub assignee: Field<UserId>,
    /// Whether there must be an assignee, whoever it is.
    pub has_assignee: bool,
    pub author: Option<UserId>,
    /// Titles of labels, all of which a merge request must have.
    pub labels: Vec<String>,
    /// Titles of labels, none of which a merge request must have.
    pub excluded_labels: Vec<String>,
    pub has_label: bool,
    pub has_no_label: bool,
    pub milestone_title: Option<String>,
    pub has_milestone: bool,
    pub has_no_milestone: bool,
    pub source_branch: Option<String>,
    pub target_branch: Option<String>,
    /// Whether the title marks it as a draft.
    pub draft: Option<bool>,
    pub times: TimeBounds,
    /// Words that the title contains, ignoring case.
    pub words: Vec<String>,
}

pub async fn list(connection: &mut Connection, filter: &Filter, page: PageRequest) -> Result<Page<MergeRequest>> {
    let direction = filter.direction();
    let viewer = filter.viewer.user.map(UserId::get);
    let list = PagedQuery {
        columns: &["left(mr.description, 65536) as description", COLUMNS].join(", "),
        rows: "found_id, place",
        from: |query: &mut QueryBuilder<Postgres>, purpose| FromClause { filter, query, purpose }.push(),
        order: &format!("place{direction}, found_id{direction}"),
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("page cross join (values (").push_bind(viewer).push("::bigint)) viewer (id) ");
            query.push("join merge_requests mr on mr.id = found_id");
            push_joins(query);
        },
        total: Total::Bounded,
        needs_custom_plan: filter.is_selective(),
    };
    let mut page: Page<MergeRequest> = list.fetch(&mut *connection, page).await?;
    load_associations(connection, &mut page.items).await?;
    Ok(page)
}

/// Counts the merge requests of a list, up to the largest total that is shown.
pub async fn count(connection: &mut Connection, filter: &Filter) -> Result<i64> {
    count_rows(connection, |query, purpose| FromClause { filter, query, purpose }.push()).await
}

/// Writes the first merge requests of a list for another statement: `from (…) mr (found_id, place)`, in no order.
pub(crate) fn push_first(query: &mut QueryBuilder<Postgres>, filter: &Filter, limit: i64) {
    FromClause { filter, query, purpose: Purpose::Rows(limit) }.push();
}

impl Filter {
    /// Returns the filter of all merge requests in these states, newest first.
    pub fn new(scope: RequestScope, viewer: Viewer, states: Vec<MergeRequestState>) -> Self {
        Self {
            scope,
            viewer,
            states,
            iids: Vec::new(),
            milestone: None,
            conditions: Conditions::default(),
            sort_key: SortKey::CreatedAt,
            descending: true,
        }
    }

    const fn column(&self) -> &'static str {
        match self.sort_key {
            SortKey::CreatedAt => "created_at",
            SortKey::UpdatedAt => "updated_at",
        }
    }

    const fn direction(&self) -> &'static str {
        if self.descending { " desc" } else { "" }
    }

    /// Returns whether the filter may exclude most merge requests, so that the best plan depends on its values.
    fn is_selective(&self) -> bool {
        !self.iids.is_empty() || self.milestone.is_some() || self.conditions != Conditions::default()
    }
}

/// The regular expression of titles that mark a merge request as a draft, as
/// [`is_work_in_progress`](holdfast_domain::merge_requests::is_work_in_progress) defines it.
const DRAFT_TITLE: &str = r"^\s*(draft:|\[draft\]|\(draft\)|wip:|\[wip\]|wip\s)";

impl Conditions {
    /// Writes the conditions about the merge request `mr`, each after `and`.
    fn push(&self, query: &mut QueryBuilder<Postgres>) {
        match self.assignee {
            Field::Absent => {}
            Field::Null => drop(query.push(" and mr.assignee_id is null")),
            Field::Value(user) => drop(query.push(" and mr.assignee_id = ").push_bind(user.get())),
        }
        if self.has_assignee {
            query.push(" and mr.assignee_id is not null");
        }
        if let Some(author) = self.author {
            query.push(" and mr.author_id = ").push_bind(author.get());
        }
        self.push_labels(query);
        self.push_milestone(query);
        if let Some(branch) = &self.source_branch {
            query.push(" and mr.source_branch = ").push_bind(branch.clone());
        }
        if let Some(branch) = &self.target_branch {
            query.push(" and mr.target_branch = ").push_bind(branch.clone());
        }
        if let Some(is_draft) = self.draft {
            query.push(if is_draft { " and mr.title ~* " } else { " and mr.title !~* " }).push_bind(DRAFT_TITLE);
        }
        self.times.push(query, "mr");
        for word in &self.words {
            query.push(" and ");
            search::push_contains(query, "lower(mr.title collate \"und-x-icu\") collate \"C\"", word);
        }
    }

    fn push_labels(&self, query: &mut QueryBuilder<Postgres>) {
        const OF_REQUEST: &str = "from merge_request_labels x where x.merge_request_id = mr.id";
        const TITLED: &str = "from merge_request_labels x join labels l on l.id = x.label_id \
            where x.merge_request_id = mr.id and l.title = any(";
        if !self.labels.is_empty() {
            query.push(" and (select count(*) ").push(TITLED).push_bind(self.labels.clone());
            query.push(")) = ").push(self.labels.len() as i64);
        }
        if !self.excluded_labels.is_empty() {
            query.push(" and not exists (select ").push(TITLED).push_bind(self.excluded_labels.clone()).push("))");
        }
        if self.has_label {
            query.push(" and exists (select ").push(OF_REQUEST).push(")");
        }
        if self.has_no_label {
            query.push(" and not exists (select ").push(OF_REQUEST).push(")");
        }
    }

    fn push_milestone(&self, query: &mut QueryBuilder<Postgres>) {
        if let Some(title) = &self.milestone_title {
            query.push(" and mr.milestone_id = (select m.id from milestones m ");
            query.push("where m.project_id = mr.project_id and m.title = ").push_bind(title.clone()).push(")");
        }
        if self.has_milestone {
            query.push(" and mr.milestone_id is not null");
        }
        if self.has_no_milestone {
            query.push(" and mr.milestone_id is null");
        }
    }
}

/// Writes the `from` clause of a list.
struct FromClause<'a> {
    filter: &'a Filter,
    query: &'a mut QueryBuilder<Postgres>,
    purpose: Purpose,
}

impl FromClause<'_> {
    fn push(mut self) {
        self.query.push("from (");
        match self.filter.scope {
            RequestScope::Project(project) => self.push_states(|query| {
                query.push("mr.project_id = ").push_bind(project.get());
            }),
            RequestScope::Group(group) => {
                self.query.push("select mr.found_id, mr.place from (select p.id from projects p ");
                self.query.push("where p.merge_requests_enabled and p.namespace_id = ").push_bind(group.get());
                push_can_read(self.query, self.filter.viewer);
                self.query.push(") p cross join lateral (");
                self.push_states(|query| {
                    query.push("mr.project_id = p.id");
                });
                self.query.push(") mr (found_id, place)");
            }
            RequestScope::Author(user) => self.push_for_person("mr.author_id = ", user),
            RequestScope::Assignee(user) => self.push_for_person("mr.assignee_id = ", user),
        }
        self.query.push(") mr (found_id, place)");
    }

    /// Writes one part for each state, with one condition.
    fn push_states(&mut self, condition: impl Fn(&mut QueryBuilder<Postgres>)) {
        for (index, state) in self.filter.states.iter().enumerate() {
            self.query.push(if index == 0 { "(" } else { " union all (" });
            self.query.push("select mr.id, mr.").push(self.filter.column()).push(" from merge_requests mr where ");
            condition(self.query);
            self.query.push(" and mr.state = ").push(state.as_i16());
            self.end_select();
        }
    }

    fn push_for_person(&mut self, condition: &'static str, user: UserId) {
        // The states are literals, so that the index of open merge requests can be used.
        let states: Vec<String> = self.filter.states.iter().map(|state| state.as_i16().to_string()).collect();
        self.query.push("(select mr.id, mr.").push(self.filter.column());
        self.query.push(" from merge_requests mr join projects p on p.id = mr.project_id where ");
        self.query.push(condition).push_bind(user.get()).push(" and mr.state = any('{").push(states.join(","));
        self.query.push("}'::int[]) and p.namespace_id is not null and p.merge_requests_enabled");
        push_can_read(self.query, self.filter.viewer);
        self.end_select();
    }

    fn end_select(&mut self) {
        if !self.filter.iids.is_empty() {
            self.query.push(" and mr.iid = any(").push_bind(self.filter.iids.clone()).push(")");
        }
        if let Some(milestone) = self.filter.milestone {
            self.query.push(" and mr.milestone_id = ").push_bind(milestone.get());
        }
        self.filter.conditions.push(self.query);
        if let Purpose::Rows(_) = self.purpose {
            let (column, direction) = (self.filter.column(), self.filter.direction());
            self.query.push(" order by mr.").push(column).push(direction).push(", mr.id").push(direction);
        }
        self.purpose.push_limit(self.query);
        self.query.push(")");
    }
}

/// Writes the condition that the viewer can read the merge requests of the project `p`.
pub(crate) fn push_can_read(query: &mut QueryBuilder<Postgres>, viewer: Viewer) {
    let Some(min_visibility) = viewer.min_visibility else { return };
    query.push(" and (p.visibility_level >= ").push_bind(min_visibility.as_i16()).push(" or ");
    push_has_level(query, viewer, AccessLevel::Reporter);
    query.push(")");
}
