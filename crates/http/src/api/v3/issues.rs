use axum::http::Method;
use chrono::{DateTime, NaiveDate, Utc};
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::planning::issue;
use holdfast_app::planning::issue_change::IssueChanges;
use holdfast_app::planning::issue_list::{self, Key, ListIssues};
use holdfast_app::planning::relocation;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::Field;
use holdfast_domain::ids::{IssueId, MilestoneId, ProjectId, UserId};
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::GroupAction::ReadIssues as ReadGroupIssues;
use holdfast_domain::policy::InstanceAction::ListIssues as ListOwnIssues;
use holdfast_domain::policy::ProjectAction::{CreateIssue, DeleteIssue, ReadIssues};

use super::ApiResult;
use super::project_lists::Sort;
use crate::answer::{Body, BodyIfChanged, Created, CreatedIfChanged, Listed};
use crate::error::ApiError;
use crate::params::Titles;
use crate::present::issue::{IssueBody, issue as present};
use crate::{Access, Cx, Routes, choice, params};

choice! {
    enum State { Opened = "opened", Closed = "closed", All = "all" }
}

choice! {
    enum OrderBy { CreatedAt = "created_at", UpdatedAt = "updated_at" }
}

params! {
    /// What all lists of issues have in common.
    struct IssueFilter {
        optional state: State,
        /// Their names, separated by commas.
        optional labels: Titles,
        /// The title of a milestone.
        optional milestone: String,
        optional order_by: OrderBy,
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
            key: match self.order_by.unwrap_or(OrderBy::CreatedAt) {
                OrderBy::CreatedAt => Key::CreatedAt,
                OrderBy::UpdatedAt => Key::UpdatedAt,
            },
            descending: self.sort != Some(Sort::Ascending),
            ..ListIssues::default()
        }
    }
}

params! {
    struct OwnIssues {
        including filter: IssueFilter,
    }
}

async fn list_own(cx: Cx, params: OwnIssues) -> ApiResult<Listed<IssueBody>> {
    let page = issue_list::list_own(cx.app(), &cx.actor, params.filter.into_input(), cx.page).await?;
    Ok(Listed(page.map(|issue| present(issue, cx.site()))))
}

params! {
    struct GroupIssues {
        /// Number or path.
        required id: GroupRef,
        including filter: IssueFilter,
    }
}

async fn list_of_group(cx: Cx, params: GroupIssues) -> ApiResult<Listed<IssueBody>> {
    let input = params.filter.into_input();
    let page = issue_list::list_of_group(cx.app(), &cx.actor, &params.id, input, cx.page).await?;
    Ok(Listed(page.map(|issue| present(issue, cx.site()))))
}

params! {
    struct ProjectIssues {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        including filter: IssueFilter,
        /// The number in the project.
        optional iid: i64,
    }
}

async fn list(cx: Cx, params: ProjectIssues) -> ApiResult<Listed<IssueBody>> {
    let input = ListIssues { iid: params.iid, ..params.filter.into_input() };
    let page = issue_list::list(cx.app(), &cx.actor, &params.id, input, cx.page).await?;
    Ok(Listed(page.map(|issue| present(issue, cx.site()))))
}

params! {
    pub struct OneIssue {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required issue_id: IssueId,
    }
}

async fn show(cx: Cx, params: OneIssue) -> ApiResult<Body<IssueBody>> {
    let issue = issue::show(cx.app(), &cx.actor, &params.id, params.issue_id).await?;
    Ok(Body(present(issue, cx.site())))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        changed description: String,
        /// 0 for nobody. For reporters and above, as the next two.
        changed assignee_id: i64,
        /// 0 for none.
        changed milestone_id: i64,
        /// All of them by name, separated by commas; unknown ones are made.
        changed labels: Titles,
        changed due_date: NaiveDate,
        optional confidential: bool,
    }
}

impl Attributes {
    fn into_changes(self) -> IssueChanges {
        IssueChanges {
            description: self.description,
            assignee: or_nobody(self.assignee_id, UserId::from),
            milestone: or_nobody(self.milestone_id, MilestoneId::from),
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

/// 0 and null both mean nobody.
fn or_nobody<Id>(id: Field<i64>, from: fn(i64) -> Id) -> Field<Id> {
    match id {
        Field::Absent => Field::Absent,
        Field::Null | Field::Value(0) => Field::Null,
        Field::Value(id) => Field::Value(from(id)),
    }
}

params! {
    struct CreateIssueParams {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required title: String,
        including attributes: Attributes,
        /// When it was written, for who owns the project; others are not asked.
        optional created_at: DateTime<Utc>,
    }
}

async fn create(cx: Cx, params: CreateIssueParams) -> ApiResult<Created<IssueBody>> {
    let changes = IssueChanges { title: Some(params.title), at: params.created_at, ..params.attributes.into_changes() };
    let issue = issue::create(cx.app(), &cx.actor, &params.id, changes).await?;
    Ok(Created(present(issue, cx.site())))
}

choice! {
    enum Transition { Close = "close", Reopen = "reopen" }
}

params! {
    struct UpdateIssue {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required issue_id: IssueId,
        optional title: String,
        including attributes: Attributes,
        optional state_event: Transition,
        /// When it was changed, for who owns the project; others are not asked.
        optional updated_at: DateTime<Utc>,
    }
}

async fn update(cx: Cx, params: UpdateIssue) -> ApiResult<Body<IssueBody>> {
    let changes = IssueChanges {
        title: params.title,
        state_event: params.state_event.map(|event| match event {
            Transition::Close => StateEvent::Close,
            Transition::Reopen => StateEvent::Reopen,
        }),
        at: params.updated_at,
        ..params.attributes.into_changes()
    };
    if (IssueChanges { at: None, ..changes.clone() }) == IssueChanges::default() {
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
        return Err(ApiError::at_least_one(&names));
    }
    let issue = issue::update(cx.app(), &cx.actor, &params.id, params.issue_id, changes).await?;
    Ok(Body(present(issue, cx.site())))
}

async fn delete(cx: Cx, params: OneIssue) -> ApiResult<Body<IssueBody>> {
    let issue = issue::delete(cx.app(), &cx.actor, &params.id, params.issue_id).await?;
    Ok(Body(present(issue, cx.site())))
}

params! {
    struct MoveIssue {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required issue_id: IssueId,
        required to_project_id: ProjectId,
    }
}

async fn relocate(cx: Cx, params: MoveIssue) -> ApiResult<Created<IssueBody>> {
    let issue = relocation::relocate(cx.app(), &cx.actor, &params.id, params.issue_id, params.to_project_id).await?;
    Ok(Created(present(issue, cx.site())))
}

async fn subscribe(cx: Cx, params: OneIssue) -> ApiResult<CreatedIfChanged<IssueBody>> {
    let issue = issue::set_subscribed(cx.app(), &cx.actor, &params.id, params.issue_id, true).await?;
    Ok(CreatedIfChanged(issue.map(|issue| present(issue, cx.site()))))
}

async fn unsubscribe(cx: Cx, params: OneIssue) -> ApiResult<BodyIfChanged<IssueBody>> {
    let issue = issue::set_subscribed(cx.app(), &cx.actor, &params.id, params.issue_id, false).await?;
    Ok(BodyIfChanged(issue.map(|issue| present(issue, cx.site()))))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/issues";
    const ONE: &str = "/projects/:id/issues/:issue_id";
    const MOVE: &str = "/projects/:id/issues/:issue_id/move";
    const SUBSCRIPTION: &str = "/projects/:id/issues/:issue_id/subscription";
    let (read, write) = (Access::Project(ReadIssues), Access::Project(CreateIssue));
    let of_group = Access::Group(ReadGroupIssues);
    routes.add(Method::GET, "/issues", Access::Instance(ListOwnIssues), "Lists what the caller wrote", list_own);
    routes.add(Method::GET, "/groups/:id/issues", of_group, "Lists the issues of a group's projects", list_of_group);
    routes.add(Method::GET, PATH, read, "Lists a project's issues", list);
    routes.add(Method::GET, ONE, read, "Shows an issue", show);
    routes.add(Method::POST, PATH, write, "Creates an issue", create);
    routes.add(Method::PUT, ONE, write, "Changes an issue, closes or reopens it", update);
    routes.add(Method::DELETE, ONE, Access::Project(DeleteIssue), "Deletes an issue", delete);
    routes.add(Method::POST, MOVE, read, "Moves an issue into another project", relocate);
    routes.add(Method::POST, SUBSCRIPTION, write, "Subscribes to an issue; 304 if the caller has", subscribe);
    routes.add(Method::DELETE, SUBSCRIPTION, write, "Ends a subscription; 304 if there is none", unsubscribe);
}
