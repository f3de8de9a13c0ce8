//! Filters that lists of issues and lists of merge requests have in common.

use holdfast_domain::Field;
use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_store::Connection;
use holdfast_store::accounts::user;
use holdfast_store::namespaces::group::GroupRef;

pub use holdfast_store::planning::issue_list::{SortKey, TimeBounds};

use super::label::AttachedLabel;
use crate::projects::project::ProjectRef;
use crate::{Actor, Error, Result};

/// The place whose issues or merge requests are listed.
#[derive(Clone, Debug)]
pub enum ListPlace {
    Project(ProjectRef),
    /// The projects of a group.
    Group(GroupRef),
    /// All projects. Such a list is limited to one author or one assignee.
    Everywhere,
}

/// A person in a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonRef {
    CurrentUser,
    Id(UserId),
    Username(String),
}

/// What a filter requires of an attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Requirement<T> {
    #[default]
    Nothing,
    /// The attribute is not set.
    Missing,
    /// The attribute has any value.
    Present,
    Value(T),
}

/// The filters and the order of a list.
#[derive(Clone, Debug)]
pub struct CommonFilter {
    /// Only those with these numbers. All if empty.
    pub iids: Vec<i64>,
    /// Titles of labels, all of which are required.
    pub labels: Requirement<Vec<String>>,
    /// Titles of labels that are not allowed.
    pub excluded_labels: Vec<String>,
    /// The title of a milestone.
    pub milestone: Requirement<String>,
    pub author: Option<PersonRef>,
    pub assignee: Requirement<PersonRef>,
    pub times: TimeBounds,
    /// Words that the title contains, ignoring case.
    pub words: Vec<String>,
    pub sort_key: SortKey,
    pub descending: bool,
    /// Whether the labels are loaded with more than their titles.
    pub with_labels: bool,
}

/// A page of a list.
#[derive(Debug)]
pub struct FilteredPage<T> {
    pub page: Page<T>,
    /// The labels of all items of the page, if they were asked for.
    pub labels: Option<Vec<AttachedLabel>>,
}

impl<T> FilteredPage<T> {
    /// Returns a page of a list that has no items.
    pub(crate) fn empty(request: PageRequest) -> Self {
        Self { page: Page::with_total(Vec::new(), request, 0), labels: None }
    }
}

impl Default for CommonFilter {
    fn default() -> Self {
        Self {
            iids: Vec::new(),
            labels: Requirement::Nothing,
            excluded_labels: Vec::new(),
            milestone: Requirement::Nothing,
            author: None,
            assignee: Requirement::Nothing,
            times: TimeBounds::default(),
            words: Vec::new(),
            sort_key: SortKey::CreatedAt,
            descending: true,
            with_labels: false,
        }
    }
}

/// The people that a filter names.
pub(crate) struct FilteredPeople {
    pub author: Option<UserId>,
    /// The assignee. Null means that there is none.
    pub assignee: Field<UserId>,
    /// Whether there must be an assignee, whoever it is.
    pub has_assignee: bool,
}

impl FilteredPeople {
    /// Returns the error of a list of all projects that is limited to nobody.
    pub fn missing() -> Error {
        Error::Rejected("A list of all projects needs an author or an assignee".into())
    }
}

impl CommonFilter {
    /// Finds the people of the filter. Returns None if one of them does not exist, so that nothing fulfills the filter.
    /// The caller has authorized the actor.
    pub(crate) async fn find_people(
        &self,
        connection: &mut Connection,
        actor: &Actor,
    ) -> Result<Option<FilteredPeople>> {
        let author = match &self.author {
            None => None,
            Some(person) => match find_person(connection, actor, person).await? {
                None => return Ok(None),
                found => found,
            },
        };
        let assignee = match &self.assignee {
            Requirement::Nothing | Requirement::Present => Field::Absent,
            Requirement::Missing => Field::Null,
            Requirement::Value(person) => match find_person(connection, actor, person).await? {
                None => return Ok(None),
                Some(found) => Field::Value(found),
            },
        };
        Ok(Some(FilteredPeople { author, assignee, has_assignee: self.assignee == Requirement::Present }))
    }
}

async fn find_person(connection: &mut Connection, actor: &Actor, person: &PersonRef) -> Result<Option<UserId>> {
    match person {
        PersonRef::CurrentUser => Ok(Some(actor.current_user()?.account.id())),
        PersonRef::Id(id) => Ok(Some(*id)),
        PersonRef::Username(name) => Ok(user::find_by_username(connection, name).await?.map(|user| user.id)),
    }
}
