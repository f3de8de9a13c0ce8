//! Lists of issues. Each is merged from parts that are ranges of an index in the list's order: open or closed ones,
//! confidential or not. None is read further than the page reaches.

use holdfast_domain::AccessLevel;
use holdfast_domain::ids::{LabelId, MilestoneId, NamespaceId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::Seen;
use sqlx::{Postgres, QueryBuilder};

use super::issue::{Issue, issue_columns, issue_joins, load_relatives};
use crate::accounts::ghost::author_or_ghost;
use crate::accounts::user::person_columns;
use crate::page::{List, Purpose, Total};
use crate::projects::list::{Reader, push_level, push_visible};
use crate::text::listed_text;
use crate::{Connection, Result};

/// Which issues a list is about.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    /// Of one project, which the reader has been found to see.
    Project(ProjectId, Seen),
    /// Of the group's projects that the reader can see.
    Group(NamespaceId),
    /// What the reader wrote, in projects that it can see.
    Author(UserId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    CreatedAt,
    UpdatedAt,
}

#[derive(Clone, Debug)]
pub struct Filter {
    pub whose: Whose,
    pub reader: Reader,
    pub closed: Option<bool>,
    pub labels: Labels,
    /// By its title, in whatever project.
    pub milestone_title: Option<String>,
    pub milestone: Option<MilestoneId>,
    pub iid: Option<i64>,
    pub key: Key,
    pub descending: bool,
}

/// Which labels an issue must have.
#[derive(Clone, Debug)]
pub enum Labels {
    Any,
    OneOf(Vec<LabelId>),
    /// By title, in whatever project.
    AllOf(Vec<String>),
}

pub async fn list(connection: &mut Connection, filter: &Filter, page: PageRequest) -> Result<Page<Issue>> {
    let viewer = filter.reader.user.map(UserId::get);
    let direction = if filter.descending { " desc" } else { "" };
    let list = List {
        columns: issue_columns!(listed_text!("i.description")),
        rows: "found_id, place",
        from: |query: &mut QueryBuilder<Postgres>, purpose| Sql { filter, query, purpose }.push(),
        order: &format!("place{direction}, found_id{direction}"),
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("page cross join (values (").push_bind(viewer).push("::bigint)) viewer (id) ");
            query.push("join issues i on i.id = found_id").push(issue_joins!());
        },
        total: Total::Bounded,
        varies: filter.is_narrow(),
    };
    let mut page: Page<Issue> = list.fetch(&mut *connection, page).await?;
    load_relatives(connection, &mut page.items).await?;
    Ok(page)
}

impl Filter {
    const fn column(&self) -> &'static str {
        match self.key {
            Key::CreatedAt => "created_at",
            Key::UpdatedAt => "updated_at",
        }
    }

    fn order(&self) -> String {
        let direction = if self.descending { " desc" } else { "" };
        format!("i.{}{direction}, i.id{direction}", self.column())
    }

    /// Whether it leaves out much, so that another plan may be better.
    fn is_narrow(&self) -> bool {
        let any_label = matches!(self.labels, Labels::Any);
        !any_label || self.milestone_title.is_some() || self.milestone.is_some() || self.iid.is_some()
    }
}

/// A list's `from` clause while it is written.
struct Sql<'a> {
    filter: &'a Filter,
    query: &'a mut QueryBuilder<Postgres>,
    purpose: Purpose,
}

impl Sql<'_> {
    fn push(mut self) {
        self.query.push("from (");
        match self.filter.whose {
            Whose::Project(project, seen) => {
                let kinds = if seen == Seen::None { &[false][..] } else { &[false, true] };
                self.push_parts(kinds, |sql, confidential| {
                    sql.query.push("i.project_id = ").push_bind(project.get());
                    if let (Seen::Own(user), true) = (seen, confidential) {
                        sql.query.push(" and (");
                        sql.push_concerns(user);
                        sql.query.push(")");
                    }
                });
            }
            Whose::Group(group) => self.push_of_group(group),
            Whose::Author(user) => self.push_of_author(user),
        }
        self.query.push(") i (found_id, place)");
    }

    /// Open and closed ones, confidential or not, under one condition.
    fn push_parts(&mut self, kinds: &[bool], condition: impl Fn(&mut Self, bool)) {
        let mut separator = "";
        for closed in self.states() {
            for confidential in kinds {
                self.query.push(separator);
                separator = " union all ";
                self.begin(" from issues i where ");
                condition(self, *confidential);
                self.query.push(" and i.closed = ").push(closed).push(" and i.confidential = ").push(*confidential);
                self.push_filters();
                self.end();
            }
        }
    }

    fn push_of_group(&mut self, group: NamespaceId) {
        let reader = self.filter.reader;
        // `sees_all` is about confidential issues.
        self.query.push("select i.found_id, i.place from (select p.id, (");
        push_level(self.query, reader, AccessLevel::Reporter);
        self.query.push(") as sees_all from projects p where p.issues_enabled and p.namespace_id = ");
        self.query.push_bind(group.get());
        push_visible(self.query, reader);
        self.query.push(") p cross join lateral (");
        self.push_parts(&[false, true], |sql, confidential| {
            sql.query.push("i.project_id = p.id");
            if confidential {
                sql.query.push(" and (p.sees_all");
                if let Some(user) = sql.filter.reader.user {
                    sql.query.push(" or ");
                    sql.push_concerns(user);
                }
                sql.query.push(")");
            }
        });
        self.query.push(") i (found_id, place)");
    }

    fn push_of_author(&mut self, user: UserId) {
        let mut separator = "";
        for closed in self.states() {
            self.query.push(separator);
            separator = " union all ";
            self.begin(" from issues i join projects p on p.id = i.project_id where i.author_id = ");
            self.query.push_bind(user.get()).push(" and i.closed = ").push(closed);
            self.query.push(" and p.namespace_id is not null and p.issues_enabled");
            push_visible(self.query, self.filter.reader);
            self.push_filters();
            self.end();
        }
    }

    fn states(&self) -> Vec<bool> {
        self.filter.closed.map_or(vec![false, true], |only| vec![only])
    }

    fn push_concerns(&mut self, user: UserId) {
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
        if let Some(iid) = self.filter.iid {
            self.query.push(" and i.iid = ").push_bind(iid);
        }
    }

    fn begin(&mut self, from: &'static str) {
        self.query.push("(select i.id, i.").push(self.filter.column()).push(from);
    }

    fn end(&mut self) {
        if let Purpose::Rows(_) = self.purpose {
            self.query.push(" order by ").push(self.filter.order());
        }
        self.purpose.push_limit(self.query);
        self.query.push(")");
    }
}
