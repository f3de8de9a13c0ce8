//! Runs the checks that every REST endpoint shares, in this order, and then calls the endpoint:
//!
//! 1. Authenticate with the token of the header or the query (401), and apply the rate limits (429).
//! 2. Read the body (400, 406, 413).
//! 3. Authenticate with the token of the body, if there is one or none was sent before.
//! 4. Parse the parameters (400).
//!
//! Endpoints that accept a file authenticate before the body is read in any case.
//!
//! What is in memory for a client is limited: only the start of a long body is read without a permit, and a large response is
//! sent only with one (see [`large_response`](holdfast_app::large_response)).

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{OriginalUri, RawPathParams, Request};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use holdfast_app::accounts::authentication::{Credentials, authenticate};
use holdfast_app::client::{ClientKey, KeyedPermit};
use holdfast_app::large_response::MAX_SMALL_BYTES;
use holdfast_app::{Actor, App};
use holdfast_domain::accounts::Scope;
use holdfast_domain::page::PageRequest;
use holdfast_domain::policy::InstanceAction;
use hyper::body::Body as _;

use crate::answer::{Answer, BodyBytes, Facts};
use crate::error::ApiError;
use crate::params::{self, ParamSet, RawParams};
use crate::permitted_body::PermittedBody;
use crate::{Access, Context, Site, body, client_address};

/// What a form may say beside its file.
const FORM_AROUND_FILE: usize = 64 << 10;
/// Bodies up to this size need no permit: nearly all are shorter.
const MAX_SMALL_BODY_BYTES: usize = 64 << 10;

/// What an endpoint knows of its request beside the parameters.
pub struct Cx {
    context: Arc<Context>,
    pub actor: Actor,
    pub page: PageRequest,
    pub address: IpAddr,
}

impl Cx {
    pub fn app(&self) -> &App {
        &self.context.app
    }

    pub fn site(&self) -> &Site {
        &self.context.site
    }
}

/// An `async fn(Cx, P) -> Result<A, ApiError>`.
pub trait Endpoint<P, A>: Clone + Send + Sync + 'static {
    fn call(&self, cx: Cx, params: P) -> impl Future<Output = Result<A, ApiError>> + Send;
}

impl<F, Fut, P, A> Endpoint<P, A> for F
where
    F: Fn(Cx, P) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<A, ApiError>> + Send,
{
    fn call(&self, cx: Cx, params: P) -> impl Future<Output = Result<A, ApiError>> + Send {
        self(cx, params)
    }
}

pub(crate) async fn pass<P: ParamSet, A: Answer>(
    context: Arc<Context>,
    access: Access,
    endpoint: impl Endpoint<P, A>,
    path: Result<RawPathParams, impl Sized>,
    request: Request,
) -> Response {
    let attempt = async {
        let Ok(path) = path else { return Err(ApiError::no_route()) };
        let (parts, body) = request.into_parts();
        let mut raw = RawParams::of_address(&parts, &path)?;
        let needed = needed_scope(&parts.method, parts.uri.path());
        let (raw, actor, _permit) = if P::TAKES_FILE {
            // Who sends something large must say who it is before it is read; and only so many are held at once.
            let actor = match identify(&context, access, needed, &parts, &raw).await? {
                actor @ Actor::User(_) => actor,
                _ => return Err(holdfast_app::Error::Unauthenticated.into()),
            };
            let permit = context.files.acquire(actor.client()).await;
            let largest = context.limits.max_upload_bytes;
            let body = body::read(body, largest + FORM_AROUND_FILE).await.ok_or_else(ApiError::too_large)?;
            raw.read_body(&parts, body).await?;
            if raw.largest_file() > largest {
                return Err(ApiError::too_large());
            }
            (raw, actor, Some(permit))
        } else {
            // A wrong token in the header or the query is refused before the body is read.
            let presented = identity(&credentials(access, &parts, &raw));
            let actor = match presented.0 {
                Some(_) => Some(identify(&context, access, needed, &parts, &raw).await?),
                None => None,
            };
            let client = actor.as_ref().map_or_else(|| ClientKey::from_address(address(&parts)), Actor::client);
            let (body, permit) = read_body(&context, client, body).await?;
            raw.read_body(&parts, body).await?;
            // The body may name another token, or another user to act as.
            let actor = match actor {
                Some(actor) if presented == identity(&credentials(access, &parts, &raw)) => actor,
                _ => identify(&context, access, needed, &parts, &raw).await?,
            };
            (raw, actor, permit)
        };
        if matches!(actor, Actor::Anonymous(_)) && !access.is_open_to_anonymous() {
            return Err(holdfast_app::Error::Unauthenticated.into());
        }

        let client = actor.client();
        // How large a list is, is known only when it is in memory. The permit is kept while the list waits for room, so that
        // no more lists are made than can wait.
        let _list_permit = match A::IS_LIST {
            true => Some(context.lists.acquire(client).await),
            false => None,
        };
        // Lists are only read, so that a list can be made twice.
        let again = A::IS_LIST.then(|| actor.clone());
        let response = respond::<P, A>(&context, &endpoint, actor, &parts, &raw).await?;
        let bytes = bytes_in_memory(&response);
        if bytes <= MAX_SMALL_BYTES {
            return Ok(response);
        }
        let large = &context.app.large_responses;
        let (permit, response) = match (large.try_acquire(client, bytes), again) {
            (Ok(permit), _) => (permit, response),
            // Nothing is done twice, and nothing waits in memory.
            (Err(busy), None) => return Err(busy.into()),
            (Err(_), Some(actor)) => {
                // It does not wait in memory, but is made again when there is room for it.
                drop(response);
                let permit = large.acquire(client, bytes).await?;
                (permit, Box::pin(respond::<P, A>(&context, &endpoint, actor, &parts, &raw)).await?)
            }
        };
        Ok(response.map(|body| Body::new(PermittedBody::new(body, permit))))
    };
    attempt.await.unwrap_or_else(ApiError::into_response)
}

/// Reads a body. A permit is taken only for the rest of a long one, when much of it has arrived, so that clients that do not
/// send what they announced keep nobody waiting. It is to be held as long as what was read.
async fn read_body(
    context: &Context,
    client: ClientKey,
    mut body: Body,
) -> Result<(Vec<u8>, Option<KeyedPermit>), ApiError> {
    let limit = context.limits.max_body_bytes;
    let start = body::read_start(&mut body, MAX_SMALL_BODY_BYTES.min(limit)).await;
    let (start, is_whole) = start.filter(|(start, _)| start.len() <= limit).ok_or_else(ApiError::too_large)?;
    if is_whole {
        return Ok((start, None));
    }
    let permit = context.bodies.acquire(client).await;
    let whole = body::read_on(start, body, limit).await.ok_or_else(ApiError::too_large)?;
    Ok((whole, Some(permit)))
}

/// Calls the endpoint and presents its answer.
async fn respond<P: ParamSet, A: Answer>(
    context: &Arc<Context>,
    endpoint: &impl Endpoint<P, A>,
    actor: Actor,
    parts: &Parts,
    raw: &RawParams,
) -> Result<Response, ApiError> {
    let params = params::read::<P>(raw)?;
    let page = PageRequest::new(raw.number("page"), raw.number("per_page"));
    let cx = Cx { context: context.clone(), actor, page, address: address(parts) };
    let answer = endpoint.call(cx, params).await?;
    let path = parts.extensions.get::<OriginalUri>().map_or(parts.uri.path(), |uri| uri.path());
    let url = context.site.url(path);
    Ok(answer.respond(&Facts { url, query: raw.query() }))
}

/// Returns how much of a response is in memory until it is sent. What is streamed from elsewhere counts as nothing: its
/// source has limits of its own.
fn bytes_in_memory(response: &Response) -> u64 {
    match response.extensions().get::<BodyBytes>() {
        Some(bytes) => bytes.0,
        None => response.body().size_hint().exact().unwrap_or_default(),
    }
}

fn address(parts: &Parts) -> IpAddr {
    *parts.extensions.get::<IpAddr>().unwrap_or(&IpAddr::from([0, 0, 0, 0]))
}

/// Returns what a request says about who sends it, as far as it was read.
fn credentials<'a>(access: Access, parts: &'a Parts, raw: &'a RawParams) -> Credentials<'a> {
    // What is no text is no token either, but it was sent.
    let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let address = Some(address(parts));
    match access {
        Access::Anyone => Credentials { address, ..Credentials::default() },
        _ => Credentials {
            token: raw.text("private_token").or_else(|| header("private-token")),
            sudo: raw.text("sudo").or_else(|| header("sudo")),
            whole: access == Access::Instance(InstanceAction::ManageOwnAccount),
            address,
        },
    }
}

fn identity(credentials: &Credentials<'_>) -> (Option<String>, Option<String>) {
    (credentials.token.map(str::to_owned), credentials.sudo.map(str::to_owned))
}

/// Who it is, and whether it may come in at this rate.
pub(crate) async fn identify(
    context: &Context,
    access: Access,
    needed: Scope,
    parts: &Parts,
    raw: &RawParams,
) -> Result<Actor, ApiError> {
    let actor = authenticate(&context.app, credentials(access, parts, raw), needed).await;
    match &actor {
        Ok(Actor::User(caller)) => {
            let span = tracing::Span::current();
            span.record("user", caller.account.id().get());
            caller.impersonated_by.inspect(|administrator| {
                span.record("sudo_by", administrator.get());
            });
            context.users.check(|| caller.account.id().to_string())?;
        }
        Ok(_) | Err(_) => context.anonymous.check(|| client_address::key(address(parts)))?,
    }
    Ok(actor?)
}

/// Reading users has a scope of its own; `path` is below `/api/v3`. What they did in projects is no part of it.
fn needed_scope(method: &Method, path: &str) -> Scope {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let area = path.split('/').nth(1);
    let is_account = matches!(area, Some("user" | "users")) && !path.ends_with("/events");
    if is_read && is_account { Scope::ReadUser } else { Scope::Api }
}
