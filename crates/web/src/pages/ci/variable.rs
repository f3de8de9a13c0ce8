//! The CI variables of a project.

use holdfast_app::Error;
use holdfast_app::ci::variable;
use holdfast_domain::Violations;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::variable::{VariableValues, variable_page, variables_page};

pub fn declare(pages: &mut Pages) {
    const LIST: &str = "/:namespace/:project/settings/variables";
    const ONE: &str = "/:namespace/:project/settings/variables/:key";
    const DELETE: &str = "/:namespace/:project/settings/variables/:key/delete";
    let manage = Access::Project(ProjectAction::ManageCi);
    pages.get(LIST, manage, Cost::Cheap, "Variables", list).api("GET /projects/:id/variables");
    pages.post(LIST, manage, Cost::Cheap, "Create a variable", create).api("POST /projects/:id/variables");
    pages.get(ONE, manage, Cost::Cheap, "Variable", show).api("GET /projects/:id/variables/:key").confirmed();
    pages.post(ONE, manage, Cost::Cheap, "Save a variable", update).api("PUT /projects/:id/variables/:key").confirmed();
    pages
        .post(DELETE, manage, Cost::Cheap, "Delete a variable", delete)
        .api("DELETE /projects/:id/variables/:key")
        .confirmed();
}

params! {
    struct CreateVariable {
        flatten project: ProjectPathParams,
        optional key: String,
        optional value: String,
    }
}

params! {
    struct OneVariable {
        flatten project: ProjectPathParams,
        required key: String,
    }
}

params! {
    struct UpdateVariable {
        flatten project: ProjectPathParams,
        required key: String,
        /// Absent if the value stays as it is.
        optional value: String,
    }
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found = variable::list_with_project(context.app(), &context.actor, &path.reference(), context.page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&variables_page(layout, &found, abilities, VariableValues::default(), &Violations::default()))
}

async fn create(context: RequestContext, form: CreateVariable) -> PageResult {
    let reference = form.project.reference();
    let key = form.key.unwrap_or_default().trim().to_owned();
    let values = VariableValues { key, value: normalize_lines(form.value.unwrap_or_default()) };
    let created = variable::create(context.app(), &context.actor, &reference, &values.key, &values.value).await;
    let violations = match created {
        Ok(_) => {
            let page = respond::see_other(form.project.links().settings_page("variables"));
            return Ok(page.with_flash(FlashCode::VariableCreated));
        }
        Err(Error::Invalid(violations)) => violations,
        Err(Error::Rejected(text)) => Violations::single("key", format!("was not accepted: {text}")),
        Err(error) => return Err(error.into()),
    };
    let found = variable::list_with_project(context.app(), &context.actor, &reference, context.page).await?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    Ok(respond::rejected(&variables_page(layout, &found, abilities, values, &violations))?.with_secret())
}

/// Returns a text with the line breaks that scripts expect. Browsers send those of Windows.
fn normalize_lines(text: String) -> String {
    text.replace("\r\n", "\n")
}

async fn show(context: RequestContext, OneVariable { project, key }: OneVariable) -> PageResult {
    let found = variable::show_with_project(context.app(), &context.actor, &project.reference(), &key).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_record(found.project.id.get(), ":key", &found.key);
    Ok(respond::html(&variable_page(layout, found, abilities, &Violations::default()))?.with_secret())
}

async fn update(context: RequestContext, form: UpdateVariable) -> PageResult {
    let reference = form.project.reference();
    let value = form.value.map(normalize_lines);
    match variable::update(context.app(), &context.actor, &reference, &form.key, value.as_deref()).await {
        Ok(_) => {
            let page = respond::see_other(form.project.links().settings_page("variables"));
            Ok(page.with_flash(FlashCode::VariableSaved))
        }
        Err(Error::Invalid(violations)) => {
            let mut found = variable::show_with_project(context.app(), &context.actor, &reference, &form.key).await?;
            found.value = value.or(found.value);
            let abilities = Abilities::new(&found.project, &context.actor);
            let layout = context.layout_with_record(found.project.id.get(), ":key", &found.key);
            Ok(respond::rejected(&variable_page(layout, found, abilities, &violations))?.with_secret())
        }
        Err(error) => Err(error.into()),
    }
}

async fn delete(context: RequestContext, OneVariable { project, key }: OneVariable) -> PageResult {
    variable::delete(context.app(), &context.actor, &project.reference(), &key).await?;
    let page = respond::see_other(project.links().settings_page("variables"));
    Ok(page.with_flash(FlashCode::VariableDeleted))
}
