use axum::http::Method;
use holdfast_app::namespaces::namespace::{self, NamespaceRef};
use holdfast_domain::policy::InstanceAction::ListGroups;

use super::ApiResult;
use crate::present::v4::namespace::{NamespaceBasic, NamespaceExistence, present_existence, present_namespace};
use crate::response::{Body, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ListNamespaces {
        /// Part of the name or path.
        optional search: String,
        /// Whether to list only the namespaces that the current user owns.
        optional owned_only: bool,
    }
}

async fn list(context: RequestContext, params: ListNamespaces) -> ApiResult<PageBody<NamespaceBasic>> {
    let search = params.search.filter(|term| !term.is_empty());
    let (app, actor, search) = (context.app(), &context.actor, search.as_deref());
    let page = match params.owned_only {
        Some(true) => namespace::list_owned(app, actor, search, context.page).await?,
        _ => namespace::list(app, actor, search, context.page).await?,
    };
    Ok(PageBody(page.map(|namespace| present_namespace(namespace, context.site()))))
}

params! {
    struct OneNamespace {
        /// Id or path of the namespace.
        required id: String,
    }
}

async fn show(context: RequestContext, params: OneNamespace) -> ApiResult<Body<NamespaceBasic>> {
    let is_number = params.id.bytes().all(|byte| byte.is_ascii_digit());
    let namespace = match params.id.parse::<i64>() {
        Ok(id) if is_number => NamespaceRef::Id(id.into()),
        _ => NamespaceRef::Path(params.id),
    };
    let namespace = namespace::show(context.app(), &context.actor, &namespace).await?;
    Ok(Body(present_namespace(namespace, context.site())))
}

params! {
    struct OnePath {
        /// Path of a namespace.
        required id: String,
    }
}

async fn exists(context: RequestContext, params: OnePath) -> ApiResult<Body<NamespaceExistence>> {
    Ok(Body(present_existence(namespace::check_path(context.app(), &context.actor, &params.id).await?)))
}

pub fn routes(routes: &mut Routes) {
    let browse = Access::Instance(ListGroups);
    routes.add(Method::GET, "/namespaces", browse, "List the namespaces available for new projects", list);
    routes.add(Method::GET, "/namespaces/:id", browse, "Get a namespace", show);
    routes.add(Method::GET, "/namespaces/:id/exists", browse, "Get whether the path of a namespace is taken", exists);
}
