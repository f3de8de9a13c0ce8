use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::namespaces::member::{self, Membership};
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::GroupAction::{ManageMembers, ReadMembers};

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::present::member::{MemberBody, member as present};
use crate::{Access, Cx, Routes, params};

params! {
    struct ListMembers {
        /// Number or path of the group.
        required id: GroupRef,
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
        /// Number or path of the group.
        required id: GroupRef,
        required user_id: UserId,
    }
}

async fn show(cx: Cx, params: OneMember) -> ApiResult<Body<MemberBody>> {
    let member = member::show(cx.app(), &cx.actor, &params.id, params.user_id).await?;
    Ok(Body(present(member, cx.site())))
}

params! {
    struct SaveMember {
        /// Number or path of the group.
        required id: GroupRef,
        required user_id: UserId,
        /// 10 guest, 20 reporter, 30 developer, 40 master, 50 owner.
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

async fn create(cx: Cx, params: SaveMember) -> ApiResult<Created<MemberBody>> {
    let member = member::create(cx.app(), &cx.actor, &params.id, params.user_id, params.membership()).await?;
    Ok(Created(present(member, cx.site())))
}

async fn update(cx: Cx, params: SaveMember) -> ApiResult<Body<MemberBody>> {
    let member = member::update(cx.app(), &cx.actor, &params.id, params.user_id, params.membership()).await?;
    Ok(Body(present(member, cx.site())))
}

async fn delete(cx: Cx, params: OneMember) -> ApiResult<Body<MemberBody>> {
    let member = member::delete(cx.app(), &cx.actor, &params.id, params.user_id).await?;
    Ok(Body(present(member, cx.site())))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/groups/:id/members";
    const ONE: &str = "/groups/:id/members/:user_id";
    let (read, manage) = (Access::Group(ReadMembers), Access::Group(ManageMembers));
    routes.add(Method::GET, PATH, read, "Lists the direct members of a group", list);
    routes.add(Method::GET, ONE, read, "Shows a direct member of a group", show);
    routes.add(Method::POST, PATH, manage, "Adds a member", create);
    routes.add(Method::PUT, ONE, manage, "Changes a member", update);
    routes.add(Method::DELETE, ONE, manage, "Removes a member; everybody may remove himself", delete);
}
