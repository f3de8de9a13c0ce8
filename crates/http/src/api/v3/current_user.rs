use axum::http::Method;
use holdfast_app::accounts::user;
use holdfast_domain::policy::InstanceAction::ManageOwnAccount;

use super::ApiResult;
use crate::answer::Body;
use crate::present::user::{UserFull, full};
use crate::{Access, Cx, Routes};

async fn show(cx: Cx, (): ()) -> ApiResult<Body<UserFull>> {
    Ok(Body(full(user::show_own(cx.app(), &cx.actor).await?, cx.site())))
}

pub fn routes(routes: &mut Routes) {
    routes.add(Method::GET, "/user", Access::Instance(ManageOwnAccount), "The caller's own account", show);
}
