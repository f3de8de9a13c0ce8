use axum::http::Method;
use holdfast_app::namespaces::access_request as of_group;
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::projects::access_request as of_project;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::{GroupAction, ProjectAction};

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::present::access_request::{AccessRequestBody, access_request as present};
use crate::present::member::{MemberBody, member as present_member};
use crate::{Access, Cx, Routes, params};

/// The same four endpoints for groups and for projects.
macro_rules! endpoints {
    ($source:ident, $Ref:ty, $requests:ident) => {
        mod $source {
            use super::*;

            params! {
                pub struct One {
                    /// Number or path.
                    required id: $Ref,
                }
            }

            pub async fn list(cx: Cx, params: One) -> ApiResult<Listed<AccessRequestBody>> {
                let page = $requests::list(cx.app(), &cx.actor, &params.id, cx.page).await?;
                Ok(Listed(page.map(|request| present(request, cx.site()))))
            }

            pub async fn create(cx: Cx, params: One) -> ApiResult<Created<AccessRequestBody>> {
                let request = $requests::create(cx.app(), &cx.actor, &params.id).await?;
                Ok(Created(present(request, cx.site())))
            }

            params! {
                pub struct Approve {
                    /// Number or path.
                    required id: $Ref,
                    required user_id: UserId,
                    /// 30, developer, by default.
                    optional access_level: i64,
                }
            }

            pub async fn approve(cx: Cx, params: Approve) -> ApiResult<Created<MemberBody>> {
                let (user, level) = (params.user_id, params.access_level);
                let member = $requests::approve(cx.app(), &cx.actor, &params.id, user, level).await?;
                Ok(Created(present_member(member, cx.site())))
            }

            params! {
                pub struct Deny {
                    /// Number or path.
                    required id: $Ref,
                    required user_id: UserId,
                }
            }

            pub async fn delete(cx: Cx, params: Deny) -> ApiResult<Body<bool>> {
                $requests::delete(cx.app(), &cx.actor, &params.id, params.user_id).await?;
                Ok(Body(true))
            }
        }
    };
}

endpoints!(groups, GroupRef, of_group);
endpoints!(projects, ProjectRef, of_project);

pub fn routes(routes: &mut Routes) {
    const GROUP: &str = "/groups/:id/access_requests";
    const ONE_OF_GROUP: &str = "/groups/:id/access_requests/:user_id";
    const APPROVE_OF_GROUP: &str = "/groups/:id/access_requests/:user_id/approve";
    let (manage, request) = (Access::Group(GroupAction::ManageMembers), Access::Group(GroupAction::RequestAccess));
    routes.add(Method::GET, GROUP, manage, "Lists who asks for access to a group", groups::list);
    routes.add(Method::POST, GROUP, request, "Asks for access to a group", groups::create);
    routes.add(Method::PUT, APPROVE_OF_GROUP, manage, "Makes a requester a member of a group", groups::approve);
    routes.add(Method::DELETE, ONE_OF_GROUP, manage, "Denies or withdraws a request", groups::delete);

    const PROJECT: &str = "/projects/:id/access_requests";
    const ONE_OF_PROJECT: &str = "/projects/:id/access_requests/:user_id";
    const APPROVE_OF_PROJECT: &str = "/projects/:id/access_requests/:user_id/approve";
    let manage = Access::Project(ProjectAction::ManageMembers);
    let request = Access::Project(ProjectAction::RequestAccess);
    routes.add(Method::GET, PROJECT, manage, "Lists who asks for access to a project", projects::list);
    routes.add(Method::POST, PROJECT, request, "Asks for access to a project", projects::create);
    routes.add(Method::PUT, APPROVE_OF_PROJECT, manage, "Makes a requester a member of a project", projects::approve);
    routes.add(Method::DELETE, ONE_OF_PROJECT, manage, "Denies or withdraws a request", projects::delete);
}
