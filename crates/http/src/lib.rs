//! The HTTP doors: extract, call one use case, present. Only this crate chooses status codes.

mod access;
pub mod answer;
pub mod api;
mod body;
mod client_address;
mod connection;
mod door;
pub mod error;
mod git;
mod health;
mod observe;
pub mod openapi;
pub mod params;
mod path;
mod permitted_body;
mod present;
pub mod routes;
mod runner;
mod slashes;
mod stored;
mod uploads;

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
pub use door::Cx;
pub use holdfast_domain::Site;
pub use routes::{Route, Routes};

use runner::permits::{BuildLimits, BuildPermits};

/// What operators decide about requests.
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
    /// Connections at once, in all and from one address that is no trusted proxy.
    pub max_connections: usize,
    pub max_connections_per_address: usize,
    /// How long a client may take to send the head of a request.
    pub head_timeout: Duration,
    /// How long a client may keep a body or a response from advancing.
    pub stall_timeout: Duration,
}

/// What every request may use.
pub(crate) struct Context {
    app: Arc<App>,
    site: Site,
    limits: Limits,
    users: Throttle,
    anonymous: Throttle,
    /// Files are in memory while they are sent: so many at once, and no more.
    files: ClientPermits,
    /// Long bodies of REST requests, which are in memory.
    bodies: ClientPermits,
    /// Lists that are made for one client, or made and waiting for room. They are in memory before their size is known.
    lists: KeyedSemaphores<ClientKey>,
    /// Artifacts on their way into the object store; some parts of each are in memory.
    artifacts: BuildPermits,
    /// Long parts of traces, which are in memory.
    traces: BuildPermits,
    /// Parts of traces as runners usually send them, which are in memory, too.
    trace_parts: BuildPermits,
    /// Long lists of refs that are being sent to one client.
    ref_lists: KeyedSemaphores<ClientKey>,
}

const FILES_AT_ONCE: usize = 8;
/// Long bodies of REST requests, each with up to three times [`Limits::max_body_bytes`] in memory.
const MAX_CONCURRENT_BODIES: usize = 64;
/// Lists that are made for one client at once, each with up to 20 MB in memory. More would not be quicker on most nodes.
const MAX_CONCURRENT_LISTS_PER_CLIENT: usize = 4;
/// Uploads of artifacts, each with up to 40 MiB in memory on the way to S3. One user gets half, and not a quarter as of most
/// permits: many instances have one user that starts nearly all pipelines.
const MAX_CONCURRENT_ARTIFACTS: BuildLimits = BuildLimits { all: 16, of_user: 8, of_project: 4 };
/// Long parts of traces, each with up to 32 MiB in memory.
const MAX_CONCURRENT_TRACES: BuildLimits = BuildLimits { all: 8, of_user: 4, of_project: 2 };
/// Parts of traces of up to 1 MiB, each with up to 3 MiB in memory.
const MAX_CONCURRENT_TRACE_PARTS: BuildLimits = BuildLimits { all: 32, of_user: 16, of_project: 8 };
const MAX_REF_LISTS_PER_CLIENT: usize = 16;

/// The whole service as one router. Its requests must carry the peer's address, as `ConnectInfo`.
pub fn router(app: Arc<App>, limits: Limits) -> Router {
    let context = Arc::new(Context {
        site: app.settings.site.clone(),
        app,
        users: Throttle::per_minute(limits.requests_per_minute),
        anonymous: Throttle::per_minute(limits.anonymous_requests_per_minute),
        files: ClientPermits::for_clients(FILES_AT_ONCE),
        bodies: ClientPermits::for_clients(MAX_CONCURRENT_BODIES),
        lists: KeyedSemaphores::new(MAX_CONCURRENT_LISTS_PER_CLIENT),
        artifacts: BuildPermits::new(MAX_CONCURRENT_ARTIFACTS),
        traces: BuildPermits::new(MAX_CONCURRENT_TRACES),
        trace_parts: BuildPermits::new(MAX_CONCURRENT_TRACE_PARTS),
        ref_lists: KeyedSemaphores::new(MAX_REF_LISTS_PER_CLIENT),
        limits,
    });
    let routes = api::v3::routes();
    let document = Arc::new(openapi::document(routes.list(), &context.site));
    let api = routes
        .into_router()
        .route("/openapi.json", get(move || openapi::serve(document.clone())))
        .layer(from_fn_with_state(context.clone(), observe::deadline));
    let router = Router::new()
        .nest("/api/v3", api)
        .merge(openapi::page())
        .route("/{namespace}/{project}/uploads/{secret}/{file}", get(uploads::serve))
        .merge(git::router())
        .merge(runner::router(&context))
        .route("/", get(|| async { Redirect::temporary("/api/docs/") }))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .fallback(error::no_route)
        .method_not_allowed_fallback(error::no_route)
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(from_fn_with_state(context.clone(), observe::observe))
        .with_state(context);
    // Around all routes: it decides which of them is meant.
    Router::new().fallback_service(router).layer(map_request(slashes::encode))
}

/// Health checks alone, for the operators' own listener.
pub fn health_router(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(move || health::answer(app.clone())))
        .fallback(error::no_route)
}
