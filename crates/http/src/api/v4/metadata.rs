use axum::http::Method;
use holdfast_domain::policy::InstanceAction::ReadUsers;

use super::ApiResult;
use crate::present::v4::metadata::{self, MetadataBody, VersionBody};
use crate::response::Body;
use crate::{Access, RequestContext, Routes};

async fn version(_: RequestContext, (): ()) -> ApiResult<Body<VersionBody>> {
    Ok(Body(metadata::version()))
}

async fn show(_: RequestContext, (): ()) -> ApiResult<Body<MetadataBody>> {
    Ok(Body(metadata::metadata()))
}

pub fn routes(routes: &mut Routes) {
    let signed_in = Access::Instance(ReadUsers);
    routes.add(Method::GET, "/version", signed_in, "Show the version of the API", version);
    routes.add(Method::GET, "/metadata", signed_in, "Show the version of the API and what this server offers", show);
}
