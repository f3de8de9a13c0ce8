//! The triggers of a project.

use holdfast_app::Error;
use holdfast_app::ci::trigger::{self, TriggerWithToken};
use holdfast_domain::Violations;
use holdfast_domain::ids::TriggerId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::trigger::{TriggersPage, trigger_page, triggers_page};

pub fn declare(pages: &mut Pages) {
    const LIST: &str = "/:namespace/:project/settings/triggers";
    const ONE: &str = "/:namespace/:project/settings/triggers/:id";
    const DELETE: &str = "/:namespace/:project/settings/triggers/:id/delete";
    let manage = Access::Project(ProjectAction::ManageCi);
    pages.get(LIST, manage, Cost::Cheap, "Triggers", list).api("GET /projects/:id/triggers").confirmed();
    pages.post(LIST, manage, Cost::Cheap, "Create a trigger", create).api("POST /projects/:id/triggers").confirmed();
    pages.get(ONE, manage, Cost::Cheap, "Trigger", show).api("GET /projects/:id/triggers/:token").confirmed();
    pages.post(ONE, manage, Cost::Cheap, "Save a trigger", update).confirmed();
    pages
        .post(DELETE, manage, Cost::Cheap, "Delete a trigger", delete)
        .api("DELETE /projects/:id/triggers/:token")
        .confirmed();
}

params! {
    struct CreateTrigger {
        flatten project: ProjectPathParams,
        optional description: String,
    }
}

params! {
    struct OneTrigger {
        flatten project: ProjectPathParams,
        required id: TriggerId,
    }
}

params! {
    struct UpdateTrigger {
        flatten project: ProjectPathParams,
        required id: TriggerId,
        optional description: String,
    }
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found = trigger::list_with_project(context.app(), &context.actor, &path.reference(), context.page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    let now = context.now();
    respond::html(&triggers_page(layout, &found, abilities, String::new(), &Violations::default(), now))
}

/// Returns the list after an action.
async fn list_again(
    context: &RequestContext,
    path: &ProjectPathParams,
    description: String,
    violations: &Violations,
) -> Result<TriggersPage, PageError> {
    let found = trigger::list_with_project(context.app(), &context.actor, &path.reference(), context.page).await?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    Ok(triggers_page(layout, &found, abilities, description, violations, context.now()))
}

/// Creates a trigger and shows its token in the response. Without a key for encryption it is not shown again.
async fn create(context: RequestContext, CreateTrigger { project, description }: CreateTrigger) -> PageResult {
    let description = description.unwrap_or_default().trim().to_owned();
    let stored = Some(description.as_str()).filter(|text| !text.is_empty());
    match trigger::create(context.app(), &context.actor, &project.reference(), stored).await {
        Ok(TriggerWithToken { trigger, token }) => {
            let page = list_again(&context, &project, String::new(), &Violations::default()).await?;
            Ok(respond::html(&page.with_new_trigger(&trigger, token, context.site()))?.with_secret())
        }
        Err(Error::Invalid(violations)) => {
            respond::rejected(&list_again(&context, &project, description, &violations).await?)
        }
        Err(error) => Err(error.into()),
    }
}

async fn show(context: RequestContext, OneTrigger { project, id }: OneTrigger) -> PageResult {
    let found = trigger::show_with_project(context.app(), &context.actor, &project.reference(), id).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    // The API finds a trigger by its token or by its id. The token is not shown in the frame.
    let layout = context.layout_with_record(found.project.id.get(), ":token", id);
    let page = trigger_page(
        layout,
        &found,
        abilities,
        found.trigger.description.clone().unwrap_or_default(),
        &Violations::default(),
        context.site(),
        context.now(),
    );
    Ok(respond::html(&page)?.with_secret())
}

async fn update(context: RequestContext, UpdateTrigger { project, id, description }: UpdateTrigger) -> PageResult {
    let reference = project.reference();
    let description = description.map(|text| text.trim().to_owned());
    let name = id.to_string();
    match trigger::update(context.app(), &context.actor, &reference, &name, description.as_deref()).await {
        Ok(_) => {
            let page = respond::see_other(project.links().settings_page("triggers"));
            Ok(page.with_flash(FlashCode::TriggerSaved))
        }
        Err(Error::Invalid(violations)) => {
            let found = trigger::show_with_project(context.app(), &context.actor, &reference, id).await?;
            let abilities = Abilities::new(&found.project, &context.actor);
            let (layout, value) = (context.layout(), description.unwrap_or_default());
            let page = trigger_page(layout, &found, abilities, value, &violations, context.site(), context.now());
            Ok(respond::rejected(&page)?.with_secret())
        }
        Err(error) => Err(error.into()),
    }
}

async fn delete(context: RequestContext, OneTrigger { project, id }: OneTrigger) -> PageResult {
    trigger::delete(context.app(), &context.actor, &project.reference(), &id.to_string()).await?;
    let page = respond::see_other(project.links().settings_page("triggers"));
    Ok(page.with_flash(FlashCode::TriggerDeleted))
}
