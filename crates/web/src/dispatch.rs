//! Runs the checks that every page shares, in this order, and then calls the handler of the page:
//!
//! 1. The session cookie. A form without any sign of where it comes from is refused if it has one (403).
//! 2. The rate limit (429) and the permit of a heavy page (503).
//! 3. The parameters. An invalid filter of a page is ignored; an invalid form is rejected (422).
//! 4. The confirmation of the password, where the page requires it.
//! 5. The handler, which calls the use case.
//! 6. The permit for the memory of a large page (503).
//!
//! The check of the origin of forms comes before all of them, in a layer of the router.

use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use holdfast_app::client::ClientKey;
use holdfast_app::large_response::MAX_SMALL_BYTES;
use holdfast_app::{Actor, Error};
use holdfast_domain::page::PageRequest;
use holdfast_http_core::params::RawParams;
use holdfast_http_core::{PermittedBody, RequestError};

use crate::addresses::request_target;
use crate::error_page::error_response;
use crate::errors::PageError;
use crate::pages::{Call, Page};
use crate::request::{Context, RequestContext, RequestInfo};
use crate::respond::{self, PageResponse, PageResult, set_page_headers};
use crate::session::{self, CurrentViewer};
use crate::views::links;
use crate::{addresses, cookies};

/// Runs the shared checks for a request and calls the handler of its page.
pub async fn dispatch(
    context: Arc<Context>,
    page: Arc<Page>,
    path: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let info = RequestInfo::new(&parts, &context.site);
    let method = parts.method.clone();
    let headers = parts.headers.clone();
    let secret = session::secret(&headers, &context.site);
    let mut actor = None;
    let mut has_stale_cookie = false;
    let attempt = async {
        let path = path.map_err(|_| RequestError::UnknownPath)?;
        let mut raw = RawParams::from_path_and_query(&parts, &path)?;
        if secret.is_some() && !is_read(&method) && !has_origin(&headers) {
            return Err(PageError::CrossSite);
        }
        let target = request_target(page.access, &raw);
        let viewer = session::authenticate(&context.app, secret, target.as_ref(), info.address).await?;
        has_stale_cookie = viewer.has_stale_cookie;
        let viewer_actor = viewer.actor.clone();
        if let Actor::User(current_user) = &viewer_actor {
            tracing::Span::current().record("user", current_user.account.id().get());
        }
        let viewer_actor = actor.insert(viewer_actor);
        context.limits.count_request(Some(viewer_actor), info.address)?;
        let permit = context.permits.acquire(page.cost, viewer_actor, info.address).await?;
        let _body_permit = match is_read(&method) {
            true => None,
            false => {
                let (body, permit) = context.limits.read_body(viewer_actor.client(), body).await?;
                raw.read_body(&parts, body).await?;
                permit
            }
        };
        if matches!(viewer_actor, Actor::Anonymous(_)) && !page.access.is_open_to_anonymous() {
            return Err(Error::Unauthenticated.into());
        }
        let (raw, call) = parse(&page, raw, &method)?;
        if let Some(response) = ask_for_confirmation(&context, &page, &viewer, &parts)? {
            return Ok(response);
        }
        let request_context = RequestContext {
            context: context.clone(),
            info: info.clone(),
            session: viewer.session,
            title: page.title,
            api_call: page.api_call,
            actor: viewer.actor,
            page: PageRequest::new(raw.number("page"), None),
        };
        Ok(call(request_context).await?.with_permit(permit))
    };
    let result: PageResult = attempt.await;
    let client = actor.as_ref().map_or_else(|| ClientKey::from_address(info.address), Actor::client);
    let result =
        result.and_then(|page| permit_memory(&context, client, page.into_response(&context.site, &method, &headers)));
    let mut response = match result {
        Ok(response) => response,
        Err(PageError::App(Error::Unauthenticated)) => {
            sign_in(&info, &method).into_response(&context.site, &method, &headers)
        }
        Err(PageError::Moved(location)) if is_read(&method) => {
            respond::moved(location).into_response(&context.site, &method, &headers)
        }
        Err(error) => error_response(info.layout(actor.as_ref()), &method, error),
    };
    if has_stale_cookie {
        cookies::add_unless_set(response.headers_mut(), &cookies::removal(&context.site, cookies::SESSION));
    }
    // A page has shown the message; a redirect passes it on.
    if info.flash.is_some() && !response.status().is_redirection() {
        cookies::add(response.headers_mut(), &cookies::removal(&context.site, cookies::FLASH));
    }
    set_page_headers(&mut response);
    response
}

/// Responds to a path that no route matches, with the same page as for something that is hidden.
pub async fn not_found(State(context): State<Arc<Context>>, request: Request) -> Response {
    let not_found = PageError::Request(RequestError::UnknownPath);
    respond_with_error(&context, request.into_parts().0, not_found).await
}

/// Responds to a method that a page does not have.
pub async fn method_not_allowed(State(context): State<Arc<Context>>, request: Request) -> Response {
    respond_with_error(&context, request.into_parts().0, PageError::MethodNotAllowed).await
}

/// Responds with an error after the viewer is known, so that the page has the same frame as all others.
async fn respond_with_error(context: &Context, parts: Parts, error: PageError) -> Response {
    let info = RequestInfo::new(&parts, &context.site);
    let secret = session::secret(&parts.headers, &context.site);
    let viewer = session::authenticate(&context.app, secret, None, info.address).await;
    let actor = viewer.as_ref().ok().map(|viewer| &viewer.actor);
    let error = match context.limits.count_request(actor, info.address) {
        Ok(()) => error,
        Err(throttled) => throttled.into(),
    };
    let has_stale_cookie = viewer.as_ref().is_ok_and(|viewer| viewer.has_stale_cookie);
    let mut response = error_response(info.layout(actor), &parts.method, error);
    if has_stale_cookie {
        cookies::add(response.headers_mut(), &cookies::removal(&context.site, cookies::SESSION));
    }
    response
}

/// Acquires a permit for the memory of a large page, which lasts until the page has been sent. Fails at once if there is
/// none, so that no page waits in memory.
fn permit_memory(context: &Context, client: ClientKey, response: Response) -> Result<Response, PageError> {
    let bytes = response.body().size_hint().exact().unwrap_or_default();
    if bytes <= MAX_SMALL_BYTES {
        return Ok(response);
    }
    let permit = context.app.large_responses.try_acquire(client, bytes)?;
    Ok(response.map(|body| Body::new(PermittedBody::new(body, permit))))
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Returns whether a request says which site it comes from. Browsers older than 2020 do not, and neither do proxies that
/// remove these headers.
fn has_origin(headers: &HeaderMap) -> bool {
    let has_value = |value: Option<&HeaderValue>| value.is_some_and(|value| !value.is_empty());
    has_value(headers.get("sec-fetch-site")) || has_value(headers.get(header::ORIGIN))
}

/// Parses the parameters. If one in the query of a page is invalid, the page is shown without the query.
fn parse(page: &Page, raw: RawParams, method: &Method) -> Result<(RawParams, Call), RequestError> {
    match (page.parse)(&raw) {
        Ok(call) => Ok((raw, call)),
        Err(RequestError::InvalidParams(_)) if is_read(method) => {
            let raw = raw.without_query();
            let call = (page.parse)(&raw)?;
            Ok((raw, call))
        }
        Err(error) => Err(error),
    }
}

/// Redirects to the form that asks for the password, if the page requires a confirmation and there is none. After an
/// action, the form leads back to the page with the form of the action.
fn ask_for_confirmation(
    context: &Context,
    page: &Page,
    viewer: &CurrentViewer,
    parts: &Parts,
) -> Result<Option<PageResponse>, PageError> {
    if !page.needs_confirmation {
        return Ok(None);
    }
    let session = viewer.session.as_ref().ok_or(Error::Unauthenticated)?;
    if context.app.is_confirmed(&session.browser_session) {
        return Ok(None);
    }
    let to = if is_read(&parts.method) { parts.uri.to_string() } else { referring_path(context, &parts.headers) };
    Ok(Some(respond::see_other(format!("/sign_in/confirm{}", links::query(&[("to", &to)])))))
}

/// Returns the path of the page whose form was sent, from the header `Referer`, or the start page.
fn referring_path(context: &Context, headers: &HeaderMap) -> String {
    let referrer = headers.get(header::REFERER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let path = referrer.strip_prefix(context.site.url("").as_str()).unwrap_or_default();
    if addresses::is_local_path(path) { path.to_owned() } else { "/".to_owned() }
}

/// Redirects an anonymous viewer to the sign-in form, which leads back to the page.
fn sign_in(info: &RequestInfo, method: &Method) -> PageResponse {
    let to = if is_read(method) { info.path.as_str() } else { "" };
    respond::see_other(format!("/sign_in{}", links::query(&[("to", to)])))
}
