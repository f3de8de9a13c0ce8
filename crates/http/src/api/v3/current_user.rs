use axum::http::Method;
use holdfast_app::accounts::user;
use holdfast_domain::policy::InstanceAction::ManageOwnAccount;

use super::ApiResult;
use crate::present::user::{UserFull, full};
use crate::response::Body;
use crate::{Access, RequestContext, Routes};

async fn show(context: RequestContext, (): ()) -> ApiResult<Body<UserFull>> {
    Ok(Body(full(user::show_own(context.app(), &context.actor).await?, context.site())))
}

pub fn routes(routes: &mut Routes) {
    routes.add(Method::GET, "/user", Access::Instance(ManageOwnAccount), "Get the current user", show);
}
