//! The web interface: server-rendered pages over the use cases that the API calls.
//!
//! A page reads its parameters, calls one use case, and renders what it returned. This crate checks no permission and
//! opens no transaction. Scripts only improve what links and forms already do.

pub mod abilities;
mod addresses;
pub mod assets;
mod cookies;
pub mod cost;
mod dispatch;
mod error_page;
mod errors;
mod file_types;
mod flash;
mod highlight;
pub mod icons;
pub mod keys;
mod layout;
pub mod live;
mod live_permits;
pub mod markdown;
pub mod pages;
mod request;
pub mod respond;
mod session;
mod theme;
mod validator;
pub mod views;
mod visible;
pub mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, Version};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Redirect};
use axum::routing::{MethodFilter, MethodRouter, get};
use holdfast_app::App;
use holdfast_domain::InstanceUrls;
use holdfast_http_core::middleware::{ServiceContext, enforce_timeout};
use holdfast_http_core::{PageRoutes, RequestLimits};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate as _};
use tower_http::csrf::CsrfLayer;

use cost::CostPermits;
use errors::PageError;
use live_permits::LivePermits;
use pages::Page;
use request::Context;

/// Paths that crawlers must not read: they are expensive, or belong to one user.
const ROBOTS: &str = "User-agent: *\n\
    Disallow: /admin\n\
    Disallow: /api/\n\
    Disallow: /sign_in\n\
    Disallow: /*/*/archive/\n\
    Disallow: /*/*/blame/\n\
    Disallow: /*/*/builds/\n\
    Disallow: /*/*/commit/\n\
    Disallow: /*/*/commits/\n\
    Disallow: /*/*/compare\n\
    Disallow: /*/*/contributors\n\
    Disallow: /*/*/delete/\n\
    Disallow: /*/*/edit/\n\
    Disallow: /*/*/find/\n\
    Disallow: /*/*/new/\n\
    Disallow: /*/*/range_diff/\n\
    Disallow: /*/*/merge_requests/*/changes\n\
    Disallow: /*/*/merge_requests/*/commits\n\
    Disallow: /*/*/merge_requests/*/range_diff\n\
    Disallow: /*/*/merge_requests/*/versions\n\
    Disallow: /*/*/raw/\n\
    Disallow: /*/*/upload/\n\
    Disallow: /*?last_commits=\n";

/// Returns the routes of the web interface. They share the limits of requests with the API.
pub fn router(app: Arc<App>, limits: Arc<RequestLimits>) -> PageRoutes {
    let pages = pages::all().into_list();
    let is_read = |page: &&Page| page.method == Method::GET;
    let context = Arc::new(Context {
        site: app.settings.site.clone(),
        limits: limits.clone(),
        permits: CostPermits::new(&limits.settings),
        live_permits: LivePermits::default(),
        paths: pages.iter().filter(is_read).map(|page| page.path).collect(),
        app: app.clone(),
    });
    let service = Arc::new(ServiceContext {
        site: app.settings.site.clone(),
        limits,
        shutdown: app.shutdown.clone(),
        error_response: error_page::request_error_response,
    });
    // Compressed pages with a secret would reveal it by their size (BREACH). They are the ones that are not stored.
    // Archives, the only attachments, are compressed already.
    let has_no_secret = |_: StatusCode, _: Version, headers: &HeaderMap, _: &axum::http::Extensions| {
        headers.get("cache-control").is_none_or(|value| value != "no-store")
            && !headers.contains_key("content-disposition")
    };
    let compression = CompressionLayer::new().gzip(true).compress_when(DefaultPredicate::new().and(has_no_secret));
    let (uploads, pages) = pages.into_iter().partition(|page| page.path == pages::projects::UPLOADS);
    let finish = |pages: Vec<Page>| {
        page_router(pages)
            .layer(from_fn_with_state(service.clone(), enforce_timeout))
            .layer(cross_site_layer(&context.site))
            .layer(CatchPanicLayer::custom(error_page::panic_response))
            .layer(compression.clone())
            .with_state(context.clone())
    };
    let uploads = finish(uploads);
    let routes = finish(pages)
        .route("/assets/{version}/{name}", get(assets::serve))
        .route("/favicon.ico", get(assets::serve_favicon))
        .route("/robots.txt", get(|| async { ROBOTS }))
        .route("/.well-known/change-password", get(|| async { Redirect::to("/profile/password") }))
        .route("/{namespace}/{project}/-/{*rest}", get(redirect_short_path));
    let not_found = Router::new().fallback(dispatch::not_found).layer(compression).with_state(context);
    PageRoutes { routes, uploads, not_found }
}

fn page_router(pages: Vec<Page>) -> Router<Arc<Context>> {
    let mut routers: BTreeMap<&'static str, MethodRouter<Arc<Context>>> = BTreeMap::new();
    for page in pages {
        let filter = MethodFilter::try_from(page.method.clone()).expect("pages use only standard HTTP methods");
        let page = Arc::new(page);
        let path = page.path;
        let handler = move |State(context): State<Arc<Context>>, path: Result<RawPathParams, _>, request: Request| {
            // Boxed here, because each layer around it would otherwise move a future of several kilobytes.
            Box::pin(dispatch::dispatch(context, page.clone(), path, request))
        };
        let router = routers.remove(path).unwrap_or_default();
        routers.insert(path, router.on(filter, handler));
    }
    routers.into_iter().fold(Router::new(), |router, (path, methods)| {
        router.route(&brace_path_params(path), methods.fallback(dispatch::method_not_allowed))
    })
}

/// Returns the layer that refuses forms of other sites. `GET` never changes anything and passes.
fn cross_site_layer(
    site: &InstanceUrls,
) -> CsrfLayer<impl Fn(tower_http::csrf::ProtectionError) -> axum::response::Response + Clone + use<>> {
    let origin = url::Url::parse(&site.url("/")).map(|url| url.origin().ascii_serialization());
    let layer = CsrfLayer::new();
    let trusted = origin.ok().and_then(|origin| layer.clone().add_trusted_origin(origin).ok());
    trusted.unwrap_or(layer).with_rejection_response(|_| {
        error_page::error_response(error_page::anonymous_layout(), &Method::POST, PageError::CrossSite)
    })
}

/// Redirects `/NS/P/-/REST`, the form of newer instances, to `/NS/P/REST`.
async fn redirect_short_path(uri: Uri) -> impl IntoResponse {
    // The path is not decoded: a decoded slash at its beginning would lead to another site.
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Redirect::permanent(&format!("{}{query}", uri.path().replacen("/-/", "/", 1)))
}

/// Converts `/:namespace/:project/tree/*rest` to `/{namespace}/{project}/tree/{*rest}`, the syntax of the router.
fn brace_path_params(path: &str) -> String {
    let segment = |part: &str| match part.strip_prefix(':') {
        Some(name) => format!("{{{name}}}"),
        None if part.starts_with('*') => format!("{{{part}}}"),
        None => part.to_owned(),
    };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_paths_are_paths_of_the_router() {
        assert_eq!(brace_path_params("/:namespace/:project/tree/*rest"), "/{namespace}/{project}/tree/{*rest}");
        assert_eq!(brace_path_params("/sign_in"), "/sign_in");
    }

    /// The router panics if two paths cannot be distinguished.
    #[test]
    fn paths_of_pages_do_not_conflict() {
        drop(page_router(pages::all().into_list()));
    }
}
