//! Lists of issues.
//!
//! A list is merged from parts: open or closed issues, confidential or not. Each part is a range of an index in the
//! order of the list, and no part is read beyond the end of the page.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{LabelId, MilestoneId, NamespaceId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::{ConfidentialAccess, DueFilter};
use holdfast_domain::{AccessLevel, Field};
use sqlx::{Postgres, QueryBuilder};

use super::issue::{ISSUE_COLUMNS, Issue, load_associations, push_joins};
use crate::page::{PagedQuery, Purpose, Total, count_rows};
use crate::projects::list::{Viewer, push_can_see, push_has_level};
use crate::{Connection, Result, search};

/// The set of issues that a list selects from.
#[derive(Clone, Copy, Debug)]
pub enum IssueScope {
    /// Issues of one project. The caller has checked that the viewer can see the project.
    Project(ProjectId, ConfidentialAccess),
    /// Issues of the group's projects that the viewer can see.
    Group(NamespaceId),
    /// Issues written by the user, in projects that the viewer can see.
    Author(UserId),
    /// Issues that are assigned to the user, in projects that the viewer can see.
    Assignee(UserId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    CreatedAt,
    UpdatedAt,
}

#[derive(Clone, Debug)]
pub struct Filter {
    pub scope: IssueScope,
    pub viewer: Viewer,
    pub closed: Option<bool>,
    pub labels: Labels,
    /// The title of a milestone, in any project.
    pub milestone_title: Option<String>,
    pub milestone: Option<MilestoneId>,
    /// Only those with these numbers. All if empty.
    pub iids: Vec<i64>,
    pub conditions: Conditions,
    pub sort_key: SortKey,
    pub descending: bool,
}

/// Further conditions of the filter language. By default all issues fulfill them.
///
/// They are checked on the rows that the indexes of the list return in its order (`issues_by_…`, by project and state),
/// so the cost is at most that of reading the issues of one project. PostgreSQL uses `issues_assignee` and
/// `issues_of_author_…` instead where a person has few issues.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// The assignee. Null means that there is none.
    pub assignee: Field<UserId>,
    /// Whether there must be an assignee, whoever it is.
    pub has_assignee: bool,
    pub author: Option<UserId>,
    pub excluded_labels: Vec<LabelId>,
    /// Titles of labels, in any project.
    pub excluded_titles: Vec<String>,
    pub has_label: bool,
    pub has_no_label: bool,
    pub has_milestone: bool,
    pub has_no_milestone: bool,
    pub confidential: Option<bool>,
    pub due: Option<DueFilter>,
    pub times: TimeBounds,
    /// Words that the title contains, ignoring case.
    pub words: Vec<String>,
}

/// Bounds of the times at which an issue or a merge request was created and updated, both inclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeBounds {
    pub created_after: Option<DateTime<Utc>>,
    pub created_before: Option<DateTime<Utc>>,
    pub updated_after: Option<DateTime<Utc>>,
    pub updated_before: Option<DateTime<Utc>>,
}

impl TimeBounds {
    /// Writes the conditions about a row with this alias, each after `and`.
    pub(crate) fn push(self, query: &mut QueryBuilder<Postgres>, alias: &'static str) {
        for (condition, bound) in [
            ("created_at >= ", self.created_after),
            ("created_at <= ", self.created_before),
            ("updated_at >= ", self.updated_after),
            ("updated_at <= ", self.updated_before),
        ] {
            if let Some(time) = bound {
                query.push(" and ").push(alias).push(".").push(condition).push_bind(time);
            }
        }
    }
}

/// The labels that an issue must have.
#[derive(Clone, Debug)]
pub enum Labels {
    Any,
    OneOf(Vec<LabelId>),
    /// All of these labels.
    EachOf(Vec<LabelId>),
    /// Titles of labels, in any project.
    AllOf(Vec<String>),
}

pub async fn list(connection: &mut Connection, filter: &Filter, page: PageRequest) -> Result<Page<Issue>> {
    let viewer = filter.viewer.user.map(UserId::get);
    let direction = if filter.descending { " desc" } else { "" };
    let list = PagedQuery {
        columns: &["left(i.description, 65536) as description", ISSUE_COLUMNS].join(", "),
        rows: "found_id, place",
        from: |query: &mut QueryBuilder<Postgres>, purpose| FromClause { filter, query, purpose }.push(),
        order: &format!("place{direction}, found_id{direction}"),
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("page cross join (values (").push_bind(viewer).push("::bigint)) viewer (id) ");
            query.push("join issues i on i.id = found_id");
            push_joins(query);
        },
        total: Total::Bounded,
        needs_custom_plan: filter.is_selective(),
    };
    let mut page: Page<Issue> = list.fetch(&mut *connection, page).await?;
    load_associations(connection, &mut page.items).await?;
    Ok(page)
}

/// Counts the issues of a list, up to the largest total that is shown.
pub async fn count(connection: &mut Connection, filter: &Filter) -> Result<i64> {
    count_rows(connection, |query, purpose| FromClause { filter, query, purpose }.push()).await
}

/// Writes the first issues of a list for another statement: `from (…) i (found_id, place)`, in no order.
pub(crate) fn push_first(query: &mut QueryBuilder<Postgres>, filter: &Filter, limit: i64) {
    FromClause { filter, query, purpose: Purpose::Rows(limit) }.push();
}

impl Filter {
    const fn column(&self) -> &'static str {
        match self.sort_key {
            SortKey::CreatedAt => "created_at",
            SortKey::UpdatedAt => "updated_at",
        }
    }

    fn order(&self) -> String {
        let direction = if self.descending { " desc" } else { "" };
        format!("i.{}{direction}, i.id{direction}", self.column())
    }

    /// Returns whether the filter may exclude most issues, so that the best plan depends on its values.
    fn is_selective(&self) -> bool {
        let any_label = matches!(self.labels, Labels::Any);
        let has_milestone = self.milestone_title.is_some() || self.milestone.is_some();
        !any_label || has_milestone || !self.iids.is_empty() || !self.conditions.are_default()
    }
}

impl Conditions {
    fn are_default(&self) -> bool {
        let has_no_person = self.assignee == Field::Absent && self.author.is_none();
        let has_no_lack = !self.has_no_label && !self.has_no_milestone && self.due.is_none();
        let excludes_no_label = self.excluded_labels.is_empty() && self.excluded_titles.is_empty();
        let needs_nothing = !self.has_assignee && !self.has_label && !self.has_milestone;
        let is_of_any_kind = self.confidential.is_none() && self.times == TimeBounds::default();
        has_no_person && has_no_lack && excludes_no_label && needs_nothing && is_of_any_kind && self.words.is_empty()
    }

    /// Writes the conditions about the issue `i`, each after `and`.
    fn push(&self, query: &mut QueryBuilder<Postgres>) {
        match self.assignee {
            Field::Absent => {}
            Field::Null => drop(query.push(" and i.assignee_id is null")),
            Field::Value(user) => drop(query.push(" and i.assignee_id = ").push_bind(user.get())),
        }
        if self.has_assignee {
            query.push(" and i.assignee_id is not null");
        }
        if let Some(author) = self.author {
            query.push(" and i.author_id = ").push_bind(author.get());
        }
        if self.has_label {
            query.push(" and exists (select from issue_labels x where x.issue_id = i.id)");
        }
        if self.has_no_label {
            query.push(" and not exists (select from issue_labels x where x.issue_id = i.id)");
        }
        if !self.excluded_labels.is_empty() {
            let labels: Vec<i64> = self.excluded_labels.iter().map(|id| id.get()).collect();
            query.push(" and not exists (select from issue_labels x where x.issue_id = i.id and x.label_id = any(");
            query.push_bind(labels).push("))");
        }
        if !self.excluded_titles.is_empty() {
            query.push(" and not exists (select from issue_labels x join labels l on l.id = x.label_id ");
            query.push("where x.issue_id = i.id and l.title = any(").push_bind(self.excluded_titles.clone()).push("))");
        }
        if self.has_milestone {
            query.push(" and i.milestone_id is not null");
        }
        if self.has_no_milestone {
            query.push(" and i.milestone_id is null");
        }
        if let Some(confidential) = self.confidential {
            query.push(" and i.confidential = ").push_bind(confidential);
        }
        self.times.push(query, "i");
        match self.due {
            None => {}
            Some(DueFilter::Missing) => drop(query.push(" and i.due_date is null")),
            Some(DueFilter::Before(date)) => drop(query.push(" and i.due_date < ").push_bind(date)),
            Some(DueFilter::On(date)) => drop(query.push(" and i.due_date = ").push_bind(date)),
            Some(DueFilter::After(date)) => drop(query.push(" and i.due_date > ").push_bind(date)),
        }
        for word in &self.words {
            query.push(" and ");
            search::push_contains(query, "lower(i.title collate \"und-x-icu\") collate \"C\"", word);
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
            IssueScope::Project(project, confidential_access) => {
                let kinds = if confidential_access == ConfidentialAccess::None { &[false][..] } else { &[false, true] };
                self.push_parts(kinds, |sql, confidential| {
                    sql.query.push("i.project_id = ").push_bind(project.get());
                    if let (ConfidentialAccess::Own(user), true) = (confidential_access, confidential) {
                        sql.query.push(" and (");
                        sql.push_author_or_assignee(user);
                        sql.query.push(")");
                    }
                });
            }
            IssueScope::Group(group) => self.push_for_group(group),
            IssueScope::Author(user) => self.push_for_person("i.author_id = ", user),
            IssueScope::Assignee(user) => self.push_for_person("i.assignee_id = ", user),
        }
        self.query.push(") i (found_id, place)");
    }

    /// Writes the parts for open and closed issues, confidential or not, with one condition.
    fn push_parts(&mut self, kinds: &[bool], condition: impl Fn(&mut Self, bool)) {
        let mut separator = "";
        for closed in self.states() {
            for confidential in kinds {
                self.query.push(separator);
                separator = " union all ";
                self.begin_select(" from issues i where ");
                condition(self, *confidential);
                self.query.push(" and i.closed = ").push(closed).push(" and i.confidential = ").push(*confidential);
                self.push_filters();
                self.end_select();
            }
        }
    }

    fn push_for_group(&mut self, group: NamespaceId) {
        let viewer = self.filter.viewer;
        // `sees_all` is whether the viewer sees all confidential issues of the project.
        self.query.push("select i.found_id, i.place from (select p.id, (");
        push_has_level(self.query, viewer, AccessLevel::Reporter);
        self.query.push(") as sees_all from projects p where p.issues_enabled and p.namespace_id = ");
        self.query.push_bind(group.get());
        push_can_see(self.query, viewer);
        self.query.push(") p cross join lateral (");
        self.push_parts(&[false, true], |sql, confidential| {
            sql.query.push("i.project_id = p.id");
            if confidential {
                sql.query.push(" and (p.sees_all");
                if let Some(user) = sql.filter.viewer.user {
                    sql.query.push(" or ");
                    sql.push_author_or_assignee(user);
                }
                sql.query.push(")");
            }
        });
        self.query.push(") i (found_id, place)");
    }

    fn push_for_person(&mut self, condition: &'static str, user: UserId) {
        let mut separator = "";
        for closed in self.states() {
            self.query.push(separator);
            separator = " union all ";
            self.begin_select(" from issues i join projects p on p.id = i.project_id where ");
            self.query.push(condition).push_bind(user.get()).push(" and i.closed = ").push(closed);
            self.query.push(" and p.namespace_id is not null and p.issues_enabled");
            push_can_see(self.query, self.filter.viewer);
            // The authors and the assignees of confidential issues see them.
            if self.filter.viewer.user != Some(user) {
                self.query.push(" and (not i.confidential or ");
                push_has_level(self.query, self.filter.viewer, AccessLevel::Reporter);
                if let Some(viewer) = self.filter.viewer.user {
                    self.query.push(" or ");
                    self.push_author_or_assignee(viewer);
                }
                self.query.push(")");
            }
            self.push_filters();
            self.end_select();
        }
    }

    fn states(&self) -> Vec<bool> {
        self.filter.closed.map_or(vec![false, true], |only| vec![only])
    }

    fn push_author_or_assignee(&mut self, user: UserId) {
        self.query.push("i.author_id = ").push_bind(user.get());
        self.query.push(" or i.assignee_id = ").push_bind(user.get());
    }

    fn push_filters(&mut self) {
        match &self.filter.labels {
            Labels::Any => {}
            Labels::OneOf(labels) => {
                let labels: Vec<i64> = labels.iter().map(|id| id.get()).collect();
                self.query
                    .push(" and exists (select from issue_labels x where x.issue_id = i.id and x.label_id = any(");
                self.query.push_bind(labels).push("))");
            }
            Labels::EachOf(labels) => {
                for label in labels {
                    self.query
                        .push(" and exists (select from issue_labels x where x.issue_id = i.id and x.label_id = ");
                    self.query.push_bind(label.get()).push(")");
                }
            }
            Labels::AllOf(titles) => {
                self.query.push(" and (select count(*) from issue_labels x join labels l on l.id = x.label_id ");
                self.query.push("where x.issue_id = i.id and l.title = any(").push_bind(titles.clone());
                self.query.push(")) = ").push(titles.len() as i64);
            }
        }
        if let Some(title) = &self.filter.milestone_title {
            self.query.push(" and i.milestone_id = (select m.id from milestones m ");
            self.query.push("where m.project_id = i.project_id and m.title = ").push_bind(title.clone()).push(")");
        }
        if let Some(milestone) = self.filter.milestone {
            self.query.push(" and i.milestone_id = ").push_bind(milestone.get());
        }
        if !self.filter.iids.is_empty() {
            self.query.push(" and i.iid = any(").push_bind(self.filter.iids.clone()).push(")");
        }
        self.filter.conditions.push(self.query);
    }

    fn begin_select(&mut self, from: &'static str) {
        self.query.push("(select i.id, i.").push(self.filter.column()).push(from);
    }

    fn end_select(&mut self) {
        if let Purpose::Rows(_) = self.purpose {
            self.query.push(" order by ").push(self.filter.order());
        }
        self.purpose.push_limit(self.query);
        self.query.push(")");
    }
}
