//! The table of routes. A route is declared once, with its method, path, access and handler; from that come the router,
//! `docs/routes.txt`, the OpenAPI document and the test that drives every route as every role.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{Method, StatusCode};
use axum::routing::{MethodFilter, MethodRouter};
use utoipa::openapi::{RefOr, Schema};

use crate::answer::Answer;
use crate::door::{Endpoint, pass};
use crate::error::no_route;
use crate::params::{ParamDoc, ParamSet};
use crate::{Access, Context};

/// A declared route, as documents and tests see it.
pub struct Route {
    pub method: Method,
    /// Below `/api/v3`, with `:name` for parameters.
    pub path: &'static str,
    pub access: Access,
    pub summary: &'static str,
    pub params: Vec<ParamDoc>,
    pub status: StatusCode,
    pub or_nothing: Option<StatusCode>,
    pub is_list: bool,
    pub takes_file: bool,
    pub content_types: &'static [&'static str],
    pub answer: RefOr<Schema>,
    pub schemas: Vec<(String, RefOr<Schema>)>,
}

#[derive(Default)]
pub struct Routes {
    list: Vec<Route>,
    routers: BTreeMap<&'static str, MethodRouter<Arc<Context>>>,
}

impl Routes {
    pub fn add<P: ParamSet + 'static, A: Answer + 'static>(
        &mut self,
        method: Method,
        path: &'static str,
        access: Access,
        summary: &'static str,
        endpoint: impl Endpoint<P, A>,
    ) {
        let mut schemas = Vec::new();
        A::schemas(&mut schemas);
        let filter = MethodFilter::try_from(method.clone()).expect("a method of HTTP itself");
        self.list.push(Route {
            method,
            path,
            access,
            summary,
            params: P::describe(),
            status: A::STATUS,
            or_nothing: A::OR_NOTHING,
            is_list: A::IS_LIST,
            takes_file: P::TAKES_FILE,
            content_types: A::CONTENT_TYPES,
            answer: A::schema(),
            schemas,
        });
        let handler = move |State(context): State<Arc<Context>>, path: Result<RawPathParams, _>, request: Request| {
            // Boxed here: every layer around it would otherwise move some kilobytes of it.
            Box::pin(pass(context, access, endpoint.clone(), drop_reason(path), request))
        };
        let router = self.routers.remove(path).unwrap_or_default();
        self.routers.insert(path, router.on(filter, handler));
    }

    pub fn list(&self) -> &[Route] {
        &self.list
    }

    pub(crate) fn into_router(self) -> Router<Arc<Context>> {
        self.routers.into_iter().fold(Router::new(), |router, (path, methods)| {
            // A known path with another method is no route, as existing clients expect.
            router.route(&braced(path), methods.fallback(no_route))
        })
    }
}

fn drop_reason(
    path: Result<RawPathParams, axum::extract::rejection::RawPathParamsRejection>,
) -> Result<RawPathParams, ()> {
    path.map_err(drop)
}

/// `/users/:id` as the router and OpenAPI write it: `/users/{id}`.
pub fn braced(path: &str) -> String {
    let segment = |part: &str| match part.strip_prefix(':') {
        Some(name) => format!("{{{name}}}"),
        None => part.to_owned(),
    };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// One line per route.
pub fn to_text(routes: &[Route]) -> String {
    let mut routes: Vec<&Route> = routes.iter().collect();
    routes.sort_by_key(|route| (route.path, route.method.as_str()));
    let line = |route: &Route| format!("{:<6} {:<40} {}\n", route.method.as_str(), route.path, route.access.describe());
    routes.into_iter().map(line).collect()
}
