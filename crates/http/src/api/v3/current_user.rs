use axum::http::Method;
use holdfast_domain::policy::InstanceAction::ManageOwnAccount;

use super::ApiResult;
use crate::Cx;
use crate::answer::Body;
use crate::present::user::{self, UserFull};
use crate::routes::{Access, Routes};

/// The caller was loaded with its token: no further query is needed.
async fn show(cx: Cx, (): ()) -> ApiResult<Body<UserFull>> {
    let user = cx.actor.caller()?.user.clone();
    Ok(Body(user::full(user, cx.site())))
}

pub fn routes(routes: &mut Routes) {
    routes.add(Method::GET, "/user", Access::Instance(ManageOwnAccount), "The caller's own account", show);
}
