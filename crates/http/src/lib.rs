//! The HTTP entry point: the REST API, git over HTTP, the runner protocols and health checks.
//!
//! A handler extracts its parameters, calls one use case and presents the result. Only this crate chooses status codes.

mod access;
pub mod api;
mod body;
mod client_address;
mod connection;
mod dispatch;
pub mod error;
mod git;
mod health;
mod middleware;
pub mod openapi;
pub mod params;
mod path;
mod path_normalization;
mod permitted_body;
mod present;
pub mod response;
pub mod routes;
mod runner;
mod uploads;
mod user_content;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn_with_state, map_request};
use axum::response::Redirect;
use axum::routing::get;
use holdfast_app::App;
use holdfast_app::client::{ClientKey, ClientPermits, KeyedSemaphores};
use holdfast_app::throttle::Throttle;
use ipnet::IpNet;
use tower_http::catch_panic::CatchPanicLayer;

pub use access::Access;
pub use connection::Connections;
pub use dispatch::RequestContext;
pub use holdfast_domain::InstanceUrls;
pub use routes::{Route, Routes};

use runner::permits::{BuildLimits, BuildPermits};

/// Limits on connections and requests, converted from the configuration file.
#[derive(Clone, Debug)]
pub struct Limits {
    pub max_body_bytes: usize,
    pub max_upload_bytes: usize,
    pub request_timeout: Duration,
    /// Zero means no limit.
    pub requests_per_minute: u32,
    /// Zero means no limit.
    pub anonymous_requests_per_minute: u32,
    pub trusted_proxies: Vec<IpNet>,
    /// Maximum number of concurrent connections in total.
    pub max_connections: usize,
    /// Maximum number of concurrent connections from one address. Does not apply to trusted proxies.
    pub max_connections_per_address: usize,
    /// Time a client has to send the head of a request.
    pub head_timeout: Duration,
    /// Time a client may stall a request body or a response before the connection is closed.
    pub stall_timeout: Duration,
}

/// State that is shared by all requests.
pub(crate) struct Context {
    app: Arc<App>,
    site: InstanceUrls,
    limits: Limits,
    user_throttle: Throttle,
    anonymous_throttle: Throttle,
    /// Limits failed attempts with tokens of runners and builds, per client address.
    runner_token_throttle: Throttle,
    /// Limits file uploads, which are in memory until they are stored.
    upload_permits: ClientPermits,
    /// Limits long bodies of REST requests, which are in memory.
    body_permits: ClientPermits,
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
/// Maximum number of long REST request bodies. Each has up to three times [`Limits::max_body_bytes`] in memory.
const MAX_CONCURRENT_BODIES: usize = 64;
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

/// Returns the router of the whole service. Requests must carry the peer's address as `ConnectInfo`.
pub fn router(app: Arc<App>, limits: Limits) -> Router {
    let context = Arc::new(Context {
        site: app.settings.site.clone(),
        runner_token_throttle: Throttle::per_minute(app.settings.sign_ins_per_minute),
        app,
        user_throttle: Throttle::per_minute(limits.requests_per_minute),
        anonymous_throttle: Throttle::per_minute(limits.anonymous_requests_per_minute),
        upload_permits: ClientPermits::for_clients(MAX_CONCURRENT_UPLOADS),
        body_permits: ClientPermits::for_clients(MAX_CONCURRENT_BODIES),
        list_permits: KeyedSemaphores::new(MAX_CONCURRENT_LISTS_PER_CLIENT),
        artifact_permits: BuildPermits::new(MAX_CONCURRENT_ARTIFACTS),
        trace_permits: BuildPermits::new(MAX_CONCURRENT_TRACES),
        trace_part_permits: BuildPermits::new(MAX_CONCURRENT_TRACE_PARTS),
        ref_list_permits: KeyedSemaphores::new(MAX_REF_LISTS_PER_CLIENT),
        limits,
    });
    let routes = api::v3::routes();
    let document = Arc::new(openapi::render(routes.list(), &context.site));
    let api = routes
        .into_router()
        .route("/openapi.json", get(move || openapi::serve(document.clone())))
        .layer(from_fn_with_state(context.clone(), middleware::enforce_timeout));
    let router = Router::new()
        .nest("/api/v3", api)
        .merge(openapi::docs_router())
        .route("/{namespace}/{project}/uploads/{secret}/{file}", get(uploads::serve))
        .merge(git::router())
        .merge(runner::router(&context))
        .route("/", get(|| async { Redirect::temporary("/api/docs/") }))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .fallback(error::route_not_found)
        .method_not_allowed_fallback(error::route_not_found)
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(error::panic_response))
        .layer(from_fn_with_state(context.clone(), middleware::trace_request))
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
