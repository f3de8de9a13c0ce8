//! The pages of errors. They need no database.

use std::any::Any;

use axum::http::{HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::Error;
use holdfast_http_core::RequestError;

use crate::assets;
use crate::errors::{Description, PageError, describe};
use crate::layout::Layout;
use crate::respond::{self, set_page_headers};
use crate::views::errors::ErrorPage;

/// Returns the page of an error. Every page that is not found gives the same response, whether it is hidden or missing.
pub fn error_response(layout: Layout, method: &Method, error: PageError) -> Response {
    let Description { status, reason, retry_after } = describe(error);
    // A browser that reloads would send a form again.
    let reload_after = retry_after.filter(|_| matches!(*method, Method::GET | Method::HEAD));
    let page = ErrorPage::new(layout, status.as_u16(), reason, reload_after);
    let html = respond::render(&page).unwrap_or_else(|_| status.to_string());
    let mut response =
        (status, [(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))], html).into_response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    set_page_headers(&mut response);
    response
}

/// Returns the frame of an error page for a request whose session is not known.
pub fn anonymous_layout() -> Layout {
    Layout { assets: assets::prefix(), path: "/".to_owned(), ..Layout::default() }
}

/// Responds to a request that the middleware rejects.
pub fn request_error_response(error: RequestError) -> Response {
    error_response(anonymous_layout(), &Method::POST, error.into())
}

pub fn panic_response(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let error = format!("page handler panicked: {}", text.unwrap_or("(no message)"));
    error_response(anonymous_layout(), &Method::POST, PageError::App(Error::Internal(error.into())))
}
