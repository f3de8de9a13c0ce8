use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::namespaces::member::Membership;
use holdfast_app::projects::member;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::ProjectAction::{ManageMembers, ReadMembers};
use serde::Serialize;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::present::member::{MemberBody, member as present};
use crate::{Access, Cx, Routes, params};

params! {
    struct ListMembers {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// Part of a name, username or e-mail address.
        optional query: String,
    }
}

async fn list(cx: Cx, params: ListMembers) -> ApiResult<Listed<MemberBody>> {
    let query = params.query.filter(|term| !term.is_empty());
    let page = member::list(cx.app(), &cx.actor, &params.id, query.as_deref(), cx.page).await?;
    Ok(Listed(page.map(|member| present(member, cx.site()))))
}

params! {
    struct OneMember {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required user_id: UserId,
    }
}

async fn show(cx: Cx, params: OneMember) -> ApiResult<Body<MemberBody>> {
    let member = member::show(cx.app(), &cx.actor, &params.id, params.user_id).await?;
    Ok(Body(present(member, cx.site())))
}

params! {
    struct SaveMember {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required user_id: UserId,
        /// 10 guest, 20 reporter, 30 developer, 40 master.
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

/// Who is a member already is shown as it is, unchanged.
async fn create(cx: Cx, params: SaveMember) -> ApiResult<Created<MemberBody>> {
    let member = member::create(cx.app(), &cx.actor, &params.id, params.user_id, params.membership()).await?;
    Ok(Created(present(member, cx.site())))
}

async fn update(cx: Cx, params: SaveMember) -> ApiResult<Body<MemberBody>> {
    let member = member::update(cx.app(), &cx.actor, &params.id, params.user_id, params.membership()).await?;
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

async fn delete(cx: Cx, params: OneMember) -> ApiResult<Body<Removed>> {
    let member = member::delete(cx.app(), &cx.actor, &params.id, params.user_id).await?;
    let none = Removed::NoMember { message: "Access revoked", id: params.user_id.get() };
    Ok(Body(member.map_or(none, |member| Removed::Member(present(member, cx.site())))))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/members";
    const ONE: &str = "/projects/:id/members/:user_id";
    let (read, manage) = (Access::Project(ReadMembers), Access::Project(ManageMembers));
    routes.add(Method::GET, PATH, read, "Lists the direct members of a project", list);
    routes.add(Method::GET, ONE, read, "Shows a direct member of a project", show);
    routes.add(Method::POST, PATH, manage, "Adds a member", create);
    routes.add(Method::PUT, ONE, manage, "Changes a member", update);
    routes.add(Method::DELETE, ONE, manage, "Removes a member; everybody may remove himself", delete);
}
