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
use crate::answer::{Body, Created, Listed};
use crate::present::member::{MemberBody, member as present};
use crate::{Access, Cx, Routes, params};

/// The same endpoints for groups and for projects, but for the last.
macro_rules! endpoints {
    ($source:ident, $Ref:ty, $members:ident) => {
        mod $source {
            use super::*;

            params! {
                pub struct ListMembers {
                    /// Number or path.
                    required id: $Ref,
                    /// Part of a name, username or e-mail address.
                    optional query: String,
                }
            }

            pub async fn list(cx: Cx, params: ListMembers) -> ApiResult<Listed<MemberBody>> {
                let query = params.query.filter(|term| !term.is_empty());
                let page = $members::list(cx.app(), &cx.actor, &params.id, query.as_deref(), cx.page).await?;
                Ok(Listed(page.map(|member| present(member, cx.site()))))
            }

            params! {
                pub struct OneMember {
                    /// Number or path.
                    required id: $Ref,
                    required user_id: UserId,
                }
            }

            pub async fn show(cx: Cx, params: OneMember) -> ApiResult<Body<MemberBody>> {
                let member = $members::show(cx.app(), &cx.actor, &params.id, params.user_id).await?;
                Ok(Body(present(member, cx.site())))
            }

            params! {
                pub struct SaveMember {
                    /// Number or path.
                    required id: $Ref,
                    required user_id: UserId,
                    /// 10 guest, 20 reporter, 30 developer, 40 master, 50 owner (of groups only).
                    required access_level: i64,
                    /// The first day on which the membership no longer counts.
                    changed expires_at: NaiveDate,
                }
            }

            impl SaveMember {
                fn membership(&self) -> Membership {
                    Membership { access_level: self.access_level, expires_at: self.expires_at }
                }
            }

            pub async fn create(cx: Cx, params: SaveMember) -> ApiResult<Created<MemberBody>> {
                let (user, membership) = (params.user_id, params.membership());
                let member = $members::create(cx.app(), &cx.actor, &params.id, user, membership).await?;
                Ok(Created(present(member, cx.site())))
            }

            pub async fn update(cx: Cx, params: SaveMember) -> ApiResult<Body<MemberBody>> {
                let (user, membership) = (params.user_id, params.membership());
                let member = $members::update(cx.app(), &cx.actor, &params.id, user, membership).await?;
                Ok(Body(present(member, cx.site())))
            }
        }
    };
}

endpoints!(groups, GroupRef, of_group);
endpoints!(projects, ProjectRef, of_project);

async fn delete_from_group(cx: Cx, params: groups::OneMember) -> ApiResult<Body<MemberBody>> {
    let member = of_group::delete(cx.app(), &cx.actor, &params.id, params.user_id).await?;
    Ok(Body(present(member, cx.site())))
}

/// The member that was, or that there is none.
#[derive(Serialize)]
#[serde(untagged)]
enum Removed {
    Member(MemberBody),
    NoMember { message: &'static str, id: i64 },
}

impl PartialSchema for Removed {
    fn schema() -> RefOr<Schema> {
        AnyOfBuilder::new().item(MemberBody::schema()).item(RefOr::T(Schema::Object(Default::default()))).into()
    }
}

impl ToSchema for Removed {
    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        MemberBody::schemas(into);
    }
}

async fn delete_from_project(cx: Cx, params: projects::OneMember) -> ApiResult<Body<Removed>> {
    let member = of_project::delete(cx.app(), &cx.actor, &params.id, params.user_id).await?;
    let none = Removed::NoMember { message: "Access revoked", id: params.user_id.get() };
    Ok(Body(member.map_or(none, |member| Removed::Member(present(member, cx.site())))))
}

pub fn routes(routes: &mut Routes) {
    const GROUP: &str = "/groups/:id/members";
    const ONE_OF_GROUP: &str = "/groups/:id/members/:user_id";
    let (read, manage) = (Access::Group(GroupAction::ReadMembers), Access::Group(GroupAction::ManageMembers));
    routes.add(Method::GET, GROUP, read, "Lists the direct members of a group", groups::list);
    routes.add(Method::GET, ONE_OF_GROUP, read, "Shows a direct member of a group", groups::show);
    routes.add(Method::POST, GROUP, manage, "Adds a member to a group", groups::create);
    routes.add(Method::PUT, ONE_OF_GROUP, manage, "Changes a member of a group", groups::update);
    let leave = "Removes a member; everybody may remove himself";
    routes.add(Method::DELETE, ONE_OF_GROUP, manage, leave, delete_from_group);

    const PROJECT: &str = "/projects/:id/members";
    const ONE_OF_PROJECT: &str = "/projects/:id/members/:user_id";
    let (read, manage) = (Access::Project(ProjectAction::ReadMembers), Access::Project(ProjectAction::ManageMembers));
    routes.add(Method::GET, PROJECT, read, "Lists the direct members of a project", projects::list);
    routes.add(Method::GET, ONE_OF_PROJECT, read, "Shows a direct member of a project", projects::show);
    routes.add(Method::POST, PROJECT, manage, "Adds a member to a project, or shows who is one", projects::create);
    routes.add(Method::PUT, ONE_OF_PROJECT, manage, "Changes a member of a project", projects::update);
    routes.add(Method::DELETE, ONE_OF_PROJECT, manage, leave, delete_from_project);
}
