use axum::http::Method;
use holdfast_app::activity::inbox;
use holdfast_domain::policy::InstanceAction::ManageOwnAccount;

use super::ApiResult;
use crate::present::v4::user_counts::{UserCounts, present_counts};
use crate::response::Body;
use crate::{Access, RequestContext, Routes};

async fn show(context: RequestContext, (): ()) -> ApiResult<Body<UserCounts>> {
    Ok(Body(present_counts(inbox::count(context.app(), &context.actor).await?)))
}

pub fn routes(routes: &mut Routes) {
    let own = Access::Instance(ManageOwnAccount);
    routes.add(Method::GET, "/user_counts", own, "Count what needs the attention of the current user", show);
}
