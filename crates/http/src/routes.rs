//! The table of REST routes.
//!
//! A route is declared once, with its method, path, access and endpoint. The router, `docs/routes.txt`, the OpenAPI
//! document and the test that calls every route in every role are derived from the declaration.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{Method, StatusCode};
use axum::routing::{MethodFilter, MethodRouter};
use utoipa::openapi::{RefOr, Schema};

use crate::dispatch::{BoxedEndpoint, Endpoint, dispatch};
use crate::error::route_not_found;
use crate::params::{ParamDoc, ParamSet};
use crate::response::ApiResponse;
use crate::{Access, Context};

/// A declared route, as documents and tests use it.
pub struct Route {
    pub method: Method,
    /// Path relative to `/api/v3`, with `:name` for parameters.
    pub path: &'static str,
    pub access: Access,
    pub summary: &'static str,
    pub params: Vec<ParamDoc>,
    pub status: StatusCode,
    pub empty_status: Option<StatusCode>,
    pub is_list: bool,
    pub takes_file: bool,
    pub content_types: &'static [&'static str],
    pub response_schema: RefOr<Schema>,
    pub schemas: Vec<(String, RefOr<Schema>)>,
}

#[derive(Default)]
pub struct Routes {
    list: Vec<Route>,
    routers: BTreeMap<&'static str, MethodRouter<Arc<Context>>>,
}

impl Routes {
    pub fn add<P: ParamSet + 'static, A: ApiResponse + 'static>(
        &mut self,
        method: Method,
        path: &'static str,
        access: Access,
        summary: &'static str,
        endpoint: impl Endpoint<P, A>,
    ) {
        let mut schemas = Vec::new();
        A::schemas(&mut schemas);
        let route = Route {
            method,
            path,
            access,
            summary,
            params: P::describe(),
            status: A::STATUS,
            empty_status: A::EMPTY_STATUS,
            is_list: A::IS_LIST,
            takes_file: P::TAKES_FILE,
            content_types: A::CONTENT_TYPES,
            response_schema: A::schema(),
            schemas,
        };
        self.push(route, BoxedEndpoint::new(endpoint));
    }

    fn push(&mut self, route: Route, endpoint: BoxedEndpoint) {
        let filter = MethodFilter::try_from(route.method.clone()).expect("routes use only standard HTTP methods");
        let (access, endpoint) = (route.access, Arc::new(endpoint));
        let handler = move |State(context): State<Arc<Context>>, path: Result<RawPathParams, _>, request: Request| {
            // Boxed here, because each layer around it would otherwise move a future of several kilobytes.
            Box::pin(dispatch(context, access, endpoint.clone(), path, request))
        };
        let router = self.routers.remove(route.path).unwrap_or_default();
        self.routers.insert(route.path, router.on(filter, handler));
        self.list.push(route);
    }

    pub fn list(&self) -> &[Route] {
        &self.list
    }

    pub(crate) fn into_router(self) -> Router<Arc<Context>> {
        self.routers.into_iter().fold(Router::new(), |router, (path, methods)| {
            // A known path with another method responds 404, as existing clients expect.
            router.route(&brace_path_params(path), methods.fallback(route_not_found))
        })
    }
}

/// Converts `/users/:id` to `/users/{id}`, the syntax of the router and of OpenAPI.
pub fn brace_path_params(path: &str) -> String {
    let segment = |part: &str| match part.strip_prefix(':') {
        Some(name) => format!("{{{name}}}"),
        None => part.to_owned(),
    };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// Formats the routes as text, one line per route, sorted by path.
pub fn to_text(routes: &[Route]) -> String {
    let mut routes: Vec<&Route> = routes.iter().collect();
    routes.sort_by_key(|route| (route.path, route.method.as_str()));
    let line = |route: &Route| format!("{:<6} {:<40} {}\n", route.method.as_str(), route.path, route.access.describe());
    routes.into_iter().map(line).collect()
}
