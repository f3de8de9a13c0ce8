use axum::http::Method;
use holdfast_app::namespaces::namespace;
use holdfast_domain::policy::InstanceAction::ListGroups;

use super::ApiResult;
use crate::present::namespace::{NamespaceBody, present_namespace};
use crate::response::PageBody;
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ListNamespaces {
        /// Part of the name or path.
        optional search: String,
    }
}

async fn list(context: RequestContext, params: ListNamespaces) -> ApiResult<PageBody<NamespaceBody>> {
    let search = params.search.filter(|term| !term.is_empty());
    Ok(PageBody(
        namespace::list(context.app(), &context.actor, search.as_deref(), context.page).await?.map(present_namespace),
    ))
}

pub fn routes(routes: &mut Routes) {
    let browse = Access::Instance(ListGroups);
    routes.add(Method::GET, "/namespaces", browse, "List the namespaces available for new projects", list);
}
