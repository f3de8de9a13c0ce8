use axum::http::Method;
use chrono::{DateTime, NaiveDate, Utc};
use holdfast_app::merge_requests::list as merge_request_list;
use holdfast_app::planning::milestone::{self, Filter, Milestone, MilestoneChanges, StateEvent};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::MilestoneId;
use holdfast_domain::policy::ProjectAction::{ManageMilestones, ReadIssues, ReadMergeRequests, ReadMilestones};

use super::ApiResult;
use crate::error::ApiError;
use crate::present::v4::issue::{ProjectIssue, present_issue};
use crate::present::v4::merge_request::{MergeRequestBasic, present_merge_request};
use crate::present::v4::milestone::{ProjectMilestone, present_milestone};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

fn present(context: &RequestContext, milestone: Milestone) -> ProjectMilestone {
    let path = milestone.project_path.clone();
    present_milestone(milestone, &path, context.app().today(), context.site())
}

choice! {
    enum State { Active = "active", Closed = "closed", All = "all" }
}

params! {
    struct ListMilestones {
        required id: ProjectRef,
        /// Only milestones with these numbers within the project.
        list iids: i64,
        /// Only milestones in this state, `all` by default.
        optional state: State,
        /// Only the milestone with this title.
        optional title: String,
        /// Part of the title.
        optional search: String,
        /// Only milestones that were updated at this time or later.
        optional updated_after: DateTime<Utc>,
        /// Only milestones that were updated at this time or before.
        optional updated_before: DateTime<Utc>,
    }
}

async fn list(context: RequestContext, params: ListMilestones) -> ApiResult<PageBody<ProjectMilestone>> {
    let filter = Filter {
        closed: match params.state.unwrap_or(State::All) {
            State::Active => Some(false),
            State::Closed => Some(true),
            State::All => None,
        },
        iids: params.iids,
        title: params.title.filter(|title| !title.is_empty()),
        search: params.search.filter(|term| !term.is_empty()),
        updated_after: params.updated_after,
        updated_before: params.updated_before,
    };
    let page = milestone::list(context.app(), &context.actor, &params.id, &filter, context.page).await?;
    Ok(PageBody(page.map(|milestone| present(&context, milestone))))
}

params! {
    struct OneMilestone {
        required id: ProjectRef,
        /// Id of the milestone, not its `iid`.
        required milestone_id: MilestoneId,
    }
}

async fn show(context: RequestContext, params: OneMilestone) -> ApiResult<Body<ProjectMilestone>> {
    let milestone = milestone::show(context.app(), &context.actor, &params.id, params.milestone_id).await?;
    Ok(Body(present(&context, milestone)))
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

async fn create(context: RequestContext, params: CreateMilestone) -> ApiResult<Created<ProjectMilestone>> {
    let changes = MilestoneChanges { title: Some(params.title), ..params.attributes.into_changes() };
    let milestone = milestone::create(context.app(), &context.actor, &params.id, changes).await?;
    Ok(Created(present(&context, milestone)))
}

choice! {
    enum Transition { Close = "close", Activate = "activate" }
}

params! {
    struct UpdateMilestone {
        flatten milestone: OneMilestone,
        optional title: String,
        flatten attributes: Attributes,
        /// Closes or reopens the milestone.
        optional state_event: Transition,
    }
}

async fn update(context: RequestContext, params: UpdateMilestone) -> ApiResult<Body<ProjectMilestone>> {
    let changes = MilestoneChanges {
        title: params.title,
        state_event: params.state_event.map(|event| match event {
            Transition::Close => StateEvent::Close,
            Transition::Activate => StateEvent::Activate,
        }),
        ..params.attributes.into_changes()
    };
    if changes == MilestoneChanges::default() {
        let names = ["title", "description", "start_date", "due_date", "state_event"];
        return Err(ApiError::at_least_one_required(&names));
    }
    let OneMilestone { id, milestone_id } = params.milestone;
    let milestone = milestone::update(context.app(), &context.actor, &id, milestone_id, changes).await?;
    Ok(Body(present(&context, milestone)))
}

async fn delete(context: RequestContext, params: OneMilestone) -> ApiResult<NoContent> {
    milestone::delete(context.app(), &context.actor, &params.id, params.milestone_id).await?;
    Ok(NoContent)
}

async fn list_issues(context: RequestContext, params: OneMilestone) -> ApiResult<PageBody<ProjectIssue>> {
    let (actor, milestone) = (&context.actor, params.milestone_id);
    let page = milestone::list_issues(context.app(), actor, &params.id, milestone, context.page).await?;
    let today = context.app().today();
    Ok(PageBody(page.map(|issue| present_issue(issue, today, context.site()))))
}

async fn list_merge_requests(context: RequestContext, params: OneMilestone) -> ApiResult<PageBody<MergeRequestBasic>> {
    let (actor, milestone) = (&context.actor, params.milestone_id);
    let page =
        merge_request_list::list_for_milestone(context.app(), actor, &params.id, milestone, context.page).await?;
    let today = context.app().today();
    Ok(PageBody(page.map(|request| present_merge_request(request, today, context.site()))))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/milestones";
    const ONE: &str = "/projects/:id/milestones/:milestone_id";
    const ISSUES: &str = "/projects/:id/milestones/:milestone_id/issues";
    const REQUESTS: &str = "/projects/:id/milestones/:milestone_id/merge_requests";
    let (read, manage) = (Access::Project(ReadMilestones), Access::Project(ManageMilestones));
    let read_requests = Access::Project(ReadMergeRequests);
    routes.add(Method::GET, PATH, read, "List the milestones of a project", list);
    routes.add(Method::GET, ONE, read, "Get a milestone", show);
    routes.add(Method::POST, PATH, manage, "Create a milestone", create);
    routes.add(Method::PUT, ONE, manage, "Update, close or reopen a milestone", update);
    routes.add(Method::DELETE, ONE, manage, "Delete a milestone", delete);
    routes.add(Method::GET, ISSUES, Access::Project(ReadIssues), "List the issues of a milestone", list_issues);
    routes.add(Method::GET, REQUESTS, read_requests, "List the merge requests of a milestone", list_merge_requests);
}
