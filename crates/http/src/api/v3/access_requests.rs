use axum::http::Method;
use holdfast_app::namespaces::access_request as of_group;
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::projects::access_request as of_project;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::{GroupAction, ProjectAction};

use super::ApiResult;
use crate::present::access_request::{AccessRequestBody, access_request as present};
use crate::present::member::{MemberBody, member as present_member};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

/// Defines the same endpoints for groups and for projects.
macro_rules! endpoints {
    ($source:ident, $Ref:ty, $requests:ident) => {
        mod $source {
            use super::*;

            params! {
                pub struct One {
                    /// Id or path of the group or project.
                    required id: $Ref,
                }
            }

            pub async fn list(context: RequestContext, params: One) -> ApiResult<PageBody<AccessRequestBody>> {
                let page = $requests::list(context.app(), &context.actor, &params.id, context.page).await?;
                Ok(PageBody(page.map(|request| present(request, context.site()))))
            }

            pub async fn create(context: RequestContext, params: One) -> ApiResult<Created<AccessRequestBody>> {
                let request = $requests::create(context.app(), &context.actor, &params.id).await?;
                Ok(Created(present(request, context.site())))
            }

            params! {
                pub struct Approve {
                    /// Id or path of the group or project.
                    required id: $Ref,
                    /// Id of the user that requested access.
                    required user_id: UserId,
                    /// Access level of the new member, 30 (developer) by default.
                    optional access_level: i64,
                }
            }

            pub async fn approve(context: RequestContext, params: Approve) -> ApiResult<Created<MemberBody>> {
                let (user, level) = (params.user_id, params.access_level);
                let member = $requests::approve(context.app(), &context.actor, &params.id, user, level).await?;
                Ok(Created(present_member(member, context.site())))
            }

            params! {
                pub struct Deny {
                    /// Id or path of the group or project.
                    required id: $Ref,
                    /// Id of the user that requested access.
                    required user_id: UserId,
                }
            }

            pub async fn delete(context: RequestContext, params: Deny) -> ApiResult<Body<bool>> {
                $requests::delete(context.app(), &context.actor, &params.id, params.user_id).await?;
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
    routes.add(Method::GET, GROUP, manage, "List the access requests of a group", groups::list);
    routes.add(Method::POST, GROUP, request, "Request access to a group", groups::create);
    routes.add(Method::PUT, APPROVE_OF_GROUP, manage, "Approve an access request to a group", groups::approve);
    routes.add(Method::DELETE, ONE_OF_GROUP, manage, "Deny or withdraw an access request", groups::delete);

    const PROJECT: &str = "/projects/:id/access_requests";
    const ONE_OF_PROJECT: &str = "/projects/:id/access_requests/:user_id";
    const APPROVE_OF_PROJECT: &str = "/projects/:id/access_requests/:user_id/approve";
    let manage = Access::Project(ProjectAction::ManageMembers);
    let request = Access::Project(ProjectAction::RequestAccess);
    routes.add(Method::GET, PROJECT, manage, "List the access requests of a project", projects::list);
    routes.add(Method::POST, PROJECT, request, "Request access to a project", projects::create);
    routes.add(Method::PUT, APPROVE_OF_PROJECT, manage, "Approve an access request to a project", projects::approve);
    routes.add(Method::DELETE, ONE_OF_PROJECT, manage, "Deny or withdraw an access request", projects::delete);
}
