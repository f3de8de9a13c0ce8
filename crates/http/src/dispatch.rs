//! Runs the checks that every REST endpoint shares, in this order, and then calls the endpoint:
//!
//! 1. Authenticate with the token of the header or the query (401), and apply the rate limits (429).
//! 2. Read the body (400, 406, 413).
//! 3. Authenticate if that has not happened, or if the body names another token or another user to act as.
//! 4. Parse the parameters (400).
//!
//! Endpoints that accept a file always authenticate before the body is read.
//!
//! Memory per client is limited: a long body is read to its end only with a permit, and a large response is sent only
//! with one (see [`large_response`](holdfast_app::large_response)).

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{OriginalUri, RawPathParams, Request};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use holdfast_app::accounts::authentication::{Credentials, authenticate};
use holdfast_app::client::ClientKey;
use holdfast_app::large_response::MAX_SMALL_BYTES;
use holdfast_app::merge_requests::merge_request;
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::planning::issue;
use holdfast_app::prefetched::RequestTarget;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::{Actor, App};
use holdfast_domain::accounts::Scope;
use holdfast_domain::ids::{IssueId, MergeRequestId};
use holdfast_domain::page::PageRequest;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{PermittedBody, body, client_address};
use hyper::body::Body as _;

use crate::api_version::ApiVersion;
use crate::error::ApiError;
use crate::params::{self, FromValue, ParamSet, RawParams};
use crate::response::{ApiResponse, BodyBytes, ResponseContext};
use crate::{Access, Context, InstanceUrls};

/// Maximum size of the other fields and the boundaries of a form that contains a file. Arbitrary.
const MULTIPART_OVERHEAD_BYTES: usize = 64 << 10;

/// The context of a request that is passed to its endpoint beside the parameters.
pub struct RequestContext {
    context: Arc<Context>,
    pub actor: Actor,
    pub page: PageRequest,
    pub address: IpAddr,
}

impl RequestContext {
    pub fn app(&self) -> &App {
        &self.context.app
    }

    pub fn site(&self) -> &InstanceUrls {
        &self.context.site
    }

    /// Returns the id of an issue by its number within the project.
    pub async fn issue_id(&self, project: &ProjectRef, iid: i64) -> Result<IssueId, ApiError> {
        Ok(issue::find_id(self.app(), &self.actor, project, iid).await?)
    }

    /// Returns the id of a merge request by its number within the target project.
    pub async fn merge_request_id(&self, project: &ProjectRef, iid: i64) -> Result<MergeRequestId, ApiError> {
        Ok(merge_request::find_id(self.app(), &self.actor, project, iid).await?)
    }
}

/// An endpoint: an `async fn(RequestContext, P) -> Result<A, ApiError>`.
pub trait Endpoint<P, A>: Clone + Send + Sync + 'static {
    fn call(&self, context: RequestContext, params: P) -> impl Future<Output = Result<A, ApiError>> + Send;
}

impl<F, Fut, P, A> Endpoint<P, A> for F
where
    F: Fn(RequestContext, P) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<A, ApiError>> + Send,
{
    fn call(&self, context: RequestContext, params: P) -> impl Future<Output = Result<A, ApiError>> + Send {
        self(context, params)
    }
}

/// Parses the parameters of an endpoint, and returns the call with them.
type Parse = Box<dyn Fn(&RawParams) -> Result<Call, ApiError> + Send + Sync>;
/// Calls an endpoint with the parameters that were parsed for it.
type Call = Box<dyn FnOnce(RequestContext) -> BoxFuture<'static, Result<Present, ApiError>> + Send>;
/// Presents the result of an endpoint.
type Present = Box<dyn FnOnce(&ResponseContext<'_>) -> Response + Send>;

/// An endpoint without the types of its parameters and its response. [`dispatch`] is compiled once for all routes, and
/// only what differs between them is compiled for each.
pub(crate) struct BoxedEndpoint {
    takes_file: bool,
    is_list: bool,
    parse: Parse,
}

impl BoxedEndpoint {
    pub fn new<P: ParamSet + 'static, A: ApiResponse + 'static>(endpoint: impl Endpoint<P, A>) -> Self {
        let parse = move |raw: &RawParams| {
            let params = params::read::<P>(raw)?;
            let endpoint = endpoint.clone();
            let call = move |context| -> BoxFuture<'static, Result<Present, ApiError>> {
                Box::pin(async move {
                    let response = endpoint.call(context, params).await?;
                    Ok(Box::new(move |context: &ResponseContext<'_>| response.respond(context)) as Present)
                })
            };
            Ok(Box::new(call) as Call)
        };
        Self { takes_file: P::TAKES_FILE, is_list: A::IS_LIST, parse: Box::new(parse) }
    }
}

/// What the shared checks of a route depend on.
#[derive(Clone, Copy)]
pub(crate) struct RouteChecks {
    pub version: ApiVersion,
    pub access: Access,
    /// The scope that a token needs.
    pub scope: Scope,
    /// Whether a running build can authenticate with its job token.
    pub accepts_job_token: bool,
}

/// Runs the shared checks for a request and calls the endpoint of its route.
pub(crate) async fn dispatch(
    context: Arc<Context>,
    checks: RouteChecks,
    endpoint: Arc<BoxedEndpoint>,
    path: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response {
    let attempt = async {
        let Ok(path) = path else { return Err(ApiError::route_not_found()) };
        let (parts, body) = request.into_parts();
        let mut raw = RawParams::from_path_and_query(&parts, &path)?;
        let target = request_target(checks.access, &parts.method, &raw);
        let (raw, actor, _permit) = if endpoint.takes_file {
            // Uploads are large, so the client authenticates before the body is read, and a permit bounds how many are
            // in memory.
            let actor = match authenticate_request(&context, checks, target.as_ref(), &parts, &raw).await? {
                actor @ Actor::User(_) => actor,
                _ => return Err(holdfast_app::Error::Unauthenticated.into()),
            };
            let permit = context.upload_permits.acquire(actor.client()).await;
            let max_bytes = context.limits.settings.max_upload_bytes;
            let body = body::read(body, max_bytes + MULTIPART_OVERHEAD_BYTES).await.ok_or_else(ApiError::too_large)?;
            raw.read_body(&parts, body).await?;
            if raw.largest_file() > max_bytes {
                return Err(ApiError::too_large());
            }
            (raw, actor, Some(permit))
        } else {
            // An invalid token in the header or the query is rejected before the body is read.
            let presented = identity(&credentials(checks, &parts, &raw));
            let actor = match presented.0 {
                Some(_) => Some(authenticate_request(&context, checks, target.as_ref(), &parts, &raw).await?),
                None => None,
            };
            let client = actor
                .as_ref()
                .map_or_else(|| ClientKey::from_address(client_address::from_extensions(&parts)), Actor::client);
            let (body, permit) = context.limits.read_body(client, body).await?;
            raw.read_body(&parts, body).await?;
            // The body may contain another token, or another user to act as.
            let actor = match actor {
                Some(actor) if presented == identity(&credentials(checks, &parts, &raw)) => actor,
                _ => authenticate_request(&context, checks, target.as_ref(), &parts, &raw).await?,
            };
            (raw, actor, permit)
        };
        if matches!(actor, Actor::Anonymous(_)) && !checks.access.is_open_to_anonymous() {
            return Err(holdfast_app::Error::Unauthenticated.into());
        }

        let client = actor.client();
        let call = (endpoint.parse)(&raw)?;
        // The size of a list is known only when it is in memory. The permit is held while the list waits for a
        // large-response permit, so that no more lists are produced than can be sent.
        let _list_permit = match endpoint.is_list {
            true => Some(context.list_permits.acquire(client).await),
            false => None,
        };
        // Lists have no side effects, so they can be produced twice.
        let retry_actor = endpoint.is_list.then(|| actor.clone());
        let response = respond(&context, call, actor, &parts, &raw).await?;
        let bytes = bytes_in_memory(&response);
        if bytes <= MAX_SMALL_BYTES {
            return Ok(response);
        }
        let large_responses = &context.app.large_responses;
        let (permit, response) = match (large_responses.try_acquire(client, bytes), retry_actor) {
            (Ok(permit), _) => (permit, response),
            // Other endpoints may have side effects and are not called twice, and their responses do not wait in
            // memory.
            (Err(busy), None) => return Err(busy.into()),
            (Err(_), Some(actor)) => {
                // The list does not wait in memory. It is produced again when the permit is available.
                drop(response);
                let permit = large_responses.acquire(client, bytes).await?;
                (permit, respond(&context, (endpoint.parse)(&raw)?, actor, &parts, &raw).await?)
            }
        };
        Ok(response.map(|body| Body::new(PermittedBody::new(body, permit))))
    };
    attempt.await.unwrap_or_else(|error: ApiError| error.for_version(checks.version).into_response())
}

/// Calls the endpoint and presents its result.
async fn respond(
    context: &Arc<Context>,
    call: Call,
    actor: Actor,
    parts: &Parts,
    raw: &RawParams,
) -> Result<Response, ApiError> {
    let page = PageRequest::new(raw.number("page"), raw.number("per_page"));
    let request_context =
        RequestContext { context: context.clone(), actor, page, address: client_address::from_extensions(parts) };
    let present = call(request_context).await?;
    let path = parts.extensions.get::<OriginalUri>().map_or(parts.uri.path(), |uri| uri.path());
    let url = context.site.url(path);
    Ok(present(&ResponseContext { url, query: raw.query() }))
}

/// Returns how many bytes of a response are in memory until it is sent. Streamed bodies count as zero, because their
/// sources have limits of their own.
fn bytes_in_memory(response: &Response) -> u64 {
    match response.extensions().get::<BodyBytes>() {
        Some(bytes) => bytes.0,
        None => response.body().size_hint().exact().unwrap_or_default(),
    }
}

/// Returns the credentials of a request, as far as it has been read.
fn credentials<'a>(checks: RouteChecks, parts: &'a Parts, raw: &'a RawParams) -> Credentials<'a> {
    // A header that is not text is no valid token, but it must not count as absent.
    let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let address = Some(client_address::from_extensions(parts));
    if checks.access == Access::Anyone {
        return Credentials { address, ..Credentials::default() };
    }
    let private_token = raw.text("private_token").or_else(|| header("private-token"));
    let bearer_token = || raw.text("access_token").or_else(|| header("authorization").and_then(parse_bearer));
    let token = match checks.version {
        ApiVersion::V3 => private_token,
        ApiVersion::V4 => private_token.or_else(bearer_token),
    };
    let job_token = || raw.text("job_token").or_else(|| header("job-token"));
    Credentials {
        token,
        job_token: if checks.accepts_job_token && token.is_none() { job_token() } else { None },
        sudo: raw.text("sudo").or_else(|| header("sudo")),
        needs_profile: checks.access == Access::Instance(InstanceAction::ManageOwnAccount),
        target: None,
        address,
    }
}

/// Returns the token of an `Authorization` header of the type `Bearer`. Other types count as absent, because proxies in
/// front of this server may use them.
fn parse_bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns the project or group that a request names in its path, if it should be read together with the token. A write
/// locks what it names and reads it then, so that only the id is useful to it.
fn request_target(access: Access, method: &Method, raw: &RawParams) -> Option<RequestTarget> {
    let id = raw.value("id")?.ok()?;
    let target = match access {
        Access::Project(_) => RequestTarget::Project(FromValue::from_value(id).ok()?),
        Access::Group(_) => RequestTarget::Group(FromValue::from_value(id).ok()?),
        Access::Anyone | Access::Instance(_) => return None,
    };
    let is_id = matches!(target, RequestTarget::Project(ProjectRef::Id(_)) | RequestTarget::Group(GroupRef::Id(_)));
    (is_read(method) || !is_id).then_some(target)
}

fn identity(credentials: &Credentials<'_>) -> (Option<String>, Option<String>) {
    (credentials.token.or(credentials.job_token).map(str::to_owned), credentials.sudo.map(str::to_owned))
}

/// Authenticates a request and applies the rate limits.
pub(crate) async fn authenticate_request(
    context: &Context,
    checks: RouteChecks,
    target: Option<&RequestTarget>,
    parts: &Parts,
    raw: &RawParams,
) -> Result<Actor, ApiError> {
    let credentials = Credentials { target, ..credentials(checks, parts, raw) };
    let actor = authenticate(&context.app, credentials, checks.scope).await;
    if let Ok(Actor::User(current_user)) = &actor {
        let span = tracing::Span::current();
        span.record("user", current_user.account.id().get());
        current_user.impersonated_by.inspect(|administrator| {
            span.record("sudo_by", administrator.get());
        });
    }
    context.limits.count_request(actor.as_ref().ok(), client_address::from_extensions(parts))?;
    Ok(actor?)
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}
