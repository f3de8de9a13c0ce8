use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::namespaces::member::{self as of_group, Membership};
use holdfast_app::projects::member as of_project;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::{GroupAction, ProjectAction};
use serde::Serialize;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::ApiResult;
use crate::present::member::{MemberBody, member as present};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

/// Defines the same endpoints for groups and for projects. Removal is not among them, because its responses differ.
macro_rules! endpoints {
    ($source:ident, $Ref:ty, $members:ident) => {
        mod $source {
            use super::*;

            params! {
                pub struct ListMembers {
                    /// Id or path of the group or project.
                    required id: $Ref,
                    /// Part of the name, username or email address.
                    optional query: String,
                }
            }

            pub async fn list(context: RequestContext, params: ListMembers) -> ApiResult<PageBody<MemberBody>> {
                let query = params.query.filter(|term| !term.is_empty());
                let page =
                    $members::list(context.app(), &context.actor, &params.id, query.as_deref(), context.page).await?;
                Ok(PageBody(page.map(|member| present(member, context.site()))))
            }

            params! {
                pub struct OneMember {
                    /// Id or path of the group or project.
                    required id: $Ref,
                    /// Id of the member.
                    required user_id: UserId,
                }
            }

            pub async fn show(context: RequestContext, params: OneMember) -> ApiResult<Body<MemberBody>> {
                let member = $members::show(context.app(), &context.actor, &params.id, params.user_id).await?;
                Ok(Body(present(member, context.site())))
            }

            params! {
                pub struct SaveMember {
                    /// Id or path of the group or project.
                    required id: $Ref,
                    /// Id of the member.
                    required user_id: UserId,
                    /// 10 guest, 20 reporter, 30 developer, 40 master, 50 owner (only in groups).
                    required access_level: i64,
                    /// First day on which the membership is no longer valid.
                    nullable expires_at: NaiveDate,
                }
            }

            impl SaveMember {
                fn membership(&self) -> Membership {
                    Membership { access_level: self.access_level, expires_at: self.expires_at }
                }
            }

            pub async fn create(context: RequestContext, params: SaveMember) -> ApiResult<Created<MemberBody>> {
                let (user, membership) = (params.user_id, params.membership());
                let member = $members::create(context.app(), &context.actor, &params.id, user, membership).await?;
                Ok(Created(present(member, context.site())))
            }

            pub async fn update(context: RequestContext, params: SaveMember) -> ApiResult<Body<MemberBody>> {
                let (user, membership) = (params.user_id, params.membership());
                let member = $members::update(context.app(), &context.actor, &params.id, user, membership).await?;
                Ok(Body(present(member, context.site())))
            }
        }
    };
}

endpoints!(groups, GroupRef, of_group);
endpoints!(projects, ProjectRef, of_project);

async fn delete_from_group(context: RequestContext, params: groups::OneMember) -> ApiResult<Body<MemberBody>> {
    let member = of_group::delete(context.app(), &context.actor, &params.id, params.user_id).await?;
    Ok(Body(present(member, context.site())))
}

/// The removed member, or a message if there was no such member.
#[derive(Serialize)]
#[serde(untagged)]
enum RemovedMember {
    Member(MemberBody),
    NoMember { message: &'static str, id: i64 },
}

impl PartialSchema for RemovedMember {
    fn schema() -> RefOr<Schema> {
        AnyOfBuilder::new().item(MemberBody::schema()).item(RefOr::T(Schema::Object(Default::default()))).into()
    }
}

impl ToSchema for RemovedMember {
    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        MemberBody::schemas(into);
    }
}

async fn delete_from_project(context: RequestContext, params: projects::OneMember) -> ApiResult<Body<RemovedMember>> {
    let member = of_project::delete(context.app(), &context.actor, &params.id, params.user_id).await?;
    let none = RemovedMember::NoMember { message: "Access revoked", id: params.user_id.get() };
    Ok(Body(member.map_or(none, |member| RemovedMember::Member(present(member, context.site())))))
}

pub fn routes(routes: &mut Routes) {
    const GROUP: &str = "/groups/:id/members";
    const ONE_OF_GROUP: &str = "/groups/:id/members/:user_id";
    let (read, manage) = (Access::Group(GroupAction::ReadMembers), Access::Group(GroupAction::ManageMembers));
    routes.add(Method::GET, GROUP, read, "List the direct members of a group", groups::list);
    routes.add(Method::GET, ONE_OF_GROUP, read, "Get a direct member of a group", groups::show);
    routes.add(Method::POST, GROUP, manage, "Add a member to a group", groups::create);
    routes.add(Method::PUT, ONE_OF_GROUP, manage, "Update a member of a group", groups::update);
    let leave = "Remove a member";
    routes.add(Method::DELETE, ONE_OF_GROUP, manage, leave, delete_from_group);

    const PROJECT: &str = "/projects/:id/members";
    const ONE_OF_PROJECT: &str = "/projects/:id/members/:user_id";
    let (read, manage) = (Access::Project(ProjectAction::ReadMembers), Access::Project(ProjectAction::ManageMembers));
    routes.add(Method::GET, PROJECT, read, "List the direct members of a project", projects::list);
    routes.add(Method::GET, ONE_OF_PROJECT, read, "Get a direct member of a project", projects::show);
    routes.add(Method::POST, PROJECT, manage, "Add a member to a project", projects::create);
    routes.add(Method::PUT, ONE_OF_PROJECT, manage, "Update a member of a project", projects::update);
    routes.add(Method::DELETE, ONE_OF_PROJECT, manage, leave, delete_from_project);
}
