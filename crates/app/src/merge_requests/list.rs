//! Lists of merge requests.

use std::cmp::Reverse;

use holdfast_domain::Field;
use holdfast_domain::ids::{MergeRequestId, MilestoneId};
use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{GroupAction, InstanceAction, ProjectAction};
use holdfast_git::ObjectId;
use holdfast_store::Connection;
use holdfast_store::merge_requests::commit::{self, CommitRequest};
use holdfast_store::merge_requests::list::{self, Conditions, Filter, RequestScope};
use holdfast_store::merge_requests::merge_request;
use holdfast_store::planning::label::{self, LabeledTargets};
use holdfast_store::planning::milestone;

pub use holdfast_store::planning::issue_list::SortKey;

use super::merge_request::MergeRequest;
use crate::planning::list_filter::{CommonFilter, FilteredPage, FilteredPeople, ListPlace, Requirement};
use crate::projects::list::viewer;
use crate::projects::project::ProjectRef;
use crate::repository::browse::revision;
use crate::repository::open_repository::open_repository;
use crate::repository::refs::containing_merges;
use crate::{Actor, App, Error, Resource, Result, access};

/// The merge requests that a client asks for.
#[derive(Clone, Debug)]
pub struct ListMergeRequests {
    /// The states that are listed.
    pub states: Vec<MergeRequestState>,
    /// Only those with these numbers. All if empty.
    pub iids: Vec<i64>,
    pub sort_key: SortKey,
    pub descending: bool,
}

#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: ListMergeRequests,
    page: PageRequest,
) -> Result<Page<MergeRequest>> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ReadMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let scope = RequestScope::Project(project.id);
    let filter = Filter {
        iids: input.iids,
        sort_key: input.sort_key,
        descending: input.descending,
        ..Filter::new(scope, viewer(app, actor), input.states)
    };
    Ok(list::list(&mut connection, &filter, page).await?)
}

/// Lists the merge requests of a milestone, newest first.
#[crate::boxed]
pub async fn list_for_milestone(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    milestone: MilestoneId,
    page: PageRequest,
) -> Result<Page<MergeRequest>> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ReadMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let found = milestone::find(&mut connection, project.id, milestone).await?;
    found.ok_or(Error::NotFound(Resource::Record))?;
    let scope = RequestScope::Project(project.id);
    let filter = Filter {
        milestone: Some(milestone),
        ..Filter::new(scope, viewer(app, actor), MergeRequestState::ALL.to_vec())
    };
    Ok(list::list(&mut connection, &filter, page).await?)
}

/// How merge requests concern the current user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnRelation {
    Author,
    Assignee,
}

/// Lists the merge requests in some states that concern the current user, in all projects, newest first.
#[crate::boxed]
pub async fn list_own(
    app: &App,
    actor: &Actor,
    relation: OwnRelation,
    states: Vec<MergeRequestState>,
    page: PageRequest,
) -> Result<Page<MergeRequest>> {
    access::authorize_instance(actor, InstanceAction::ListIssues)?;
    let user = actor.current_user()?.account.id();
    let scope = match relation {
        OwnRelation::Author => RequestScope::Author(user),
        OwnRelation::Assignee => RequestScope::Assignee(user),
    };
    let filter = Filter::new(scope, viewer(app, actor), states);
    Ok(list::list(&mut *app.database.connection().await?, &filter, page).await?)
}

/// Counts the open merge requests that are assigned to the current user.
pub(crate) async fn count_assigned(app: &App, connection: &mut Connection, actor: &Actor) -> Result<i64> {
    let assignee = actor.current_user()?.account.id();
    let open = MergeRequestState::OPEN.to_vec();
    let filter = Filter::new(RequestScope::Assignee(assignee), viewer(app, actor), open);
    Ok(list::count(connection, &filter).await?)
}

/// Maximum number of merge requests that are found by the same head, or by merge commits. Arbitrary.
const MAX_OF_COMMIT: i64 = 500;

/// Lists the merge requests of a project that a commit belongs to, newest first: those whose head it is, those whose
/// merge commit it is, and those whose merge brought it into the default branch. The list is empty if the actor may read
/// the commit, but no merge requests.
#[crate::boxed]
pub async fn list_for_commit(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    page: PageRequest,
) -> Result<Page<MergeRequest>> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let commit = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let can_read = access::is_authorized(actor, &repository.project, ProjectAction::ReadMergeRequests);
    let Some(viewer) = actor.user_id().filter(|_| can_read) else {
        return Ok(Page::with_total(Vec::new(), page, 0));
    };
    let mut merges = containing_merges::list(app, &repository, commit).await?;
    merges.push(commit);
    let project = repository.project.id;
    let mut connection = app.database.connection().await?;
    let found = commit::list(&mut connection, project, commit, &merges, MAX_OF_COMMIT).await?;
    // Git may have to wait for its turn, and then no connection is held.
    drop(connection);
    let later: Vec<ObjectId> = found.iter().filter_map(|it| it.merge_commit).filter(|id| *id != commit).collect();
    let introducing = containing_merges::find_introducing(app, &repository, commit, later).await?;
    let is_listed =
        |it: &&CommitRequest| it.merge_commit.is_none_or(|merge| merge == commit || introducing.contains(&merge));
    let mut ids: Vec<MergeRequestId> = found.iter().filter(is_listed).map(|it| it.id).collect();
    ids.sort_unstable_by_key(|id| Reverse(id.get()));
    ids.dedup();
    let mut connection = app.database.connection().await?;
    let mut requests = merge_request::find_many(&mut connection, &ids[page.range(ids.len())], viewer).await?;
    requests.sort_unstable_by_key(|request| Reverse(request.id.get()));
    Ok(Page::with_total(requests, page, ids.len()))
}

/// A filter of merge requests that works for all places.
#[derive(Clone, Debug)]
pub struct MergeRequestFilter {
    pub common: CommonFilter,
    /// The states that are listed.
    pub states: Vec<MergeRequestState>,
    pub source_branch: Option<String>,
    pub target_branch: Option<String>,
    /// Whether the title marks it as a draft.
    pub draft: Option<bool>,
    /// Whether there must be a reviewer. No merge request has one, so that the list is empty then.
    pub has_reviewer: bool,
}

/// Lists the merge requests of a place that fulfill a filter and that the current user can read. With several labels, a
/// merge request must have all of them.
#[crate::boxed]
pub async fn list_filtered(
    app: &App,
    actor: &Actor,
    place: ListPlace,
    filter: MergeRequestFilter,
    page: PageRequest,
) -> Result<Page<MergeRequest>> {
    Ok(list_with_labels(app, actor, place, filter, page).await?.page)
}

/// Like [`list_filtered`], but also returns the labels of the merge requests if the filter asks for them.
#[crate::boxed]
pub async fn list_with_labels(
    app: &App,
    actor: &Actor,
    place: ListPlace,
    filter: MergeRequestFilter,
    page: PageRequest,
) -> Result<FilteredPage<MergeRequest>> {
    let mut connection = app.database.connection().await?;
    let scope = match place {
        ListPlace::Project(project) => {
            let action = ProjectAction::ReadMergeRequests;
            let project = access::authorize_project(app, &mut connection, actor, &project, action).await?;
            Some(RequestScope::Project(project.id))
        }
        ListPlace::Group(group) => {
            let action = GroupAction::ReadMergeRequests;
            Some(RequestScope::Group(access::authorize_group(app, &mut connection, actor, &group, action).await?.id))
        }
        ListPlace::Everywhere => {
            access::authorize_instance(actor, InstanceAction::ListIssues)?;
            None
        }
    };
    let common = filter.common;
    let people = common.find_people(&mut connection, actor).await?;
    let (Some(people), false) = (people, filter.has_reviewer) else {
        return Ok(FilteredPage::empty(page));
    };
    let scope = match (scope, people.author, people.assignee) {
        (Some(scope), _, _) => scope,
        (None, Some(author), _) => RequestScope::Author(author),
        (None, None, Field::Value(assignee)) => RequestScope::Assignee(assignee),
        (None, None, Field::Absent | Field::Null) => return Err(FilteredPeople::missing()),
    };
    let conditions = Conditions {
        assignee: people.assignee,
        has_assignee: people.has_assignee,
        author: people.author,
        has_label: common.labels == Requirement::Present,
        has_no_label: common.labels == Requirement::Missing,
        labels: if let Requirement::Value(titles) = common.labels { titles } else { Vec::new() },
        excluded_labels: common.excluded_labels,
        has_milestone: common.milestone == Requirement::Present,
        has_no_milestone: common.milestone == Requirement::Missing,
        milestone_title: if let Requirement::Value(title) = common.milestone { Some(title) } else { None },
        source_branch: filter.source_branch,
        target_branch: filter.target_branch,
        draft: filter.draft,
        times: common.times,
        words: common.words,
    };
    let filter = Filter {
        scope,
        viewer: viewer(app, actor),
        states: filter.states,
        iids: common.iids,
        milestone: None,
        conditions,
        sort_key: common.sort_key,
        descending: common.descending,
    };
    let page = list::list(&mut connection, &filter, page).await?;
    let ids: Vec<i64> = page.items.iter().map(|request| request.id.get()).collect();
    let labels = match common.with_labels {
        true => Some(label::list_attached(&mut connection, LabeledTargets::MergeRequests(&ids)).await?),
        false => None,
    };
    Ok(FilteredPage { page, labels })
}
