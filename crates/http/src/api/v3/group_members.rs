use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::namespaces::member::{self, Membership};
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::GroupAction;

use super::ApiResult;
use crate::present::member::{MemberBody, present_member};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ListMembers {
        required id: GroupRef,
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
        required id: GroupRef,
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
        required id: GroupRef,
        /// Id of the member.
        required user_id: UserId,
        /// 10 guest, 20 reporter, 30 developer, 40 master, 50 owner.
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

async fn delete(context: RequestContext, params: OneMember) -> ApiResult<Body<MemberBody>> {
    let member = member::delete(context.app(), &context.actor, &params.id, params.user_id).await?;
    Ok(Body(present_member(member, context.site())))
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/groups/:id/members";
    const ONE: &str = "/groups/:id/members/:user_id";
    let (read, manage) = (Access::Group(GroupAction::ReadMembers), Access::Group(GroupAction::ManageMembers));
    routes.add(Method::GET, ALL, read, "List the direct members of a group", list);
    routes.add(Method::GET, ONE, read, "Get a direct member of a group", show);
    routes.add(Method::POST, ALL, manage, "Add a member to a group", create);
    routes.add(Method::PUT, ONE, manage, "Update a member of a group", update);
    routes.add(Method::DELETE, ONE, manage, "Remove a member", delete);
}
