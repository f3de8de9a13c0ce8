use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::planning::milestone::{self, Filter, MilestoneChanges, StateEvent};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::MilestoneId;
use holdfast_domain::policy::ProjectAction::{ManageMilestones, ReadIssues, ReadMilestones};

use super::ApiResult;
use crate::error::ApiError;
use crate::present::issue::{IssueBody, present_issue};
use crate::present::milestone::{MilestoneBody, present_milestone};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    enum State { Active = "active", Closed = "closed", All = "all" }
}

params! {
    struct ListMilestones {
        required id: ProjectRef,
        /// Only milestones in this state, `all` by default.
        optional state: State,
        /// Only milestones with these numbers within the project.
        list iid: i64,
    }
}

async fn list(context: RequestContext, params: ListMilestones) -> ApiResult<PageBody<MilestoneBody>> {
    let closed = match params.state.unwrap_or(State::All) {
        State::Active => Some(false),
        State::Closed => Some(true),
        State::All => None,
    };
    let filter = Filter { closed, iids: params.iid, ..Filter::default() };
    let page = milestone::list(context.app(), &context.actor, &params.id, &filter, context.page).await?;
    Ok(PageBody(page.map(present_milestone)))
}

params! {
    struct OneMilestone {
        required id: ProjectRef,
        /// Id of the milestone, not its `iid`.
        required milestone_id: MilestoneId,
    }
}

async fn show(context: RequestContext, params: OneMilestone) -> ApiResult<Body<MilestoneBody>> {
    Ok(Body(present_milestone(milestone::show(context.app(), &context.actor, &params.id, params.milestone_id).await?)))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        nullable description: String,
        nullable start_date: NaiveDate,
        nullable due_date: NaiveDate,
    }
}

impl Attributes {
    fn into_changes(self) -> MilestoneChanges {
        MilestoneChanges {
            description: self.description,
            start_date: self.start_date,
            due_date: self.due_date,
            ..MilestoneChanges::default()
        }
    }
}

params! {
    struct CreateMilestone {
        required id: ProjectRef,
        required title: String,
        flatten attributes: Attributes,
    }
}

async fn create(context: RequestContext, params: CreateMilestone) -> ApiResult<Created<MilestoneBody>> {
    let changes = MilestoneChanges { title: Some(params.title), ..params.attributes.into_changes() };
    Ok(Created(present_milestone(milestone::create(context.app(), &context.actor, &params.id, changes).await?)))
}

choice! {
    enum Transition { Close = "close", Activate = "activate" }
}

params! {
    struct UpdateMilestone {
        required id: ProjectRef,
        /// Id of the milestone, not its `iid`.
        required milestone_id: MilestoneId,
        optional title: String,
        flatten attributes: Attributes,
        /// Closes or reopens the milestone.
        optional state_event: Transition,
    }
}

async fn update(context: RequestContext, params: UpdateMilestone) -> ApiResult<Body<MilestoneBody>> {
    let changes = MilestoneChanges {
        title: params.title,
        state_event: params.state_event.map(|event| match event {
            Transition::Close => StateEvent::Close,
            Transition::Activate => StateEvent::Activate,
        }),
        ..params.attributes.into_changes()
    };
    if changes == MilestoneChanges::default() {
        return Err(ApiError::at_least_one_required(&[
            "title",
            "description",
            "start_date",
            "due_date",
            "state_event",
        ]));
    }
    Ok(Body(present_milestone(
        milestone::update(context.app(), &context.actor, &params.id, params.milestone_id, changes).await?,
    )))
}

async fn list_issues(context: RequestContext, params: OneMilestone) -> ApiResult<PageBody<IssueBody>> {
    let page =
        milestone::list_issues(context.app(), &context.actor, &params.id, params.milestone_id, context.page).await?;
    Ok(PageBody(page.map(|issue| present_issue(issue, context.site()))))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/milestones";
    const ONE: &str = "/projects/:id/milestones/:milestone_id";
    const ISSUES: &str = "/projects/:id/milestones/:milestone_id/issues";
    let (read, manage) = (Access::Project(ReadMilestones), Access::Project(ManageMilestones));
    routes.add(Method::GET, PATH, read, "List the milestones of a project", list);
    routes.add(Method::GET, ONE, read, "Get a milestone", show);
    routes.add(Method::POST, PATH, manage, "Create a milestone", create);
    routes.add(Method::PUT, ONE, manage, "Update, close or reopen a milestone", update);
    routes.add(Method::GET, ISSUES, Access::Project(ReadIssues), "List the issues of a milestone", list_issues);
}
