use axum::http::Method;
use holdfast_app::planning::label::{self, LabelChanges, LabelRef};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::ProjectAction::{ManageLabels, Read, Subscribe};

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::{Body, BodyIfChanged, CreatedIfChanged, Listed};
use crate::error::ApiError;
use crate::present::label::{LabelBody, label as present};
use crate::{Access, Cx, Routes, params};

async fn list(cx: Cx, params: OneProject) -> ApiResult<Listed<LabelBody>> {
    Ok(Listed(label::list(cx.app(), &cx.actor, &params.id, cx.page).await?.map(present)))
}

params! {
    struct CreateLabel {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required name: String,
        /// `#` and six digits.
        required color: String,
        changed description: String,
        /// 0 or more; null for none.
        changed priority: i32,
    }
}

/// 200, as the specification has it.
async fn create(cx: Cx, params: CreateLabel) -> ApiResult<Body<LabelBody>> {
    let changes = LabelChanges {
        title: Some(params.name),
        color: Some(params.color),
        description: params.description,
        priority: params.priority,
    };
    Ok(Body(present(label::create(cx.app(), &cx.actor, &params.id, changes).await?)))
}

params! {
    struct UpdateLabel {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// Of the label as it is.
        required name: String,
        /// This or the color must be given.
        optional new_name: String,
        /// `#` and six digits.
        optional color: String,
        changed description: String,
        /// 0 or more; null removes it.
        changed priority: i32,
    }
}

async fn update(cx: Cx, params: UpdateLabel) -> ApiResult<Body<LabelBody>> {
    if params.new_name.is_none() && params.color.is_none() {
        return Err(ApiError::at_least_one(&["new_name", "color"]));
    }
    let changes = LabelChanges {
        title: params.new_name,
        color: params.color,
        description: params.description,
        priority: params.priority,
    };
    Ok(Body(present(label::update(cx.app(), &cx.actor, &params.id, &params.name, changes).await?)))
}

params! {
    struct DeleteLabel {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required name: String,
    }
}

async fn delete(cx: Cx, params: DeleteLabel) -> ApiResult<Body<LabelBody>> {
    Ok(Body(present(label::delete(cx.app(), &cx.actor, &params.id, &params.name).await?)))
}

params! {
    struct OneLabel {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// Number, or name.
        required label_id: LabelRef,
    }
}

async fn subscribe(cx: Cx, params: OneLabel) -> ApiResult<CreatedIfChanged<LabelBody>> {
    let label = label::subscribe(cx.app(), &cx.actor, &params.id, &params.label_id).await?;
    Ok(CreatedIfChanged(label.map(present)))
}

async fn unsubscribe(cx: Cx, params: OneLabel) -> ApiResult<BodyIfChanged<LabelBody>> {
    let label = label::unsubscribe(cx.app(), &cx.actor, &params.id, &params.label_id).await?;
    Ok(BodyIfChanged(label.map(present)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/labels";
    const SUBSCRIPTION: &str = "/projects/:id/labels/:label_id/subscription";
    let (manage, follow) = (Access::Project(ManageLabels), Access::Project(Subscribe));
    routes.add(Method::GET, PATH, Access::Project(Read), "Lists a project's labels by name", list);
    routes.add(Method::POST, PATH, manage, "Adds a label", create);
    routes.add(Method::PUT, PATH, manage, "Changes a label", update);
    routes.add(Method::DELETE, PATH, manage, "Removes a label, also from what carries it", delete);
    routes.add(Method::POST, SUBSCRIPTION, follow, "Subscribes to a label; 304 if the caller has", subscribe);
    routes.add(Method::DELETE, SUBSCRIPTION, follow, "Ends a subscription; 304 if there is none", unsubscribe);
}
