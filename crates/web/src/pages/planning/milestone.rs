//! The milestones of a project: the list, the page of one with its issues, and the forms that create and change them.

use holdfast_app::Error;
use holdfast_app::planning::milestone::{self, MilestoneChanges, StateEvent};
use holdfast_app::planning::milestone_issues;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::violations::INVALID;
use holdfast_domain::{Field, Violations, parse_date};
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::markdown::{self, LinkContext};
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::planning::milestone::milestone_page;
use crate::views::planning::milestone_form::{MilestoneValues, milestone_form_page, new_milestone_page};
use crate::views::planning::milestone_list::milestones_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadMilestones);
    let manage = Access::Project(ProjectAction::ManageMilestones);
    pages
        .get("/:namespace/:project/milestones", read, Cost::Normal, "Milestones", list)
        .api("GET /projects/:id/milestones");
    pages
        .post("/:namespace/:project/milestones", manage, Cost::Cheap, "Create a milestone", create)
        .api("POST /projects/:id/milestones");
    pages.get("/:namespace/:project/milestones/new", manage, Cost::Cheap, "New milestone", show_new);
    pages
        .get("/:namespace/:project/milestones/:iid", read, Cost::Normal, "Milestone", show)
        .api("GET /projects/:id/milestones/:milestone_id");
    pages
        .post("/:namespace/:project/milestones/:iid", manage, Cost::Cheap, "Save a milestone", update)
        .api("PUT /projects/:id/milestones/:milestone_id");
    pages
        .get("/:namespace/:project/milestones/:iid/edit", manage, Cost::Cheap, "Edit milestone", edit)
        .api("GET /projects/:id/milestones/:milestone_id");
    pages
        .post("/:namespace/:project/milestones/:iid/close", manage, Cost::Cheap, "Close a milestone", close)
        .api("PUT /projects/:id/milestones/:milestone_id");
    pages
        .post("/:namespace/:project/milestones/:iid/reopen", manage, Cost::Cheap, "Reopen a milestone", reopen)
        .api("PUT /projects/:id/milestones/:milestone_id");
}

params! {
    struct ListMilestones {
        flatten project: ProjectPathParams,
        /// `closed`; open milestones by default.
        optional state: String,
    }
}

params! {
    struct ShowMilestone {
        flatten project: ProjectPathParams,
        required iid: i64,
        /// `closed`; open issues by default.
        optional state: String,
    }
}

params! {
    struct OneMilestone {
        flatten project: ProjectPathParams,
        required iid: i64,
    }
}

params! {
    struct MilestoneParams {
        optional title: String,
        optional description: String,
        optional start_date: String,
        optional due_date: String,
    }
}

params! {
    struct CreateMilestone {
        flatten project: ProjectPathParams,
        flatten milestone: MilestoneParams,
    }
}

params! {
    struct UpdateMilestone {
        flatten project: ProjectPathParams,
        required iid: i64,
        flatten milestone: MilestoneParams,
    }
}

impl From<MilestoneParams> for MilestoneValues {
    fn from(params: MilestoneParams) -> Self {
        Self {
            title: params.title.unwrap_or_default(),
            // Browsers send the line breaks of Windows.
            description: params.description.unwrap_or_default().replace("\r\n", "\n"),
            start_date: params.start_date.unwrap_or_default(),
            due_date: params.due_date.unwrap_or_default(),
        }
    }
}

async fn list(context: RequestContext, ListMilestones { project, state }: ListMilestones) -> PageResult {
    let is_closed = state.as_deref() == Some("closed");
    let (reference, page) = (project.reference(), context.page);
    let found = milestone_issues::list(context.app(), &context.actor, &reference, is_closed, page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&milestones_page(layout, &found, abilities, is_closed, context.now()))
}

async fn show(context: RequestContext, ShowMilestone { project, iid, state }: ShowMilestone) -> PageResult {
    let is_closed = state.as_deref() == Some("closed");
    let (reference, page) = (project.reference(), context.page);
    let found = milestone_issues::show(context.app(), &context.actor, &reference, iid, is_closed, page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let id = found.milestone.milestone.id;
    let layout = context.layout_with_record(found.project.id.get(), ":milestone_id", id);
    let link_context = LinkContext::for_texts(&found.project.full_path());
    let render = |text: &str| markdown::render(text, &link_context);
    respond::html(&milestone_page(layout, &found, abilities, is_closed, render, context.now()))
}

/// Returns the changes that a form asks for.
fn changes(values: &MilestoneValues) -> Result<MilestoneChanges, Violations> {
    let mut violations = Violations::default();
    let parse = |text: &str| parse_date(text).ok_or_else(|| INVALID.to_owned());
    let mut date = |name, text: &str| match text.trim() {
        "" => Field::Null,
        text => violations.check(name, parse(text)).map_or(Field::Null, Field::Value),
    };
    let (start_date, due_date) = (date("start_date", &values.start_date), date("due_date", &values.due_date));
    violations.into_result()?;
    Ok(MilestoneChanges {
        title: Some(values.title.clone()),
        description: Field::Value(values.description.clone()),
        start_date,
        due_date,
        state_event: None,
    })
}

async fn show_new(context: RequestContext, project: ProjectPathParams) -> PageResult {
    let project = milestone::show_project(context.app(), &context.actor, &project.reference()).await?;
    ensure_address(&context, &project)?;
    let abilities = Abilities::new(&project, &context.actor);
    let values = MilestoneValues::default();
    respond::html(&new_milestone_page(context.layout(), &project, abilities, values, &Violations::default()))
}

async fn create(context: RequestContext, params: CreateMilestone) -> PageResult {
    let (reference, values) = (params.project.reference(), MilestoneValues::from(params.milestone));
    // The permission is checked first, so that an invalid form tells nothing to those who may not send it.
    let project = milestone::show_project(context.app(), &context.actor, &reference).await?;
    let created = match changes(&values) {
        Ok(changes) => milestone::create(context.app(), &context.actor, &reference, changes).await,
        Err(violations) => Err(violations.into()),
    };
    match created {
        Ok(created) => {
            let page = ProjectLinks::new(&project.full_path()).milestone(created.iid);
            Ok(respond::see_other(page).with_flash(FlashCode::MilestoneCreated))
        }
        Err(Error::Invalid(violations)) => {
            let abilities = Abilities::new(&project, &context.actor);
            respond::rejected(&new_milestone_page(context.layout(), &project, abilities, values, &violations))
        }
        Err(error) => Err(error.into()),
    }
}

async fn edit(context: RequestContext, OneMilestone { project, iid }: OneMilestone) -> PageResult {
    let reference = project.reference();
    let (project, milestone) = milestone::show_for_update(context.app(), &context.actor, &reference, iid).await?;
    ensure_address(&context, &project)?;
    let abilities = Abilities::new(&project, &context.actor);
    let values = MilestoneValues::from(&milestone);
    let violations = Violations::default();
    let layout = context.layout_with_record(project.id.get(), ":milestone_id", milestone.id);
    respond::html(&milestone_form_page(layout, &project, abilities, &milestone, values, &violations))
}

async fn update(context: RequestContext, params: UpdateMilestone) -> PageResult {
    let (reference, values) = (params.project.reference(), MilestoneValues::from(params.milestone));
    let found = milestone::show_for_update(context.app(), &context.actor, &reference, params.iid).await?;
    let (project, milestone) = found;
    let updated = match changes(&values) {
        Ok(changes) => milestone::update_by_iid(context.app(), &context.actor, &reference, params.iid, changes).await,
        Err(violations) => Err(violations.into()),
    };
    match updated {
        Ok(_) => {
            let page = ProjectLinks::new(&project.full_path()).milestone(params.iid);
            Ok(respond::see_other(page).with_flash(FlashCode::MilestoneSaved))
        }
        Err(Error::Invalid(violations)) => {
            let abilities = Abilities::new(&project, &context.actor);
            let layout = context.layout_with_record(project.id.get(), ":milestone_id", milestone.id);
            respond::rejected(&milestone_form_page(layout, &project, abilities, &milestone, values, &violations))
        }
        Err(error) => Err(error.into()),
    }
}

async fn close(context: RequestContext, params: OneMilestone) -> PageResult {
    set_state(&context, &params, StateEvent::Close, FlashCode::MilestoneClosed).await
}

async fn reopen(context: RequestContext, params: OneMilestone) -> PageResult {
    set_state(&context, &params, StateEvent::Activate, FlashCode::MilestoneReopened).await
}

async fn set_state(context: &RequestContext, params: &OneMilestone, event: StateEvent, flash: FlashCode) -> PageResult {
    let changes = MilestoneChanges { state_event: Some(event), ..MilestoneChanges::default() };
    let (reference, iid) = (params.project.reference(), params.iid);
    milestone::update_by_iid(context.app(), &context.actor, &reference, iid, changes).await?;
    Ok(respond::see_other(params.project.links().milestone(iid)).with_flash(flash))
}
