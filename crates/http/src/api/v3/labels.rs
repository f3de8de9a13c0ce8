use axum::http::Method;
use holdfast_app::planning::label::{self, LabelChanges, LabelRef};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::{Error, Resource};
use holdfast_domain::policy::ProjectAction::{ManageLabels, Read, Subscribe};

use super::ApiResult;
use super::projects::OneProject;
use crate::error::ApiError;
use crate::present::label::{LabelBody, present_label};
use crate::response::{Body, BodyIfChanged, CreatedIfChanged, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<LabelBody>> {
    let page = label::list(context.app(), &context.actor, &params.id, None, context.page).await?;
    Ok(PageBody(page.map(present_label)))
}

params! {
    struct CreateLabel {
        required id: ProjectRef,
        /// Name of the label.
        required name: String,
        /// Color as `#` and six hexadecimal digits.
        required color: String,
        nullable description: String,
        /// Priority of the label, 0 or more, null for none.
        nullable priority: i32,
    }
}

/// Creates a label. Responds 200 instead of 201, as the specification requires.
async fn create(context: RequestContext, params: CreateLabel) -> ApiResult<Body<LabelBody>> {
    let changes = LabelChanges {
        title: Some(params.name),
        color: Some(params.color),
        description: params.description,
        priority: params.priority,
    };
    Ok(Body(present_label(label::create(context.app(), &context.actor, &params.id, changes).await?)))
}

params! {
    struct UpdateLabel {
        required id: ProjectRef,
        /// Current name of the label.
        required name: String,
        /// New name of the label. At least one of `new_name` and `color` is required.
        optional new_name: String,
        /// Color as `#` and six hexadecimal digits.
        optional color: String,
        nullable description: String,
        /// Priority of the label, 0 or more. Null removes it.
        nullable priority: i32,
    }
}

async fn update(context: RequestContext, params: UpdateLabel) -> ApiResult<Body<LabelBody>> {
    if params.new_name.is_none() && params.color.is_none() {
        return Err(ApiError::at_least_one_required(&["new_name", "color"]));
    }
    let changes = LabelChanges {
        title: params.new_name,
        color: params.color,
        description: params.description,
        priority: params.priority,
    };
    let name = LabelRef::Title(params.name);
    let updated = label::update(context.app(), &context.actor, &params.id, &name, changes).await;
    // The error text is as existing clients expect.
    let updated = updated.map_err(|error| match error {
        Error::NotFound(Resource::Label) => Error::NotFound(Resource::Literal("404 Label not found Not Found")),
        error => error,
    })?;
    Ok(Body(present_label(updated)))
}

params! {
    struct DeleteLabel {
        required id: ProjectRef,
        /// Name of the label.
        required name: String,
    }
}

async fn delete(context: RequestContext, params: DeleteLabel) -> ApiResult<Body<LabelBody>> {
    let name = LabelRef::Title(params.name);
    Ok(Body(present_label(label::delete(context.app(), &context.actor, &params.id, &name).await?)))
}

params! {
    struct OneLabel {
        required id: ProjectRef,
        /// Id or name of the label.
        required label_id: LabelRef,
    }
}

async fn subscribe(context: RequestContext, params: OneLabel) -> ApiResult<CreatedIfChanged<LabelBody>> {
    let label = label::subscribe(context.app(), &context.actor, &params.id, &params.label_id).await?;
    Ok(CreatedIfChanged(label.map(present_label)))
}

async fn unsubscribe(context: RequestContext, params: OneLabel) -> ApiResult<BodyIfChanged<LabelBody>> {
    let label = label::unsubscribe(context.app(), &context.actor, &params.id, &params.label_id).await?;
    Ok(BodyIfChanged(label.map(present_label)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/labels";
    const SUBSCRIPTION: &str = "/projects/:id/labels/:label_id/subscription";
    let (manage, follow) = (Access::Project(ManageLabels), Access::Project(Subscribe));
    routes.add(Method::GET, PATH, Access::Project(Read), "List the labels of a project", list);
    routes.add(Method::POST, PATH, manage, "Create a label", create);
    routes.add(Method::PUT, PATH, manage, "Update a label", update);
    routes.add(Method::DELETE, PATH, manage, "Delete a label", delete);
    routes.add(Method::POST, SUBSCRIPTION, follow, "Subscribe to a label", subscribe);
    routes.add(Method::DELETE, SUBSCRIPTION, follow, "Unsubscribe from a label", unsubscribe);
}
