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
use crate::answer::{Created, Nothing};
use crate::{Access, Cx, Routes, params};

/// That a project is shared with a group.
#[derive(Serialize, ToSchema)]
struct NewShareBody {
    id: i64,
    project_id: i64,
    group_id: i64,
    group_access: i16,
    expires_at: Option<NaiveDate>,
}

params! {
    struct CreateShare {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required group_id: NamespaceId,
        /// 10 guest, 20 reporter, 30 developer, 40 master.
        required group_access: AccessLevel,
        /// The first day on which it is no longer shared.
        optional expires_at: NaiveDate,
    }
}

async fn create(cx: Cx, params: CreateShare) -> ApiResult<Created<NewShareBody>> {
    let (group, level) = (params.group_id, params.group_access);
    let made = share::create(cx.app(), &cx.actor, &params.id, group, level, params.expires_at).await?;
    Ok(Created(NewShareBody {
        id: made.id,
        project_id: made.project.get(),
        group_id: made.group.get(),
        group_access: made.access_level.level(),
        expires_at: made.expires_at,
    }))
}

params! {
    struct OneShare {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required group_id: NamespaceId,
    }
}

async fn delete(cx: Cx, params: OneShare) -> ApiResult<Nothing> {
    share::delete(cx.app(), &cx.actor, &params.id, params.group_id).await?;
    Ok(Nothing)
}

pub fn routes(routes: &mut Routes) {
    let share = Access::Project(Share);
    routes.add(Method::POST, "/projects/:id/share", share, "Shares a project with a group", create);
    routes.add(Method::DELETE, "/projects/:id/share/:group_id", share, "Ends the sharing with a group", delete);
}
