//! Responses of pages: HTML, redirects, and the headers that all of them have.

use std::convert::Infallible;
use std::time::Duration;

use askama::Template;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum_extra::extract::cookie::Cookie;
use futures_util::stream::{self, BoxStream, StreamExt};
use holdfast_app::client::KeyedPermit;
use holdfast_domain::InstanceUrls;
use percent_encoding::{CONTROLS, utf8_percent_encode};

use crate::errors::PageError;
use crate::flash::FlashCode;
use crate::validator::Validator;
use crate::{assets, cookies};

/// The policy of all pages: no inline script or style, and nothing from other hosts.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types part";

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// The response of a page, without the headers that all pages have.
pub struct PageResponse {
    status: StatusCode,
    content: Content,
    flash: Option<FlashCode>,
    cookies: Vec<Cookie<'static>>,
    shows_secret: bool,
    /// Seconds until the request may succeed.
    retry_after: Option<u64>,
    /// The validator of a page that was known before it was rendered.
    validator: Option<Validator>,
    /// The permit of a heavy page. If the page is a stream, it lasts until the page has been sent.
    permit: Option<KeyedPermit>,
}

enum Content {
    Html(String),
    /// Parts of a page that are sent as they are rendered.
    Stream(BoxStream<'static, String>),
    /// Nothing, because the browser has the page.
    NotModified,
    /// A redirect to this address.
    Location(String),
    /// A response with headers of its own, such as the bytes of a file.
    Complete(Response),
}

pub type PageResult = Result<PageResponse, PageError>;

impl PageResponse {
    fn new(status: StatusCode, content: Content) -> Self {
        Self {
            status,
            content,
            flash: None,
            cookies: Vec::new(),
            shows_secret: false,
            retry_after: None,
            validator: None,
            permit: None,
        }
    }

    /// Returns the response with a message for the page that it redirects to.
    pub fn with_flash(mut self, flash: FlashCode) -> Self {
        self.flash = Some(flash);
        self
    }

    pub fn with_cookie(mut self, cookie: Cookie<'static>) -> Self {
        self.cookies.push(cookie);
        self
    }

    /// Marks a page that shows a secret. Browsers do not store it, and it is not compressed, so that its size reveals
    /// nothing.
    pub fn with_secret(mut self) -> Self {
        self.shows_secret = true;
        self
    }

    /// Returns the response with a validator that was known before it was rendered.
    pub fn with_validator(mut self, validator: Option<Validator>) -> Self {
        self.validator = validator;
        self
    }

    /// Returns the response with the permit of a heavy page.
    pub fn with_permit(mut self, permit: Option<KeyedPermit>) -> Self {
        self.permit = permit;
        self
    }

    /// Builds the response to a request with this method and these headers.
    pub fn into_response(self, site: &InstanceUrls, method: &Method, request_headers: &HeaderMap) -> Response {
        let mut validator = self.validator;
        let mut response = match self.content {
            Content::NotModified => StatusCode::NOT_MODIFIED.into_response(),
            Content::Complete(response) => hold_until_sent(response, self.permit),
            Content::Location(location) => {
                let location = utf8_percent_encode(&location, CONTROLS).to_string();
                let location = HeaderValue::from_str(&location).expect("only visible ASCII characters are left");
                (self.status, [(header::LOCATION, location)]).into_response()
            }
            Content::Stream(parts) => {
                let permit = self.permit;
                let parts = parts.map(move |part| {
                    let _held = &permit;
                    Ok::<_, Infallible>(Bytes::from(part))
                });
                // The compression of pages polls a body again after its end.
                (self.status, [(header::CONTENT_TYPE, HTML)], Body::from_stream(parts.fuse())).into_response()
            }
            Content::Html(html) => {
                let is_read = matches!(*method, Method::GET | Method::HEAD);
                if is_read && self.status == StatusCode::OK && !self.shows_secret {
                    validator =
                        validator.or_else(|| Some(Validator::from_html(&html, &if_none_match(request_headers))));
                }
                match validator.as_ref().is_some_and(|validator| validator.is_current) {
                    true => StatusCode::NOT_MODIFIED.into_response(),
                    false => (self.status, [(header::CONTENT_TYPE, HTML)], html).into_response(),
                }
            }
        };
        if let Some(validator) = validator {
            response.headers_mut().insert(header::ETAG, validator.into_tag());
        }
        if self.shows_secret {
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(flash) = self.flash {
            cookies::add(response.headers_mut(), &flash.cookie(site));
        }
        for cookie in &self.cookies {
            cookies::add(response.headers_mut(), cookie);
        }
        response
    }
}

/// Responds with a page.
pub fn html(page: &impl Template) -> PageResult {
    html_with_status(page, StatusCode::OK)
}

/// Responds to a browser that has the page (304).
pub fn not_modified(validator: Validator) -> PageResponse {
    PageResponse::new(StatusCode::NOT_MODIFIED, Content::NotModified).with_validator(Some(validator))
}

/// The place of the parts in a page that is sent with [`html_with_parts`]. No escaped or sanitized text contains it.
pub const PARTS_MARK: &str = "<!--parts-->";

/// Responds with a page whose parts are rendered while it is sent, so that it is never in memory as a whole. The template
/// has [`PARTS_MARK`] where they belong. What follows the mark is sent after the last part.
pub fn html_with_parts(page: &impl Template, parts: BoxStream<'static, String>) -> PageResult {
    let html = render(page)?;
    let (head, tail) = html.split_once(PARTS_MARK).unwrap_or((&html, ""));
    let (head, tail) = (head.to_owned(), tail.to_owned());
    let parts = stream::iter([head]).chain(parts).chain(stream::iter([tail])).boxed();
    Ok(PageResponse::new(StatusCode::OK, Content::Stream(parts)))
}

/// Responds with a page with parts whose form was rejected (422).
pub fn rejected_with_parts(page: &impl Template, parts: BoxStream<'static, String>) -> PageResult {
    Ok(PageResponse { status: StatusCode::UNPROCESSABLE_ENTITY, ..html_with_parts(page, parts)? })
}

/// Responds with a form about something that does not exist (404).
pub fn missing(page: &impl Template) -> PageResult {
    html_with_status(page, StatusCode::NOT_FOUND)
}

/// Responds with a form that was rejected (422).
pub fn rejected(page: &impl Template) -> PageResult {
    html_with_status(page, StatusCode::UNPROCESSABLE_ENTITY)
}

/// Responds with a form about something that was changed meanwhile (409).
pub fn conflict(page: &impl Template) -> PageResult {
    html_with_status(page, StatusCode::CONFLICT)
}

/// Responds with a form that was sent too often (429).
pub fn throttled(page: &impl Template, retry_after: Duration) -> PageResult {
    let response = html_with_status(page, StatusCode::TOO_MANY_REQUESTS)?;
    Ok(PageResponse { retry_after: Some(retry_after.as_secs_f64().ceil() as u64), ..response })
}

fn html_with_status(page: &impl Template, status: StatusCode) -> PageResult {
    Ok(PageResponse::new(status, Content::Html(render(page)?)))
}

/// The size of most pages. A text that grows to it from nothing is copied several times.
const USUAL_PAGE_BYTES: usize = 32 << 10;

/// Renders a page. Fails only if a value of the page cannot be formatted.
pub fn render(page: &impl Template) -> Result<String, PageError> {
    let mut html = String::with_capacity(USUAL_PAGE_BYTES);
    page.render_into(&mut html).map_err(|error| PageError::App(holdfast_app::Error::Internal(error.into())))?;
    Ok(html)
}

/// Redirects to the page that follows an action (303).
pub fn see_other(location: impl Into<String>) -> PageResponse {
    PageResponse::new(StatusCode::SEE_OTHER, Content::Location(location.into()))
}

/// Redirects from an address that is not the one of the page (308).
pub fn moved(location: impl Into<String>) -> PageResponse {
    PageResponse::new(StatusCode::PERMANENT_REDIRECT, Content::Location(location.into()))
}

/// Responds with something that is not a page, such as the bytes of a file. It keeps its own headers.
pub fn complete(response: Response) -> PageResponse {
    PageResponse::new(response.status(), Content::Complete(response))
}

/// Returns a response that holds the permit until its stream has been sent. A body in memory does not hold it, because
/// the work is done.
fn hold_until_sent(response: Response, permit: Option<KeyedPermit>) -> Response {
    if permit.is_none() || response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| {
        let parts = body.into_data_stream().map(move |part| {
            let _held = &permit;
            part
        });
        Body::from_stream(parts.fuse())
    })
}

/// Returns the values of the header `If-None-Match`.
pub fn if_none_match(headers: &HeaderMap) -> Vec<HeaderValue> {
    headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect()
}

/// Sets the headers that every page has. Responses with content that users stored keep their own policy.
pub fn set_page_headers(response: &mut Response<Body>) {
    let headers = response.headers_mut();
    if headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        return;
    }
    let constant = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("permissions-policy"), "interest-cohort=(), camera=(), microphone=(), geolocation=()"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::VARY, "Cookie, Accept-Encoding"),
    ];
    for (name, value) in constant {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
    if let Ok(rules) = HeaderValue::from_str(&format!("\"{}/speculation.json\"", assets::prefix())) {
        headers.insert(HeaderName::from_static("speculation-rules"), rules);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use holdfast_app::client::{ClientKey, ClientPermits};

    use super::*;

    fn respond(status: StatusCode, if_none_match: Option<HeaderValue>) -> Response {
        let mut headers = HeaderMap::new();
        headers.extend(if_none_match.map(|value| (header::IF_NONE_MATCH, value)));
        let site = InstanceUrls::new(&"https://git.example".parse().unwrap(), 22);
        PageResponse::new(status, Content::Html("<p>".into())).into_response(&site, &Method::GET, &headers)
    }

    #[tokio::test]
    async fn a_streamed_response_holds_its_permit_until_it_was_sent() {
        let permits = ClientPermits::new(1, 1);
        let parts = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"part"))]);
        let streamed = Response::new(Body::from_stream(parts));
        let response = hold_until_sent(streamed, Some(permits.acquire(ClientKey::Operator).await));
        assert_eq!(permits.held_count(), 1);
        assert_eq!(axum::body::to_bytes(response.into_body(), 100).await.unwrap(), b"part"[..]);
        assert_eq!(permits.held_count(), 0);
        let permit = permits.acquire(ClientKey::Operator).await;
        let _in_memory = hold_until_sent(Response::new(Body::from("text")), Some(permit));
        assert_eq!(permits.held_count(), 0);
    }

    #[test]
    fn an_unchanged_page_is_not_sent_again() {
        let first = respond(StatusCode::OK, None);
        let tag = first.headers()[header::ETAG].clone();
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(respond(StatusCode::OK, Some(tag.clone())).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(respond(StatusCode::OK, Some(HeaderValue::from_static("\"other\""))).status(), StatusCode::OK);
        assert_eq!(respond(StatusCode::UNPROCESSABLE_ENTITY, Some(tag)).status(), StatusCode::UNPROCESSABLE_ENTITY);
    }
}
