pub mod attributes;
pub mod list_params;

use axum::http::Method;
use chrono::{DateTime, Days, NaiveDate, Utc};
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::planning::issue;
use holdfast_app::planning::issue_list::{self, IssueFilter};
use holdfast_app::planning::issue_move;
use holdfast_app::planning::issue_update::IssueChanges;
use holdfast_app::planning::list_filter::ListPlace;
use holdfast_app::planning::note::{self, NoteTarget};
use holdfast_app::planning::todo;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{IssueId, MilestoneId, ProjectId};
use holdfast_domain::planning::{DueFilter, StateEvent};
use holdfast_domain::policy::GroupAction::ReadIssues as ReadGroupIssues;
use holdfast_domain::policy::InstanceAction::ListIssues as ListOwnIssues;
use holdfast_domain::policy::ProjectAction::{CreateIssue, DeleteIssue, ReadIssues};

use super::ApiResult;
use crate::error::ApiError;
use crate::params::LabelTitles;
use crate::present::v4::issue::{ProjectIssue, SingleIssue, present_issue, present_single_issue};
use crate::present::v4::label::present_attached;
use crate::present::v4::todo::{TodoDetail, present_todo};
use crate::present::v4::user::{UserBasic, present_basic as present_user};
use crate::response::{Body, Created, CreatedIfChanged, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

use attributes::{LabelEditParams, UserIds, read_assignee, read_labels, zero_as_null};
use list_params::CommonParams;

choice! {
    enum State { Opened = "opened", Closed = "closed", All = "all" }
}

choice! {
    enum DueDate { Missing = "0", Overdue = "overdue", Today = "today", Tomorrow = "tomorrow" }
}

choice! {
    enum IssueType { Issue = "issue" }
}

params! {
    /// What all lists of issues have in common.
    struct FilterParams {
        flatten common: CommonParams,
        /// Only issues in this state, `all` by default.
        optional state: State,
        /// Only confidential issues, or only others.
        optional confidential: bool,
        /// Only issues with this due date. `0` finds those without one.
        optional due_date: DueDate,
        /// All issues are of this type.
        optional issue_type: IssueType,
    }
}

async fn list_in(context: RequestContext, place: ListPlace, params: FilterParams) -> ApiResult<PageBody<ProjectIssue>> {
    let today = context.app().today();
    let filter = IssueFilter {
        common: params.common.into_filter(&place)?,
        closed: match params.state.unwrap_or(State::All) {
            State::Opened => Some(false),
            State::Closed => Some(true),
            State::All => None,
        },
        confidential: params.confidential,
        due: params.due_date.map(|due| match due {
            DueDate::Missing => DueFilter::Missing,
            DueDate::Overdue => DueFilter::Before(today),
            DueDate::Today => DueFilter::On(today),
            DueDate::Tomorrow => DueFilter::On(today.checked_add_days(Days::new(1)).unwrap_or(today)),
        }),
    };
    let found = issue_list::list_with_labels(context.app(), &context.actor, place, filter, context.page).await?;
    Ok(PageBody(found.page.map(|issue| {
        let mut body = present_issue(issue, today, context.site());
        if let Some(labels) = &found.labels {
            body.labels = present_attached(labels, body.id);
        }
        body
    })))
}

async fn list_everywhere(context: RequestContext, params: FilterParams) -> ApiResult<PageBody<ProjectIssue>> {
    list_in(context, ListPlace::Everywhere, params).await
}

params! {
    struct GroupIssues {
        required id: GroupRef,
        flatten filter: FilterParams,
    }
}

async fn list_for_group(context: RequestContext, params: GroupIssues) -> ApiResult<PageBody<ProjectIssue>> {
    list_in(context, ListPlace::Group(params.id), params.filter).await
}

params! {
    struct ProjectIssues {
        required id: ProjectRef,
        flatten filter: FilterParams,
    }
}

async fn list(context: RequestContext, params: ProjectIssues) -> ApiResult<PageBody<ProjectIssue>> {
    list_in(context, ListPlace::Project(params.id), params.filter).await
}

params! {
    pub struct OneIssue {
        required id: ProjectRef,
        /// Number of the issue within its project.
        required issue_iid: i64,
    }
}

impl OneIssue {
    pub async fn find_id(&self, context: &RequestContext) -> ApiResult<IssueId> {
        context.issue_id(&self.id, self.issue_iid).await
    }

    pub async fn find_target(&self, context: &RequestContext) -> ApiResult<NoteTarget> {
        Ok(NoteTarget::Issue(self.find_id(context).await?))
    }
}

fn present_single(context: &RequestContext, issue: issue::Issue) -> SingleIssue {
    present_single_issue(issue, context.app().today(), context.site())
}

async fn show(context: RequestContext, params: OneIssue) -> ApiResult<Body<SingleIssue>> {
    let issue = params.find_id(&context).await?;
    let issue = issue::show(context.app(), &context.actor, &params.id, issue).await?;
    Ok(Body(present_single(&context, issue)))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        nullable description: String,
        /// Id of the assignee, of whom there can be one. An empty list or 0 removes the assignee. Ignored unless the
        /// current user is at least a reporter.
        nullable assignee_ids: UserIds,
        /// Id of the assignee, 0 for none. Ignored if `assignee_ids` is given.
        nullable assignee_id: i64,
        /// Id of the milestone, 0 for none. Ignored unless the current user is at least a reporter.
        nullable milestone_id: i64,
        /// All labels of the issue, as names separated by commas. Unknown labels are created. Ignored unless the
        /// current user is at least a reporter.
        nullable labels: LabelTitles,
        nullable due_date: NaiveDate,
        /// Whether the issue is confidential.
        optional confidential: bool,
        /// All issues are of this type.
        optional issue_type: IssueType,
    }
}

impl Attributes {
    fn into_changes(self) -> ApiResult<IssueChanges> {
        Ok(IssueChanges {
            description: self.description,
            assignee: read_assignee(self.assignee_ids, self.assignee_id)?,
            milestone: zero_as_null(self.milestone_id, MilestoneId::from),
            labels: read_labels(self.labels),
            due_date: self.due_date,
            confidential: self.confidential,
            ..IssueChanges::default()
        })
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

async fn create(context: RequestContext, params: CreateIssueParams) -> ApiResult<Created<SingleIssue>> {
    let changes = IssueChanges {
        title: Some(params.title),
        requested_at: params.created_at,
        ..params.attributes.into_changes()?
    };
    let issue = issue::create(context.app(), &context.actor, &params.id, changes).await?;
    Ok(Created(present_single(&context, issue)))
}

choice! {
    enum Transition { Close = "close", Reopen = "reopen" }
}

params! {
    struct UpdateIssue {
        flatten issue: OneIssue,
        optional title: String,
        flatten attributes: Attributes,
        flatten label_edit: LabelEditParams,
        /// Closes or reopens the issue.
        optional state_event: Transition,
        /// Time of the update. Ignored unless the current user is an owner of the project.
        optional updated_at: DateTime<Utc>,
    }
}

async fn update(context: RequestContext, params: UpdateIssue) -> ApiResult<Body<SingleIssue>> {
    let changes = IssueChanges {
        title: params.title,
        label_edit: params.label_edit.into_edit(),
        state_event: params.state_event.map(|event| match event {
            Transition::Close => StateEvent::Close,
            Transition::Reopen => StateEvent::Reopen,
        }),
        requested_at: params.updated_at,
        ..params.attributes.into_changes()?
    };
    if (IssueChanges { requested_at: None, ..changes.clone() }) == IssueChanges::default() {
        let names = [
            "title",
            "description",
            "assignee_ids",
            "assignee_id",
            "milestone_id",
            "labels",
            "add_labels",
            "remove_labels",
            "due_date",
            "confidential",
            "state_event",
        ];
        return Err(ApiError::at_least_one_required(&names));
    }
    let issue = params.issue.find_id(&context).await?;
    let issue = issue::update(context.app(), &context.actor, &params.issue.id, issue, changes).await?;
    Ok(Body(present_single(&context, issue)))
}

async fn delete(context: RequestContext, params: OneIssue) -> ApiResult<NoContent> {
    let issue = params.find_id(&context).await?;
    issue::delete(context.app(), &context.actor, &params.id, issue).await?;
    Ok(NoContent)
}

params! {
    struct MoveIssue {
        flatten issue: OneIssue,
        /// Id of the project to move the issue to.
        required to_project_id: ProjectId,
    }
}

async fn move_issue(context: RequestContext, params: MoveIssue) -> ApiResult<Created<SingleIssue>> {
    let issue = params.issue.find_id(&context).await?;
    let (actor, from, to) = (&context.actor, &params.issue.id, params.to_project_id);
    let issue = issue_move::move_issue(context.app(), actor, from, issue, to).await?;
    Ok(Created(present_single(&context, issue)))
}

async fn subscribe(context: RequestContext, params: OneIssue) -> ApiResult<CreatedIfChanged<SingleIssue>> {
    let issue = params.find_id(&context).await?;
    let changed = issue::set_subscribed(context.app(), &context.actor, &params.id, issue, true).await?;
    Ok(CreatedIfChanged(changed.map(|issue| present_single(&context, issue))))
}

async fn unsubscribe(context: RequestContext, params: OneIssue) -> ApiResult<CreatedIfChanged<SingleIssue>> {
    let issue = params.find_id(&context).await?;
    let changed = issue::set_subscribed(context.app(), &context.actor, &params.id, issue, false).await?;
    Ok(CreatedIfChanged(changed.map(|issue| present_single(&context, issue))))
}

async fn create_todo(context: RequestContext, params: OneIssue) -> ApiResult<CreatedIfChanged<TodoDetail>> {
    let target = params.find_target(&context).await?;
    let created = todo::create(context.app(), &context.actor, &params.id, target).await?;
    Ok(CreatedIfChanged(created.map(|todo| present_todo(todo, context.app().today(), context.site()))))
}

async fn participants(context: RequestContext, params: OneIssue) -> ApiResult<PageBody<UserBasic>> {
    let target = params.find_target(&context).await?;
    let page = note::list_participants(context.app(), &context.actor, &params.id, target, context.page).await?;
    Ok(PageBody(page.map(|user| present_user(&user, context.site()))))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/issues";
    const ONE: &str = "/projects/:id/issues/:issue_iid";
    const MOVE: &str = "/projects/:id/issues/:issue_iid/move";
    const SUBSCRIBE: &str = "/projects/:id/issues/:issue_iid/subscribe";
    const UNSUBSCRIBE: &str = "/projects/:id/issues/:issue_iid/unsubscribe";
    const TODO: &str = "/projects/:id/issues/:issue_iid/todo";
    const PARTICIPANTS: &str = "/projects/:id/issues/:issue_iid/participants";
    let own = Access::Instance(ListOwnIssues);
    let read_group = Access::Group(ReadGroupIssues);
    let (read, write) = (Access::Project(ReadIssues), Access::Project(CreateIssue));
    routes.add(Method::GET, "/issues", own, "List issues of an author or an assignee", list_everywhere);
    routes.add(Method::GET, "/groups/:id/issues", read_group, "List the issues of a group", list_for_group);
    routes.add(Method::GET, PATH, read, "List the issues of a project", list);
    routes.add(Method::GET, ONE, read, "Get an issue", show);
    routes.add(Method::POST, PATH, write, "Create an issue", create);
    routes.add(Method::PUT, ONE, write, "Update, close or reopen an issue", update);
    routes.add(Method::DELETE, ONE, Access::Project(DeleteIssue), "Delete an issue", delete);
    routes.add(Method::POST, MOVE, read, "Move an issue to another project", move_issue);
    routes.add(Method::POST, SUBSCRIBE, write, "Subscribe to an issue", subscribe);
    routes.add(Method::POST, UNSUBSCRIBE, write, "Unsubscribe from an issue", unsubscribe);
    routes.add(Method::POST, TODO, write, "Create a todo for an issue", create_todo);
    routes.add(Method::GET, PARTICIPANTS, read, "List the users who take part in an issue", participants);
}
