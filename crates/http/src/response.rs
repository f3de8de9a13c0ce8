//! Response types of endpoints. The type determines the status and the schema, so that no endpoint can omit either.

use std::io;
use std::marker::PhantomData;

use axum::Json;
use axum::body::Body as HttpBody;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, LINK};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use holdfast_app::large_response::MAX_SMALL_BYTES;
use holdfast_domain::page::Page;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use utoipa::openapi::schema::ArrayBuilder;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The parts of a request that its response refers to.
pub struct ResponseContext<'a> {
    pub url: String,
    pub query: &'a [(String, String)],
}

pub trait ApiResponse: Send {
    const STATUS: StatusCode;
    /// Status of a response without a body, where that is possible.
    const EMPTY_STATUS: Option<StatusCode> = None;
    const IS_LIST: bool = false;
    const CONTENT_TYPES: &'static [&'static str] = &["application/json"];

    fn schema() -> RefOr<Schema>;
    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>);
    fn respond(self, context: &ResponseContext<'_>) -> Response;
}

/// Defines response types with a JSON body and a fixed status.
macro_rules! json_responses {
    ($($(#[$doc:meta])* $Name:ident = $STATUS:ident),+ $(,)?) => {$(
        $(#[$doc])*
        pub struct $Name<T>(pub T);

        impl<T: Serialize + ToSchema + Send> ApiResponse for $Name<T> {
            const STATUS: StatusCode = StatusCode::$STATUS;

            fn schema() -> RefOr<Schema> {
                T::schema()
            }

            fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
                T::schemas(into);
            }

            fn respond(self, _: &ResponseContext<'_>) -> Response {
                (Self::STATUS, Json(self.0)).into_response()
            }
        }
    )+};
}

json_responses! {
    Body = OK,
    Created = CREATED,
}

/// Defines response types with an optional JSON body, and the status of a response without one.
macro_rules! optional_json_responses {
    ($($(#[$doc:meta])* $Name:ident = $STATUS:ident or $EMPTY:ident),+ $(,)?) => {$(
        $(#[$doc])*
        pub struct $Name<T>(pub Option<T>);

        impl<T: Serialize + ToSchema + Send> ApiResponse for $Name<T> {
            const STATUS: StatusCode = StatusCode::$STATUS;
            const EMPTY_STATUS: Option<StatusCode> = Some(StatusCode::$EMPTY);

            fn schema() -> RefOr<Schema> {
                T::schema()
            }

            fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
                T::schemas(into);
            }

            fn respond(self, _: &ResponseContext<'_>) -> Response {
                match self.0 {
                    Some(body) => (Self::STATUS, Json(body)).into_response(),
                    None => StatusCode::$EMPTY.into_response(),
                }
            }
        }
    )+};
}

optional_json_responses! {
    /// A response with status 200, or 304 without a body if nothing changed.
    BodyIfChanged = OK or NOT_MODIFIED,
    /// A response with status 201, or 304 without a body if nothing changed.
    CreatedIfChanged = CREATED or NOT_MODIFIED,
    /// A response with status 200, with or without a body.
    BodyIfAny = OK or OK,
}

/// A response with status 204, without a body.
pub struct NoContent;

impl ApiResponse for NoContent {
    const STATUS: StatusCode = StatusCode::NO_CONTENT;
    const CONTENT_TYPES: &'static [&'static str] = &[];

    fn schema() -> RefOr<Schema> {
        <()>::schema()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}

    fn respond(self, _: &ResponseContext<'_>) -> Response {
        Self::STATUS.into_response()
    }
}

/// A response with status 202: the work continues in the background.
pub struct Accepted;

/// The body of a response with status 202.
#[derive(Serialize, ToSchema)]
pub struct AcceptedBody {
    pub message: &'static str,
}

impl ApiResponse for Accepted {
    const STATUS: StatusCode = StatusCode::ACCEPTED;

    fn schema() -> RefOr<Schema> {
        AcceptedBody::schema()
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        AcceptedBody::schemas(into);
    }

    fn respond(self, _: &ResponseContext<'_>) -> Response {
        (Self::STATUS, Json(AcceptedBody { message: "202 Accepted" })).into_response()
    }
}

/// A part of a list that begins after a key, with the key of the next part. Unlike numbered pages, parts cost the same
/// however far the list was read, and no item is missed or repeated while the list changes.
pub struct KeysetPage<T> {
    pub items: Vec<T>,
    /// The query parameter and its value with which the next part begins. None at the end of the list.
    pub next: Option<(&'static str, String)>,
}

/// A response with a numbered page of a list, or with a part that begins after a key.
pub enum ListBody<T> {
    Page(Page<T>),
    Keyset(KeysetPage<T>),
}

impl<T: Serialize + ToSchema + Send + 'static> ApiResponse for ListBody<T> {
    const STATUS: StatusCode = StatusCode::OK;
    const IS_LIST: bool = true;

    fn schema() -> RefOr<Schema> {
        PageBody::<T>::schema()
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(into);
    }

    fn respond(self, context: &ResponseContext<'_>) -> Response {
        let (items, headers) = match self {
            Self::Page(page) => return PageBody(page).respond(context),
            Self::Keyset(KeysetPage { items, next }) => (items, next.map(|next| next_link(context, &next))),
        };
        list_response(items, headers.unwrap_or_default())
    }
}

/// Returns a header with the link to the part of a list that begins with this parameter.
fn next_link(context: &ResponseContext<'_>, (name, value): &(&'static str, String)) -> HeaderMap {
    let link = format!("<{}>; rel=\"next\"", context.url_with(&[(name, value.clone())], &["page"]));
    HeaderMap::from_iter(HeaderValue::from_str(&link).ok().map(|link| (LINK, link)))
}

fn list_response<T: Serialize + Send + 'static>(items: Vec<T>, mut headers: HeaderMap) -> Response {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let (body, bytes) = list_body(items);
    let mut response = (StatusCode::OK, headers, body).into_response();
    response.extensions_mut().insert(BodyBytes(bytes));
    response
}

/// A response with a JSON body that is computed while it is sent.
pub struct StreamedBody<T> {
    stream: BoxStream<'static, io::Result<Bytes>>,
    schema: PhantomData<fn() -> T>,
}

impl<T> StreamedBody<T> {
    pub fn new(stream: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Self {
        Self { stream: stream.boxed(), schema: PhantomData }
    }
}

impl<T: ToSchema> ApiResponse for StreamedBody<T> {
    const STATUS: StatusCode = StatusCode::OK;

    fn schema() -> RefOr<Schema> {
        T::schema()
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(into);
    }

    fn respond(self, _: &ResponseContext<'_>) -> Response {
        let json = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
        (Self::STATUS, [json], HttpBody::from_stream(self.stream)).into_response()
    }
}

/// A response with one page of a list, and headers with links to the other pages.
pub struct PageBody<T>(pub Page<T>);

impl<T: Serialize + ToSchema + Send + 'static> ApiResponse for PageBody<T> {
    const STATUS: StatusCode = StatusCode::OK;
    const IS_LIST: bool = true;

    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(T::schema()).into()
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(into);
    }

    fn respond(self, context: &ResponseContext<'_>) -> Response {
        let headers = page_headers(&self.0, context);
        list_response(self.0.items, headers)
    }
}

/// The size of a response body that is in memory although it is streamed. It is an extension of the response.
#[derive(Clone, Copy)]
pub(crate) struct BodyBytes(pub u64);

/// Size of the chunks in which a list is serialized. Nearly all lists are shorter and are sent with a `Content-Length`.
const CHUNK_SIZE: usize = MAX_SMALL_BYTES as usize;

/// Returns a list as a JSON body, and its approximate size. A list of more than one chunk is serialized while it is
/// sent.
fn list_body<T: Serialize + Send + 'static>(items: Vec<T>) -> (HttpBody, u64) {
    let mut chunks = ListChunks { items: items.into_iter(), separator: b"[", is_open: true };
    let first = chunks.next();
    let first_bytes = first.as_ref().and_then(|chunk| chunk.as_ref().ok()).map_or(0, Bytes::len) as u64;
    match first {
        Some(Ok(whole)) if !chunks.is_open => (whole.into(), first_bytes),
        first => {
            let bytes = first_bytes + chunks.remaining_bytes();
            (HttpBody::from_stream(stream::iter(first.into_iter().chain(chunks))), bytes)
        }
    }
}

/// An iterator over the chunks of a list in JSON. Each item is dropped after it has been serialized, so that a long
/// list is not in memory twice: a client that stops reading holds the remaining items and one chunk.
struct ListChunks<T> {
    items: std::vec::IntoIter<T>,
    separator: &'static [u8],
    is_open: bool,
}

impl<T: Serialize> ListChunks<T> {
    /// Returns the serialized size of the remaining items, without brackets and separators.
    fn remaining_bytes(&self) -> u64 {
        let mut counter = ByteCounter(0);
        for item in self.items.as_slice() {
            // An item that cannot be serialized fails when it is sent.
            serde_json::to_writer(&mut counter, item).ok();
        }
        counter.0
    }
}

impl<T: Serialize> Iterator for ListChunks<T> {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut chunk = Vec::new();
        while self.is_open && chunk.len() < CHUNK_SIZE {
            let Some(item) = self.items.next() else {
                chunk.extend_from_slice(if self.separator == b"[" { b"[]" } else { b"]" });
                self.is_open = false;
                break;
            };
            chunk.extend_from_slice(self.separator);
            self.separator = b",";
            if let Err(error) = serde_json::to_writer(&mut chunk, &item) {
                return Some(Err(io::Error::other(error)));
            }
        }
        (!chunk.is_empty()).then(|| Ok(Bytes::from(chunk)))
    }
}

/// A writer that counts bytes and discards them.
struct ByteCounter(u64);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn page_headers<T>(page: &Page<T>, context: &ResponseContext<'_>) -> HeaderMap {
    let (number, size) = (page.request.number(), page.request.size());
    let pages = page.total.map(|total| total.unsigned_abs().div_ceil(size.unsigned_abs()) as i64);
    let next = page.has_next.then(|| number + 1);
    let previous = (number > 1).then(|| number - 1);
    let mut headers = HeaderMap::new();
    let mut set = |name: &'static str, value: Option<i64>| {
        let value = value.map_or(HeaderValue::from_static(""), HeaderValue::from);
        headers.insert(HeaderName::from_static(name), value);
    };
    set("x-page", Some(number));
    set("x-per-page", Some(size));
    set("x-next-page", next);
    set("x-prev-page", previous);
    if let (Some(total), Some(pages)) = (page.total, pages) {
        set("x-total", Some(total));
        set("x-total-pages", Some(pages));
    }
    let links = [("prev", previous), ("next", next), ("first", Some(1)), ("last", pages.map(|pages| pages.max(1)))];
    let links: Vec<String> = links
        .into_iter()
        .filter_map(|(rel, number)| Some(format!("<{}>; rel=\"{rel}\"", page_url(context, number?, size))))
        .collect();
    if let Ok(link) = HeaderValue::from_str(&links.join(", ")) {
        headers.insert(LINK, link);
    }
    headers
}

/// The characters to encode: all but the unreserved characters of a URL.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the URL of the request with another page number.
fn page_url(context: &ResponseContext<'_>, number: i64, size: i64) -> String {
    context.url_with(&[("page", number.to_string()), ("per_page", size.to_string())], &[])
}

/// The parameters that are left out of links, because links end up in logs.
const SECRET_PARAMETERS: [&str; 5] = ["private_token", "access_token", "job_token", "token", "sudo"];

impl ResponseContext<'_> {
    /// Returns the URL of the request with these parameters instead of its own of the same names, and without the omitted
    /// and the secret ones.
    fn url_with(&self, changed: &[(&str, String)], omitted: &[&str]) -> String {
        let is_kept = |name: &str| {
            !SECRET_PARAMETERS.contains(&name) && !omitted.contains(&name) && !changed.iter().any(|it| it.0 == name)
        };
        let kept = self.query.iter().filter(|(name, _)| is_kept(name)).map(|(name, value)| (name.as_str(), value));
        let mut query: Vec<(&str, &String)> = kept.chain(changed.iter().map(|(name, value)| (*name, value))).collect();
        query.sort();
        let encode = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
        let query: Vec<String> =
            query.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        format!("{}?{}", self.url, query.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use hyper::body::Body as _;

    use super::*;

    /// The reported size determines the permit of a list. Short and long lists must yield the same JSON.
    #[tokio::test]
    async fn list_body_is_complete_and_reports_its_size() {
        for (count, length) in [(0, 0), (1, 10), (3, CHUNK_SIZE / 3), (1, 2 * CHUNK_SIZE), (100, 64 << 10)] {
            let items: Vec<String> = (0..count).map(|number| format!("{number}\n{}", "x".repeat(length))).collect();
            let expected = serde_json::to_vec(&items).unwrap();
            let (body, bytes) = list_body(items);
            assert_eq!(body.size_hint().exact().is_some(), expected.len() <= CHUNK_SIZE, "{count} of {length}");
            let body = body.collect().await.unwrap().to_bytes();
            assert!(body == expected, "{count} of {length}");
            // The reported size does not include brackets and commas.
            let size = expected.len() as u64;
            assert!(bytes <= size && size <= bytes + count + 2, "{bytes} of {size}");
        }
    }
}
