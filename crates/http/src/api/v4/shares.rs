use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::projects::share;
use holdfast_domain::AccessLevel;
use holdfast_domain::ids::NamespaceId;
use holdfast_domain::policy::ProjectAction::Share;
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiResult;
use crate::api::shared::shares::delete;
use crate::response::Created;
use crate::{Access, RequestContext, Routes, params};

/// A share of a project with a group.
#[derive(Serialize, ToSchema)]
struct NewProjectShare {
    id: i64,
    project_id: i64,
    group_id: i64,
    group_access: i16,
    expires_at: Option<NaiveDate>,
}

params! {
    struct CreateShare {
        required id: ProjectRef,
        /// Id of the group.
        required group_id: NamespaceId,
        /// Maximum access level of the group members: 10 guest, 20 reporter, 30 developer, 40 maintainer.
        required group_access: AccessLevel,
        /// First day on which the project is no longer shared.
        optional expires_at: NaiveDate,
    }
}

async fn create(context: RequestContext, params: CreateShare) -> ApiResult<Created<NewProjectShare>> {
    let (group, level) = (params.group_id, params.group_access);
    let share = share::create(context.app(), &context.actor, &params.id, group, level, params.expires_at).await?;
    Ok(Created(NewProjectShare {
        id: share.id,
        project_id: share.project.get(),
        group_id: share.group.get(),
        group_access: share.access_level.as_i16(),
        expires_at: share.expires_at,
    }))
}

pub fn routes(routes: &mut Routes) {
    let share = Access::Project(Share);
    routes.add(Method::POST, "/projects/:id/share", share, "Share a project with a group", create);
    routes.add(Method::DELETE, "/projects/:id/share/:group_id", share, "Stop sharing a project with a group", delete);
}
