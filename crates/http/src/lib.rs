//! The HTTP entry point: the REST API, git over HTTP, the runner protocols and health checks.
//!
//! A handler extracts its parameters, calls one use case and presents the result. Only this crate chooses status codes.

pub mod api;
mod api_version;
mod dispatch;
pub mod error;
mod git;
mod health;
pub mod openapi;
mod path;
mod path_normalization;
mod present;
pub mod response;
pub mod routes;
mod runner;
mod uploads;
mod user_content;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{from_fn_with_state, map_request};
use axum::response::{IntoResponse, Redirect};
use axum::routing::{any, get};
use holdfast_app::App;
use holdfast_app::client::{ClientKey, ClientPermits, KeyedSemaphores};
use holdfast_app::throttle::Throttle;
use holdfast_http_core::PageRoutes;
use holdfast_http_core::middleware::{ServiceContext, enforce_timeout, trace_request};
use tower::ServiceExt as _;
use tower_http::catch_panic::CatchPanicLayer;

pub use api_version::ApiVersion;
pub use dispatch::RequestContext;
pub use holdfast_domain::InstanceUrls;
pub use holdfast_http_core::{Access, Connections, Limits, RequestLimits, choice, params};
pub use routes::{Route, Routes};

use runner::permits::{BuildLimits, BuildPermits};

/// State that is shared by all requests.
pub(crate) struct Context {
    app: Arc<App>,
    site: InstanceUrls,
    limits: Arc<RequestLimits>,
    service: Arc<ServiceContext>,
    /// Limits failed attempts with tokens of runners and builds, per client address.
    runner_token_throttle: Throttle,
    /// Limits file uploads, which are in memory until they are stored.
    upload_permits: ClientPermits,
    /// Limits the lists that are being produced for one client, or wait for a large-response permit. Their size is
    /// known only when they are in memory.
    list_permits: KeyedSemaphores<ClientKey>,
    /// Limits uploads of artifacts to the object store; some parts of each are in memory.
    artifact_permits: BuildPermits,
    /// Limits long parts of traces, which are in memory.
    trace_permits: BuildPermits,
    /// Limits parts of traces of the size that runners usually send, which are in memory, too.
    trace_part_permits: BuildPermits,
    /// Limits the long ref lists that are being sent to one client.
    ref_list_permits: KeyedSemaphores<ClientKey>,
}

const MAX_CONCURRENT_UPLOADS: usize = 8;
/// Maximum number of lists that are produced for one client. Each has up to 20 MB in memory, and more of them would not
/// be faster on most nodes.
const MAX_CONCURRENT_LISTS_PER_CLIENT: usize = 4;
/// Maximum numbers of artifact uploads. Each has up to 40 MiB in memory on the way to S3. One user gets half and not
/// the usual quarter, because in many instances one user starts nearly all pipelines.
const MAX_CONCURRENT_ARTIFACTS: BuildLimits = BuildLimits { total: 16, per_user: 8, per_project: 4 };
/// Maximum numbers of long parts of traces. Each has up to 32 MiB in memory.
const MAX_CONCURRENT_TRACES: BuildLimits = BuildLimits { total: 8, per_user: 4, per_project: 2 };
/// Maximum numbers of parts of traces of up to 1 MiB. Each has up to 3 MiB in memory.
const MAX_CONCURRENT_TRACE_PARTS: BuildLimits = BuildLimits { total: 32, per_user: 16, per_project: 8 };
const MAX_REF_LISTS_PER_CLIENT: usize = 16;

/// Returns the router of a service without the web interface. Requests must carry the peer's address as `ConnectInfo`.
pub fn router(app: Arc<App>, limits: Limits) -> Router {
    let context = new_context(app, Arc::new(RequestLimits::new(limits)));
    let routes = api_router(&context)
        .route(uploads::PATH, get(uploads::serve))
        .merge(git::project_url_router())
        .route("/", get(|| async { Redirect::temporary("/api/docs/") }))
        .fallback(error::route_not_found)
        .method_not_allowed_fallback(error::route_not_found);
    finish(routes, context)
}

/// Returns the router of the whole service: the API, git and runners, and the pages of the web interface. The pages
/// share the limits. Requests must carry the peer's address as `ConnectInfo`.
pub fn router_with_pages(app: Arc<App>, limits: Arc<RequestLimits>, pages: PageRoutes) -> Router {
    let context = new_context(app, limits);
    let not_found = pages.not_found;
    let fallback = move |request: Request| async move {
        match is_api_path(request.uri().path()) {
            true => error::route_not_found().await.into_response(),
            false => not_found.oneshot(request).await.into_response(),
        }
    };
    let routes = api_router(&context)
        .route(uploads::PATH, get(uploads::serve_with_pages(pages.uploads)))
        .method_not_allowed_fallback(error::route_not_found)
        // Otherwise an unknown path such as `/api/v3/issues/7` would be the page of an issue in the project `api/v3`.
        .route("/api/{*rest}", any(error::route_not_found))
        .route("/ci/{*rest}", any(error::route_not_found))
        .merge(pages.routes.with_state(()))
        .fallback(fallback);
    finish(routes, context)
}

/// Returns whether a path belongs to the API or to the protocol of runners, whose errors are JSON.
fn is_api_path(path: &str) -> bool {
    ["/api/", "/ci/"].iter().any(|prefix| path.starts_with(prefix))
}

fn new_context(app: Arc<App>, limits: Arc<RequestLimits>) -> Arc<Context> {
    Arc::new(Context {
        site: app.settings.site.clone(),
        service: Arc::new(ServiceContext {
            site: app.settings.site.clone(),
            limits: limits.clone(),
            shutdown: app.shutdown.clone(),
            error_response: error::request_error_response,
        }),
        runner_token_throttle: Throttle::per_minute(app.settings.sign_ins_per_minute),
        app,
        limits,
        upload_permits: ClientPermits::for_clients(MAX_CONCURRENT_UPLOADS),
        list_permits: KeyedSemaphores::new(MAX_CONCURRENT_LISTS_PER_CLIENT),
        artifact_permits: BuildPermits::new(MAX_CONCURRENT_ARTIFACTS),
        trace_permits: BuildPermits::new(MAX_CONCURRENT_TRACES),
        trace_part_permits: BuildPermits::new(MAX_CONCURRENT_TRACE_PARTS),
        ref_list_permits: KeyedSemaphores::new(MAX_REF_LISTS_PER_CLIENT),
    })
}

/// Returns the routes of the API, of git over HTTP, of runners and of health checks.
fn api_router(context: &Arc<Context>) -> Router<Arc<Context>> {
    Router::new()
        .nest(ApiVersion::V3.prefix(), version_router(context, ApiVersion::V3))
        .nest(ApiVersion::V4.prefix(), version_router(context, ApiVersion::V4))
        .merge(openapi::docs_router())
        .merge(git::router())
        .merge(runner::router(context))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
}

/// Returns the routes of one version of the API, and its OpenAPI document.
fn version_router(context: &Arc<Context>, version: ApiVersion) -> Router<Arc<Context>> {
    let routes = api::routes(version);
    let document = Arc::new(openapi::render(routes.list(), version, &context.site));
    routes
        .into_router()
        .route("/openapi.json", get(move || openapi::serve(document.clone())))
        .layer(from_fn_with_state(context.service.clone(), enforce_timeout))
}

/// Adds the middleware that all requests pass.
fn finish(routes: Router<Arc<Context>>, context: Arc<Context>) -> Router {
    let router = routes
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(error::panic_response))
        .layer(from_fn_with_state(context.service.clone(), trace_request))
        .with_state(context);
    // Normalization changes the path, so it must run before the router chooses a route.
    Router::new().fallback_service(router).layer(map_request(path_normalization::normalize))
}

/// Returns a router with only the health checks, for the separate listener of operators.
pub fn health_router(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(move || health::readiness(app.clone())))
        .fallback(error::route_not_found)
}
