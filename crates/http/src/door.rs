//! Runs the checks that every REST endpoint shares, in this order, and then calls the endpoint:
//!
//! 1. Authenticate with the token of the header or the query (401), and apply the rate limits (429).
//! 2. Read the body (400, 406, 413).
//! 3. Authenticate with the token of the body, if there is one or none was sent before.
//! 4. Parse the parameters (400).
//!
//! Endpoints that accept a file authenticate before the body is read in any case.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{OriginalUri, RawPathParams, Request};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use holdfast_app::accounts::authentication::{Credentials, authenticate};
use holdfast_app::{Actor, App};
use holdfast_domain::accounts::Scope;
use holdfast_domain::page::PageRequest;
use holdfast_domain::policy::InstanceAction;

use crate::answer::{Answer, Facts};
use crate::error::ApiError;
use crate::params::{self, ParamSet, RawParams};
use crate::{Access, Context, Site, client_address};

/// What a form may say beside its file.
const FORM_AROUND_FILE: usize = 64 << 10;

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
            raw.read(&parts, body, largest + FORM_AROUND_FILE).await?;
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
            raw.read(&parts, body, context.limits.max_body_bytes).await?;
            // The body may name another token, or another user to act as.
            let actor = match actor {
                Some(actor) if presented == identity(&credentials(access, &parts, &raw)) => actor,
                _ => identify(&context, access, needed, &parts, &raw).await?,
            };
            (raw, actor, None)
        };
        if matches!(actor, Actor::Anonymous(_)) && !access.is_open_to_anonymous() {
            return Err(holdfast_app::Error::Unauthenticated.into());
        }

        let params = params::read::<P>(&raw)?;
        let page = PageRequest::new(raw.number("page"), raw.number("per_page"));
        let address = address(&parts);
        let cx = Cx { context: context.clone(), actor, page, address };
        let answer = endpoint.call(cx, params).await?;
        let path = parts.extensions.get::<OriginalUri>().map_or(parts.uri.path(), |uri| uri.path());
        let url = context.site.url(path);
        Ok(answer.respond(&Facts { url, query: raw.query() }))
    };
    attempt.await.unwrap_or_else(ApiError::into_response)
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
