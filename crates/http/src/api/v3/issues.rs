use axum::http::Method;
use chrono::{DateTime, NaiveDate, Utc};
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::planning::issue;
use holdfast_app::planning::issue_list::{self, ListIssues, SortKey};
use holdfast_app::planning::issue_move;
use holdfast_app::planning::issue_update::IssueChanges;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::Field;
use holdfast_domain::ids::{IssueId, MilestoneId, ProjectId, UserId};
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::GroupAction::ReadIssues as ReadGroupIssues;
use holdfast_domain::policy::InstanceAction::ListIssues as ListOwnIssues;
use holdfast_domain::policy::ProjectAction::{CreateIssue, DeleteIssue, ReadIssues};

use super::ApiResult;
use super::project_lists::Sort;
use crate::error::ApiError;
use crate::params::LabelTitles;
use crate::present::issue::{IssueBody, present_issue};
use crate::response::{Body, BodyIfChanged, Created, CreatedIfChanged, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    enum State { Opened = "opened", Closed = "closed", All = "all" }
}

choice! {
    enum OrderBy { CreatedAt = "created_at", UpdatedAt = "updated_at" }
}

params! {
    /// What all lists of issues have in common.
    struct IssueFilter {
        /// Only issues in this state, `all` by default.
        optional state: State,
        /// Label names, separated by commas. In the list of a project one of them is enough, in other lists all must
        /// match.
        optional labels: LabelTitles,
        /// Only issues of the milestone with this title.
        optional milestone: String,
        /// Sort key, `created_at` by default.
        optional order_by: OrderBy,
        /// Sort direction, `desc` by default.
        optional sort: Sort,
    }
}

impl IssueFilter {
    fn into_input(self) -> ListIssues {
        ListIssues {
            closed: match self.state.unwrap_or(State::All) {
                State::Opened => Some(false),
                State::Closed => Some(true),
                State::All => None,
            },
            labels: self.labels.map(|titles| titles.0).unwrap_or_default(),
            milestone_title: self.milestone.filter(|title| !title.is_empty()),
            sort_key: match self.order_by.unwrap_or(OrderBy::CreatedAt) {
                OrderBy::CreatedAt => SortKey::CreatedAt,
                OrderBy::UpdatedAt => SortKey::UpdatedAt,
            },
            descending: self.sort != Some(Sort::Ascending),
            ..ListIssues::default()
        }
    }
}

params! {
    struct OwnIssues {
        flatten filter: IssueFilter,
    }
}

async fn list_own(context: RequestContext, params: OwnIssues) -> ApiResult<PageBody<IssueBody>> {
    let page = issue_list::list_own(context.app(), &context.actor, params.filter.into_input(), context.page).await?;
    Ok(PageBody(page.map(|issue| present_issue(issue, context.site()))))
}

params! {
    struct GroupIssues {
        required id: GroupRef,
        flatten filter: IssueFilter,
    }
}

async fn list_for_group(context: RequestContext, params: GroupIssues) -> ApiResult<PageBody<IssueBody>> {
    let input = params.filter.into_input();
    let page = issue_list::list_for_group(context.app(), &context.actor, &params.id, input, context.page).await?;
    Ok(PageBody(page.map(|issue| present_issue(issue, context.site()))))
}

params! {
    struct ProjectIssues {
        required id: ProjectRef,
        flatten filter: IssueFilter,
        /// Only the issue with this number within the project.
        optional iid: i64,
    }
}

async fn list(context: RequestContext, params: ProjectIssues) -> ApiResult<PageBody<IssueBody>> {
    let input = ListIssues { iids: params.iid.into_iter().collect(), ..params.filter.into_input() };
    let page = issue_list::list(context.app(), &context.actor, &params.id, input, context.page).await?;
    Ok(PageBody(page.map(|issue| present_issue(issue, context.site()))))
}

params! {
    pub struct OneIssue {
        required id: ProjectRef,
        /// Id of the issue, not its `iid`.
        required issue_id: IssueId,
    }
}

async fn show(context: RequestContext, params: OneIssue) -> ApiResult<Body<IssueBody>> {
    let issue = issue::show(context.app(), &context.actor, &params.id, params.issue_id).await?;
    Ok(Body(present_issue(issue, context.site())))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        nullable description: String,
        /// Id of the assignee, 0 for none. Ignored unless the current user is at least a reporter.
        nullable assignee_id: i64,
        /// Id of the milestone, 0 for none. Ignored unless the current user is at least a reporter.
        nullable milestone_id: i64,
        /// All labels of the issue, as names separated by commas. Unknown labels are created. Ignored unless the
        /// current user is at least a reporter.
        nullable labels: LabelTitles,
        nullable due_date: NaiveDate,
        /// Whether the issue is confidential.
        optional confidential: bool,
    }
}

impl Attributes {
    fn into_changes(self) -> IssueChanges {
        IssueChanges {
            description: self.description,
            assignee: zero_as_null(self.assignee_id, UserId::from),
            milestone: zero_as_null(self.milestone_id, MilestoneId::from),
            labels: match self.labels {
                Field::Absent => None,
                Field::Null => Some(Vec::new()),
                Field::Value(titles) => Some(titles.0),
            },
            due_date: self.due_date,
            confidential: self.confidential,
            ..IssueChanges::default()
        }
    }
}

/// Converts an id for which 0 means null.
pub(super) fn zero_as_null<Id>(id: Field<i64>, from: fn(i64) -> Id) -> Field<Id> {
    match id {
        Field::Absent => Field::Absent,
        Field::Null | Field::Value(0) => Field::Null,
        Field::Value(id) => Field::Value(from(id)),
    }
}

params! {
    struct CreateIssueParams {
        required id: ProjectRef,
        required title: String,
        flatten attributes: Attributes,
        /// Time of creation. Ignored unless the current user is an owner of the project.
        optional created_at: DateTime<Utc>,
    }
}

async fn create(context: RequestContext, params: CreateIssueParams) -> ApiResult<Created<IssueBody>> {
    let changes =
        IssueChanges { title: Some(params.title), requested_at: params.created_at, ..params.attributes.into_changes() };
    let issue = issue::create(context.app(), &context.actor, &params.id, changes).await?;
    Ok(Created(present_issue(issue, context.site())))
}

choice! {
    enum Transition { Close = "close", Reopen = "reopen" }
}

params! {
    struct UpdateIssue {
        required id: ProjectRef,
        /// Id of the issue, not its `iid`.
        required issue_id: IssueId,
        optional title: String,
        flatten attributes: Attributes,
        /// Closes or reopens the issue.
        optional state_event: Transition,
        /// Time of the update. Ignored unless the current user is an owner of the project.
        optional updated_at: DateTime<Utc>,
    }
}

async fn update(context: RequestContext, params: UpdateIssue) -> ApiResult<Body<IssueBody>> {
    let changes = IssueChanges {
        title: params.title,
        state_event: params.state_event.map(|event| match event {
            Transition::Close => StateEvent::Close,
            Transition::Reopen => StateEvent::Reopen,
        }),
        requested_at: params.updated_at,
        ..params.attributes.into_changes()
    };
    if (IssueChanges { requested_at: None, ..changes.clone() }) == IssueChanges::default() {
        let names = [
            "title",
            "description",
            "assignee_id",
            "milestone_id",
            "labels",
            "due_date",
            "confidential",
            "state_event",
        ];
        return Err(ApiError::at_least_one_required(&names));
    }
    let issue = issue::update(context.app(), &context.actor, &params.id, params.issue_id, changes).await?;
    Ok(Body(present_issue(issue, context.site())))
}

async fn delete(context: RequestContext, params: OneIssue) -> ApiResult<Body<IssueBody>> {
    let issue = issue::delete(context.app(), &context.actor, &params.id, params.issue_id).await?;
    Ok(Body(present_issue(issue, context.site())))
}

params! {
    struct MoveIssue {
        required id: ProjectRef,
        /// Id of the issue, not its `iid`.
        required issue_id: IssueId,
        /// Id of the project to move the issue to.
        required to_project_id: ProjectId,
    }
}

async fn move_issue(context: RequestContext, params: MoveIssue) -> ApiResult<Created<IssueBody>> {
    let issue =
        issue_move::move_issue(context.app(), &context.actor, &params.id, params.issue_id, params.to_project_id)
            .await?;
    Ok(Created(present_issue(issue, context.site())))
}

async fn subscribe(context: RequestContext, params: OneIssue) -> ApiResult<CreatedIfChanged<IssueBody>> {
    let issue = issue::set_subscribed(context.app(), &context.actor, &params.id, params.issue_id, true).await?;
    Ok(CreatedIfChanged(issue.map(|issue| present_issue(issue, context.site()))))
}

async fn unsubscribe(context: RequestContext, params: OneIssue) -> ApiResult<BodyIfChanged<IssueBody>> {
    let issue = issue::set_subscribed(context.app(), &context.actor, &params.id, params.issue_id, false).await?;
    Ok(BodyIfChanged(issue.map(|issue| present_issue(issue, context.site()))))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/issues";
    const ONE: &str = "/projects/:id/issues/:issue_id";
    const MOVE: &str = "/projects/:id/issues/:issue_id/move";
    const SUBSCRIPTION: &str = "/projects/:id/issues/:issue_id/subscription";
    let (read, write) = (Access::Project(ReadIssues), Access::Project(CreateIssue));
    let read_group = Access::Group(ReadGroupIssues);
    routes.add(
        Method::GET,
        "/issues",
        Access::Instance(ListOwnIssues),
        "List the issues created by the current user",
        list_own,
    );
    routes.add(Method::GET, "/groups/:id/issues", read_group, "List the issues of a group", list_for_group);
    routes.add(Method::GET, PATH, read, "List the issues of a project", list);
    routes.add(Method::GET, ONE, read, "Get an issue", show);
    routes.add(Method::POST, PATH, write, "Create an issue", create);
    routes.add(Method::PUT, ONE, write, "Update, close or reopen an issue", update);
    routes.add(Method::DELETE, ONE, Access::Project(DeleteIssue), "Delete an issue", delete);
    routes.add(Method::POST, MOVE, read, "Move an issue to another project", move_issue);
    routes.add(Method::POST, SUBSCRIPTION, write, "Subscribe to an issue", subscribe);
    routes.add(Method::DELETE, SUBSCRIPTION, write, "Unsubscribe from an issue", unsubscribe);
}
