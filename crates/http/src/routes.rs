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
use holdfast_domain::accounts::Scope;
use utoipa::openapi::{RefOr, Schema};

use crate::api_version::ApiVersion;
use crate::dispatch::{BoxedEndpoint, Endpoint, RouteChecks, dispatch};
use crate::error::route_not_found;
use crate::params::{ParamDoc, ParamSet};
use crate::response::ApiResponse;
use crate::{Access, Context};

/// A declared route, as documents and tests use it.
pub struct Route {
    pub method: Method,
    pub version: ApiVersion,
    /// Path relative to the prefix of the version, with `:name` for parameters. The last one can be `:name*`, which is
    /// the whole rest of the path with its slashes.
    pub path: &'static str,
    pub access: Access,
    /// The scope that a token needs.
    pub scope: Scope,
    /// Whether running builds can call the route with their job token.
    pub accepts_job_token: bool,
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

/// The routes of one version of the API.
pub struct Routes {
    version: ApiVersion,
    list: Vec<Route>,
    routers: BTreeMap<&'static str, MethodRouter<Arc<Context>>>,
}

impl Routes {
    pub(crate) fn new(version: ApiVersion) -> Self {
        Self { version, list: Vec::new(), routers: BTreeMap::new() }
    }

    pub fn add<P: ParamSet + 'static, A: ApiResponse + 'static>(
        &mut self,
        method: Method,
        path: &'static str,
        access: Access,
        summary: &'static str,
        endpoint: impl Endpoint<P, A>,
    ) {
        let route = self.describe::<P, A>(method, path, access, summary);
        self.push(route, BoxedEndpoint::new(endpoint));
    }

    /// Adds a route that running builds can also call, with their job token.
    pub fn add_for_builds<P: ParamSet + 'static, A: ApiResponse + 'static>(
        &mut self,
        method: Method,
        path: &'static str,
        access: Access,
        summary: &'static str,
        endpoint: impl Endpoint<P, A>,
    ) {
        let route = self.describe::<P, A>(method, path, access, summary);
        self.push(Route { accepts_job_token: true, ..route }, BoxedEndpoint::new(endpoint));
    }

    /// Adds a route that has an effect although its method is GET. A token needs the same scope as for another method.
    pub fn add_get_with_effect<P: ParamSet + 'static, A: ApiResponse + 'static>(
        &mut self,
        path: &'static str,
        access: Access,
        summary: &'static str,
        endpoint: impl Endpoint<P, A>,
    ) {
        let route = self.describe::<P, A>(Method::GET, path, access, summary);
        self.push(Route { scope: Scope::Api, ..route }, BoxedEndpoint::new(endpoint));
    }

    fn describe<P: ParamSet, A: ApiResponse>(
        &self,
        method: Method,
        path: &'static str,
        access: Access,
        summary: &'static str,
    ) -> Route {
        let mut schemas = Vec::new();
        A::schemas(&mut schemas);
        Route {
            scope: required_scope(self.version, &method, path),
            method,
            version: self.version,
            path,
            access,
            accepts_job_token: false,
            summary,
            params: P::describe(),
            status: A::STATUS,
            empty_status: A::EMPTY_STATUS,
            is_list: A::IS_LIST,
            takes_file: P::TAKES_FILE,
            content_types: A::CONTENT_TYPES,
            response_schema: A::schema(),
            schemas,
        }
    }

    fn push(&mut self, route: Route, endpoint: BoxedEndpoint) {
        let filter = MethodFilter::try_from(route.method.clone()).expect("routes use only standard HTTP methods");
        let checks = RouteChecks {
            version: self.version,
            access: route.access,
            scope: route.scope,
            accepts_job_token: route.accepts_job_token,
        };
        let endpoint = Arc::new(endpoint);
        let handler = move |State(context): State<Arc<Context>>, path: Result<RawPathParams, _>, request: Request| {
            // Boxed here, because each layer around it would otherwise move a future of several kilobytes.
            Box::pin(dispatch(context, checks, endpoint.clone(), path, request))
        };
        let router = self.routers.remove(route.path).unwrap_or_default();
        self.routers.insert(route.path, router.on(filter, handler));
        self.list.push(route);
    }

    pub fn list(&self) -> &[Route] {
        &self.list
    }

    pub fn into_list(self) -> Vec<Route> {
        self.list
    }

    pub(crate) fn into_router(self) -> Router<Arc<Context>> {
        self.routers.into_iter().fold(Router::new(), |router, (path, methods)| {
            // A known path with another method responds 404, as existing clients expect.
            router.route(&router_path(path), methods.fallback(route_not_found))
        })
    }
}

/// Returns the scope that a token needs for a route, unless the route declares another one. Reading users has a scope of
/// its own, which does not include their events in projects, and so has reading the files of a repository in version 4.
///
/// `path` is the declared path and not that of a request, so that no text of a client is compared.
fn required_scope(version: ApiVersion, method: &Method, path: &str) -> Scope {
    if method != Method::GET {
        return Scope::Api;
    }
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match (version, segments.as_slice()) {
        (_, ["user" | "users", .., "events"]) => Scope::ReadApi,
        (_, ["user" | "users", ..]) => Scope::ReadUser,
        (ApiVersion::V4, ["projects", _, "repository", part, ..]) if is_repository_content(part) => {
            Scope::ReadRepository
        }
        (ApiVersion::V3 | ApiVersion::V4, _) => Scope::ReadApi,
    }
}

/// Returns whether a segment below `repository` names files, in any of the formats of archives.
fn is_repository_content(segment: &str) -> bool {
    matches!(segment, "files" | "archive" | "blobs" | "tree") || segment.starts_with("archive.")
}

/// Returns the name of the parameter in a segment of a path: `id` for `:id`, and `path` for `:path*`.
pub(crate) fn param_name(segment: &str) -> Option<&str> {
    segment.strip_prefix(':').map(|name| name.strip_suffix('*').unwrap_or(name))
}

/// Converts `/users/:id` to `/users/{id}` and `/files/:path*` to `/files/{path}`, the syntax of OpenAPI.
pub fn brace_path_params(path: &str) -> String {
    let segment = |part: &str| match param_name(part) {
        Some(name) => format!("{{{name}}}"),
        None => part.to_owned(),
    };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// Converts `/users/:id` to `/users/{id}` and `/files/:path*` to `/files/{*path}`, the syntax of the router.
fn router_path(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((parent, last)) if last.ends_with('*') => {
            format!("{}/{{*{}}}", brace_path_params(parent), param_name(last).unwrap_or(last))
        }
        _ => brace_path_params(path),
    }
}

/// Formats the routes as text, one line per route, sorted by path.
pub fn to_text(routes: &[Route]) -> String {
    let mut routes: Vec<&Route> = routes.iter().collect();
    routes.sort_by_key(|route| (route.path, route.method.as_str()));
    let line = |route: &Route| format!("{:<6} {:<40} {}\n", route.method.as_str(), route.path, route.access.describe());
    routes.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_converted_for_the_router_and_for_openapi() {
        for (path, for_router, for_openapi) in [
            ("/users/:id/keys", "/users/{id}/keys", "/users/{id}/keys"),
            ("/jobs/:id/files/:path*", "/jobs/{id}/files/{*path}", "/jobs/{id}/files/{path}"),
            ("/version", "/version", "/version"),
        ] {
            assert_eq!((router_path(path).as_str(), brace_path_params(path).as_str()), (for_router, for_openapi));
        }
    }

    /// Segments count only in their position: a project, a branch or an artifact can have any name.
    #[test]
    fn scopes_depend_on_the_positions_of_segments() {
        let read = |version, path| required_scope(version, &Method::GET, path);
        for path in [
            "/projects/:id/repository/files/:file_path",
            "/projects/:id/repository/files/:file_path/raw",
            "/projects/:id/repository/tree",
            "/projects/:id/repository/blobs/:sha",
            "/projects/:id/repository/archive",
            "/projects/:id/repository/archive.tar.gz",
        ] {
            assert_eq!(read(ApiVersion::V4, path), Scope::ReadRepository, "{path}");
            assert_eq!(read(ApiVersion::V3, path), Scope::ReadApi, "{path}");
            for method in [Method::POST, Method::PUT, Method::DELETE] {
                assert_eq!(required_scope(ApiVersion::V4, &method, path), Scope::Api, "{method} {path}");
            }
        }
        for path in [
            "/projects/:id",
            "/projects/files",
            "/projects/:id/files",
            "/projects/repository/files/tree",
            "/projects/:id/repository",
            "/projects/:id/repository/commits/:sha",
            "/projects/:id/repository/commits/files/tree",
            "/projects/:id/repository/branches/archive.zip",
            "/projects/:id/repository/archived",
            "/projects/:id/repository/files.txt",
            "/projects/:id/jobs/:job_id/artifacts/:artifact_path*",
            "/projects/:id/variables/repository/files",
            "/groups/:id/repository/files",
            "/repository/files",
        ] {
            assert_eq!(read(ApiVersion::V4, path), Scope::ReadApi, "{path}");
        }
        for version in ApiVersion::ALL {
            for path in ["/user", "/users", "/users/:id", "/user/keys/:id"] {
                assert_eq!(read(version, path), Scope::ReadUser, "{path}");
            }
            for path in ["/users/:id/events", "/projects/users", "/groups/:id/users", "/userlist"] {
                assert_eq!(read(version, path), Scope::ReadApi, "{path}");
            }
        }
    }
}
