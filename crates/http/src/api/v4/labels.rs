use axum::http::Method;
use holdfast_app::planning::label::{self, LabelChanges, LabelRef};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::Field;
use holdfast_domain::policy::ProjectAction::{ManageLabels, Read, Subscribe};

use super::ApiResult;
use crate::error::ApiError;
use crate::present::v4::label::{LabelCounts, ProjectLabel, present_label};
use crate::response::{Body, Created, CreatedIfChanged, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ListLabels {
        required id: ProjectRef,
        /// Whether to count the issues and merge requests of each label.
        optional with_counts: bool,
        /// Part of the name.
        optional search: String,
    }
}

async fn list(context: RequestContext, params: ListLabels) -> ApiResult<PageBody<ProjectLabel>> {
    let counts = if params.with_counts == Some(true) { LabelCounts::Shown } else { LabelCounts::Hidden };
    let search = params.search.as_deref().filter(|term| !term.is_empty());
    let page = label::list(context.app(), &context.actor, &params.id, search, context.page).await?;
    Ok(PageBody(page.map(|label| present_label(label, counts))))
}

params! {
    struct OneLabel {
        required id: ProjectRef,
        /// Id or name of the label.
        required label_id: LabelRef,
    }
}

async fn show(context: RequestContext, params: OneLabel) -> ApiResult<Body<ProjectLabel>> {
    let label = label::show(context.app(), &context.actor, &params.id, &params.label_id).await?;
    Ok(Body(present_label(label, LabelCounts::Hidden)))
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

async fn create(context: RequestContext, params: CreateLabel) -> ApiResult<Created<ProjectLabel>> {
    let changes = LabelChanges {
        title: Some(params.name),
        color: Some(params.color),
        description: params.description,
        priority: params.priority,
    };
    let label = label::create(context.app(), &context.actor, &params.id, changes).await?;
    Ok(Created(present_label(label, LabelCounts::Hidden)))
}

params! {
    /// The changes of a label. At least one is required.
    struct Changes {
        /// New name of the label.
        optional new_name: String,
        /// Color as `#` and six hexadecimal digits.
        optional color: String,
        nullable description: String,
        /// Priority of the label, 0 or more. Null removes it.
        nullable priority: i32,
    }
}

async fn save(
    context: RequestContext,
    id: ProjectRef,
    label: LabelRef,
    params: Changes,
) -> ApiResult<Body<ProjectLabel>> {
    let has_other_changes = params.description != Field::Absent || params.priority != Field::Absent;
    if params.new_name.is_none() && params.color.is_none() && !has_other_changes {
        return Err(ApiError::at_least_one_required(&["new_name", "color", "description", "priority"]));
    }
    let changes = LabelChanges {
        title: params.new_name,
        color: params.color,
        description: params.description,
        priority: params.priority,
    };
    let label = label::update(context.app(), &context.actor, &id, &label, changes).await?;
    Ok(Body(present_label(label, LabelCounts::Hidden)))
}

params! {
    struct UpdateLabel {
        flatten label: OneLabel,
        flatten changes: Changes,
    }
}

async fn update(context: RequestContext, params: UpdateLabel) -> ApiResult<Body<ProjectLabel>> {
    save(context, params.label.id, params.label.label_id, params.changes).await
}

params! {
    struct UpdateByName {
        required id: ProjectRef,
        /// Current name of the label.
        required name: String,
        flatten changes: Changes,
    }
}

async fn update_by_name(context: RequestContext, params: UpdateByName) -> ApiResult<Body<ProjectLabel>> {
    save(context, params.id, LabelRef::Title(params.name), params.changes).await
}

async fn delete(context: RequestContext, params: OneLabel) -> ApiResult<NoContent> {
    label::delete(context.app(), &context.actor, &params.id, &params.label_id).await?;
    Ok(NoContent)
}

params! {
    struct DeleteByName {
        required id: ProjectRef,
        /// Name of the label.
        required name: String,
    }
}

async fn delete_by_name(context: RequestContext, params: DeleteByName) -> ApiResult<NoContent> {
    label::delete(context.app(), &context.actor, &params.id, &LabelRef::Title(params.name)).await?;
    Ok(NoContent)
}

async fn subscribe(context: RequestContext, params: OneLabel) -> ApiResult<CreatedIfChanged<ProjectLabel>> {
    let label = label::subscribe(context.app(), &context.actor, &params.id, &params.label_id).await?;
    Ok(CreatedIfChanged(label.map(|label| present_label(label, LabelCounts::Hidden))))
}

async fn unsubscribe(context: RequestContext, params: OneLabel) -> ApiResult<CreatedIfChanged<ProjectLabel>> {
    let label = label::unsubscribe(context.app(), &context.actor, &params.id, &params.label_id).await?;
    Ok(CreatedIfChanged(label.map(|label| present_label(label, LabelCounts::Hidden))))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/labels";
    const ONE: &str = "/projects/:id/labels/:label_id";
    const SUBSCRIBE: &str = "/projects/:id/labels/:label_id/subscribe";
    const UNSUBSCRIBE: &str = "/projects/:id/labels/:label_id/unsubscribe";
    let read = Access::Project(Read);
    let (manage, follow) = (Access::Project(ManageLabels), Access::Project(Subscribe));
    routes.add(Method::GET, PATH, read, "List the labels of a project", list);
    routes.add(Method::GET, ONE, read, "Get a label", show);
    routes.add(Method::POST, PATH, manage, "Create a label", create);
    routes.add(Method::PUT, ONE, manage, "Update a label", update);
    routes.add(Method::PUT, PATH, manage, "Update a label by its name", update_by_name);
    routes.add(Method::DELETE, ONE, manage, "Delete a label", delete);
    routes.add(Method::DELETE, PATH, manage, "Delete a label by its name", delete_by_name);
    routes.add(Method::POST, SUBSCRIBE, follow, "Subscribe to a label", subscribe);
    routes.add(Method::POST, UNSUBSCRIBE, follow, "Unsubscribe from a label", unsubscribe);
}
