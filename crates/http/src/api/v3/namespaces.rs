use axum::http::Method;
use holdfast_app::namespaces::namespace;
use holdfast_domain::policy::InstanceAction::ListGroups;

use super::ApiResult;
use crate::answer::Listed;
use crate::present::namespace::{NamespaceBody, namespace as present};
use crate::{Access, Cx, Routes, params};

params! {
    struct ListNamespaces {
        /// Part of the name or of the path.
        optional search: String,
    }
}

async fn list(cx: Cx, params: ListNamespaces) -> ApiResult<Listed<NamespaceBody>> {
    let search = params.search.filter(|term| !term.is_empty());
    Ok(Listed(namespace::list(cx.app(), &cx.actor, search.as_deref(), cx.page).await?.map(present)))
}

pub fn routes(routes: &mut Routes) {
    let browse = Access::Instance(ListGroups);
    routes.add(Method::GET, "/namespaces", browse, "Lists where the caller may create projects", list);
}
