use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::planning::milestone::{self, MilestoneChanges, StateEvent};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::MilestoneId;
use holdfast_domain::policy::ProjectAction::{ManageMilestones, ReadIssues, ReadMilestones};

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::error::ApiError;
use crate::present::issue::{IssueBody, issue as present_issue};
use crate::present::milestone::{MilestoneBody, milestone as present};
use crate::{Access, Cx, Routes, choice, params};

choice! {
    enum State { Active = "active", Closed = "closed", All = "all" }
}

params! {
    struct ListMilestones {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        optional state: State,
        /// Numbers in the project.
        list iid: i64,
    }
}

async fn list(cx: Cx, params: ListMilestones) -> ApiResult<Listed<MilestoneBody>> {
    let closed = match params.state.unwrap_or(State::All) {
        State::Active => Some(false),
        State::Closed => Some(true),
        State::All => None,
    };
    let page = milestone::list(cx.app(), &cx.actor, &params.id, closed, &params.iid, cx.page).await?;
    Ok(Listed(page.map(present)))
}

params! {
    struct OneMilestone {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required milestone_id: MilestoneId,
    }
}

async fn show(cx: Cx, params: OneMilestone) -> ApiResult<Body<MilestoneBody>> {
    Ok(Body(present(milestone::show(cx.app(), &cx.actor, &params.id, params.milestone_id).await?)))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        changed description: String,
        changed start_date: NaiveDate,
        changed due_date: NaiveDate,
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
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required title: String,
        including attributes: Attributes,
    }
}

async fn create(cx: Cx, params: CreateMilestone) -> ApiResult<Created<MilestoneBody>> {
    let changes = MilestoneChanges { title: Some(params.title), ..params.attributes.into_changes() };
    Ok(Created(present(milestone::create(cx.app(), &cx.actor, &params.id, changes).await?)))
}

choice! {
    enum Transition { Close = "close", Activate = "activate" }
}

params! {
    struct UpdateMilestone {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required milestone_id: MilestoneId,
        optional title: String,
        including attributes: Attributes,
        optional state_event: Transition,
    }
}

async fn update(cx: Cx, params: UpdateMilestone) -> ApiResult<Body<MilestoneBody>> {
    let changes = MilestoneChanges {
        title: params.title,
        state_event: params.state_event.map(|event| match event {
            Transition::Close => StateEvent::Close,
            Transition::Activate => StateEvent::Activate,
        }),
        ..params.attributes.into_changes()
    };
    if changes == MilestoneChanges::default() {
        return Err(ApiError::at_least_one(&["title", "description", "start_date", "due_date", "state_event"]));
    }
    Ok(Body(present(milestone::update(cx.app(), &cx.actor, &params.id, params.milestone_id, changes).await?)))
}

async fn issues(cx: Cx, params: OneMilestone) -> ApiResult<Listed<IssueBody>> {
    let page = milestone::issues(cx.app(), &cx.actor, &params.id, params.milestone_id, cx.page).await?;
    Ok(Listed(page.map(|issue| present_issue(issue, cx.site()))))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/milestones";
    const ONE: &str = "/projects/:id/milestones/:milestone_id";
    const ISSUES: &str = "/projects/:id/milestones/:milestone_id/issues";
    let (read, manage) = (Access::Project(ReadMilestones), Access::Project(ManageMilestones));
    routes.add(Method::GET, PATH, read, "Lists a project's milestones, newest first", list);
    routes.add(Method::GET, ONE, read, "Shows a milestone", show);
    routes.add(Method::POST, PATH, manage, "Creates a milestone", create);
    routes.add(Method::PUT, ONE, manage, "Changes a milestone, closes or reopens it", update);
    routes.add(Method::GET, ISSUES, Access::Project(ReadIssues), "Lists the issues of a milestone", issues);
}
