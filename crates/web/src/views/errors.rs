//! The page of an error. It needs no database.

use askama::Template;

use crate::layout::Layout;

/// A page that says what failed, why, and what to do next.
#[derive(Template)]
#[template(path = "errors/error.html")]
pub struct ErrorPage {
    pub layout: Layout,
    pub status: u16,
    pub title: &'static str,
    pub text: String,
    /// Seconds until the browser repeats the request, for a server that is busy.
    pub retry_after: Option<u32>,
}

impl ErrorPage {
    /// Creates the page of an error. `reason` is the text of the use case; without one, a general text is shown. Not
    /// found never shows a reason, so that a hidden page equals a missing one.
    pub fn new(mut layout: Layout, status: u16, reason: Option<String>, retry_after: Option<u32>) -> Self {
        let (title, text) = describe(status);
        layout.title = title.to_owned();
        let reason = reason.filter(|reason| status != 404 && !reason.is_empty());
        Self { layout, status, title, text: reason.unwrap_or_else(|| text.to_owned()), retry_after }
    }

    /// Returns whether signing in may show the page: for anonymous viewers who were refused or found nothing.
    pub fn offers_sign_in(&self) -> bool {
        self.layout.viewer.is_none() && matches!(self.status, 401 | 403 | 404 | 429 | 503)
    }

    /// Returns whether the id of the request helps an administrator to find the cause.
    pub fn shows_request_id(&self) -> bool {
        self.status >= 500 || self.status == 400
    }
}

/// Returns the title and the general text of an error.
const fn describe(status: u16) -> (&'static str, &'static str) {
    match status {
        400 => ("Bad request", "The server could not read the request. Go back and try again."),
        401 => ("Sign in required", "Sign in to see this page."),
        403 => ("Not allowed", "You do not have permission for this."),
        404 => ("Not found", "The page does not exist, or you do not have access to it."),
        405 => ("Method not allowed", "This address does not accept the request. Go back and try again."),
        409 => ("Conflict", "The content was changed meanwhile. Reload the page and try again."),
        413 => ("Too large", "The request is larger than the server accepts."),
        422 => ("Not accepted", "The request contains a value that the server does not accept."),
        429 => ("Too many requests", "You sent too many requests. Wait a moment and try again."),
        503 => ("Server busy", "The server is busy. Try again in a moment."),
        500.. => ("Server error", "The server failed to process the request. The error was logged."),
        _ => ("Request failed", "The server did not accept the request."),
    }
}
