use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::namespaces::member::Membership;
use holdfast_app::projects::member;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::ProjectAction;
use serde::Serialize;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::ApiResult;
use crate::present::member::{MemberBody, present_member};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ListMembers {
        required id: ProjectRef,
        /// Part of the name, username or email address.
        optional query: String,
    }
}

async fn list(context: RequestContext, params: ListMembers) -> ApiResult<PageBody<MemberBody>> {
    let query = params.query.filter(|term| !term.is_empty());
    let page = member::list(context.app(), &context.actor, &params.id, query.as_deref(), context.page).await?;
    Ok(PageBody(page.map(|member| present_member(member, context.site()))))
}

params! {
    struct OneMember {
        required id: ProjectRef,
        /// Id of the member.
        required user_id: UserId,
    }
}

async fn show(context: RequestContext, params: OneMember) -> ApiResult<Body<MemberBody>> {
    let member = member::show(context.app(), &context.actor, &params.id, params.user_id).await?;
    Ok(Body(present_member(member, context.site())))
}

params! {
    struct SaveMember {
        required id: ProjectRef,
        /// Id of the member.
        required user_id: UserId,
        /// 10 guest, 20 reporter, 30 developer, 40 master.
        required access_level: i64,
        /// First day on which the membership is no longer valid.
        nullable expires_at: NaiveDate,
    }
}

async fn create(context: RequestContext, params: SaveMember) -> ApiResult<Created<MemberBody>> {
    let membership = Membership { access_level: params.access_level, expires_at: params.expires_at };
    let member = member::create(context.app(), &context.actor, &params.id, params.user_id, membership).await?;
    Ok(Created(present_member(member, context.site())))
}

async fn update(context: RequestContext, params: SaveMember) -> ApiResult<Body<MemberBody>> {
    let membership = Membership { access_level: params.access_level, expires_at: params.expires_at };
    let member = member::update(context.app(), &context.actor, &params.id, params.user_id, membership).await?;
    Ok(Body(present_member(member, context.site())))
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

async fn delete(context: RequestContext, params: OneMember) -> ApiResult<Body<RemovedMember>> {
    let member = member::delete(context.app(), &context.actor, &params.id, params.user_id).await?;
    let none = RemovedMember::NoMember { message: "Access revoked", id: params.user_id.get() };
    Ok(Body(member.map_or(none, |member| RemovedMember::Member(present_member(member, context.site())))))
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/projects/:id/members";
    const ONE: &str = "/projects/:id/members/:user_id";
    let (read, manage) = (Access::Project(ProjectAction::ReadMembers), Access::Project(ProjectAction::ManageMembers));
    routes.add(Method::GET, ALL, read, "List the direct members of a project", list);
    routes.add(Method::GET, ONE, read, "Get a direct member of a project", show);
    routes.add(Method::POST, ALL, manage, "Add a member to a project", create);
    routes.add(Method::PUT, ONE, manage, "Update a member of a project", update);
    routes.add(Method::DELETE, ONE, manage, "Remove a member", delete);
}
