//! The labels of a project: the list, and the forms that create, edit, delete and subscribe.

use holdfast_app::Error;
use holdfast_app::planning::default_labels;
use holdfast_app::planning::label::{self, LabelChanges, LabelRef};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::violations::TAKEN;
use holdfast_domain::{Field, Violations};
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::planning::label_form::{LabelValues, label_form_page, new_label_page};
use crate::views::planning::label_list::labels_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::Read);
    let manage = Access::Project(ProjectAction::ManageLabels);
    let subscribe = Access::Project(ProjectAction::Subscribe);
    pages.get("/:namespace/:project/labels", read, Cost::Normal, "Labels", list).api("GET /projects/:id/labels");
    pages
        .post("/:namespace/:project/labels", manage, Cost::Cheap, "Create a label", create)
        .api("POST /projects/:id/labels");
    pages.get("/:namespace/:project/labels/new", manage, Cost::Cheap, "New label", show_new);
    pages.post("/:namespace/:project/labels/defaults", manage, Cost::Cheap, "Create labels", create_defaults);
    pages.get("/:namespace/:project/labels/:id/edit", manage, Cost::Cheap, "Edit label", edit);
    pages
        .post("/:namespace/:project/labels/:id", manage, Cost::Cheap, "Save a label", update)
        .api("PUT /projects/:id/labels");
    pages
        .post("/:namespace/:project/labels/:id/delete", manage, Cost::Cheap, "Delete a label", delete)
        .api("DELETE /projects/:id/labels");
    pages
        .post("/:namespace/:project/labels/:id/subscribe", subscribe, Cost::Cheap, "Subscribe to a label", subscribe_to)
        .api("POST /projects/:id/labels/:label_id/subscription");
    pages
        .post("/:namespace/:project/labels/:id/unsubscribe", subscribe, Cost::Cheap, "Unsubscribe", unsubscribe_from)
        .api("DELETE /projects/:id/labels/:label_id/subscription");
}

params! {
    struct OneLabel {
        flatten project: ProjectPathParams,
        required id: i64,
    }
}

params! {
    struct LabelParams {
        optional title: String,
        optional color: String,
        optional description: String,
        /// A number, or an empty text for a label without a priority.
        optional priority: String,
    }
}

params! {
    struct CreateLabel {
        flatten project: ProjectPathParams,
        flatten label: LabelParams,
    }
}

params! {
    struct UpdateLabel {
        flatten project: ProjectPathParams,
        required id: i64,
        flatten label: LabelParams,
    }
}

impl From<LabelParams> for LabelValues {
    fn from(params: LabelParams) -> Self {
        Self {
            title: params.title.unwrap_or_default(),
            color: params.color.unwrap_or_default(),
            // Browsers send the line breaks of Windows.
            description: params.description.unwrap_or_default().replace("\r\n", "\n"),
            priority: params.priority.unwrap_or_default(),
        }
    }
}

async fn list(context: RequestContext, project: ProjectPathParams) -> PageResult {
    let page = context.long_page();
    let found = label::list_with_project(context.app(), &context.actor, &project.reference(), page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&labels_page(layout, &found.project, abilities, &found.labels))
}

/// Returns the changes that a form asks for.
fn changes(values: &LabelValues) -> Result<LabelChanges, Violations> {
    let priority = match values.priority.trim() {
        "" => Field::Null,
        text => Field::Value(text.parse().map_err(|_| Violations::single("priority", "is not a number"))?),
    };
    let description = values.description.trim();
    Ok(LabelChanges {
        title: Some(values.title.clone()),
        color: Some(values.color.clone()),
        description: if description.is_empty() { Field::Null } else { Field::Value(description.to_owned()) },
        priority,
    })
}

async fn show_new(context: RequestContext, project: ProjectPathParams) -> PageResult {
    let project = label::show_project(context.app(), &context.actor, &project.reference()).await?;
    ensure_address(&context, &project)?;
    let abilities = Abilities::new(&project, &context.actor);
    let values = LabelValues::default();
    respond::html(&new_label_page(context.layout(), &project, abilities, values, &Violations::default()))
}

async fn create(context: RequestContext, CreateLabel { project, label: params }: CreateLabel) -> PageResult {
    let (reference, values) = (project.reference(), LabelValues::from(params));
    // The permission is checked first, so that an invalid form tells nothing to those who may not send it.
    let project = label::show_project(context.app(), &context.actor, &reference).await?;
    let created = match changes(&values) {
        Ok(changes) => label::create(context.app(), &context.actor, &reference, changes).await,
        Err(violations) => Err(violations.into()),
    };
    let violations = match created {
        Ok(_) => {
            let labels = ProjectLinks::new(&project.full_path()).labels();
            return Ok(respond::see_other(labels).with_flash(FlashCode::LabelCreated));
        }
        Err(Error::Invalid(violations)) => violations,
        Err(Error::Conflict(_)) => Violations::single("title", TAKEN),
        Err(error) => return Err(error.into()),
    };
    let abilities = Abilities::new(&project, &context.actor);
    respond::rejected(&new_label_page(context.layout(), &project, abilities, values, &violations))
}

async fn create_defaults(context: RequestContext, project: ProjectPathParams) -> PageResult {
    let are_created = default_labels::create(context.app(), &context.actor, &project.reference()).await?;
    let response = respond::see_other(project.links().labels());
    Ok(if are_created { response.with_flash(FlashCode::DefaultLabelsCreated) } else { response })
}

async fn edit(context: RequestContext, OneLabel { project, id }: OneLabel) -> PageResult {
    let reference = project.reference();
    let (project, label) =
        label::show_for_update(context.app(), &context.actor, &reference, &LabelRef::Id(id.into())).await?;
    ensure_address(&context, &project)?;
    let abilities = Abilities::new(&project, &context.actor);
    let values = LabelValues::from(&label);
    respond::html(&label_form_page(context.layout(), &project, abilities, &label, values, &Violations::default()))
}

async fn update(context: RequestContext, UpdateLabel { project, id, label: params }: UpdateLabel) -> PageResult {
    let (reference, values) = (project.reference(), LabelValues::from(params));
    let (project, label) =
        label::show_for_update(context.app(), &context.actor, &reference, &LabelRef::Id(id.into())).await?;
    let updated = match changes(&values) {
        Ok(changes) => {
            label::update(context.app(), &context.actor, &reference, &LabelRef::Id(id.into()), changes).await
        }
        Err(violations) => Err(violations.into()),
    };
    match updated {
        Ok(_) => {
            let labels = ProjectLinks::new(&project.full_path()).labels();
            Ok(respond::see_other(labels).with_flash(FlashCode::LabelSaved))
        }
        Err(Error::Invalid(violations)) => {
            let abilities = Abilities::new(&project, &context.actor);
            respond::rejected(&label_form_page(context.layout(), &project, abilities, &label, values, &violations))
        }
        Err(error) => Err(error.into()),
    }
}

async fn delete(context: RequestContext, OneLabel { project, id }: OneLabel) -> PageResult {
    label::delete(context.app(), &context.actor, &project.reference(), &LabelRef::Id(id.into())).await?;
    Ok(respond::see_other(project.links().labels()).with_flash(FlashCode::LabelDeleted))
}

async fn subscribe_to(context: RequestContext, OneLabel { project, id }: OneLabel) -> PageResult {
    let label = LabelRef::Id(id.into());
    label::subscribe(context.app(), &context.actor, &project.reference(), &label).await?;
    Ok(respond::see_other(project.links().labels()).with_flash(FlashCode::LabelSubscribed))
}

async fn unsubscribe_from(context: RequestContext, OneLabel { project, id }: OneLabel) -> PageResult {
    let label = LabelRef::Id(id.into());
    label::unsubscribe(context.app(), &context.actor, &project.reference(), &label).await?;
    Ok(respond::see_other(project.links().labels()).with_flash(FlashCode::LabelUnsubscribed))
}
