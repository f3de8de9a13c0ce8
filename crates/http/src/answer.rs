//! What endpoints answer with. The type says the status and the schema, so that no endpoint can forget either.

use std::io;

use axum::Json;
use axum::body::Body as HttpBody;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, LINK};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use holdfast_app::large_response::MAX_SMALL_BYTES;
use holdfast_domain::page::Page;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use utoipa::openapi::schema::ArrayBuilder;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// What an answer repeats of its request.
pub struct Facts<'a> {
    pub url: String,
    pub query: &'a [(String, String)],
}

pub trait Answer: Send {
    const STATUS: StatusCode;
    /// Where there is nothing to say.
    const OR_NOTHING: Option<StatusCode> = None;
    const IS_LIST: bool = false;
    const CONTENT_TYPES: &'static [&'static str] = &["application/json"];

    fn schema() -> RefOr<Schema>;
    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>);
    fn respond(self, facts: &Facts<'_>) -> Response;
}

/// Answers with one body.
macro_rules! bodies {
    ($($(#[$doc:meta])* $Name:ident = $STATUS:ident),+ $(,)?) => {$(
        $(#[$doc])*
        pub struct $Name<T>(pub T);

        impl<T: Serialize + ToSchema + Send> Answer for $Name<T> {
            const STATUS: StatusCode = StatusCode::$STATUS;

            fn schema() -> RefOr<Schema> {
                T::schema()
            }

            fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
                T::schemas(into);
            }

            fn respond(self, _: &Facts<'_>) -> Response {
                (Self::STATUS, Json(self.0)).into_response()
            }
        }
    )+};
}

bodies! {
    Body = OK,
    Created = CREATED,
}

/// Answers that may have nothing to say: which status then, and what else.
macro_rules! unless_nothing {
    ($($(#[$doc:meta])* $Name:ident = $STATUS:ident or $NOTHING:ident),+ $(,)?) => {$(
        $(#[$doc])*
        pub struct $Name<T>(pub Option<T>);

        impl<T: Serialize + ToSchema + Send> Answer for $Name<T> {
            const STATUS: StatusCode = StatusCode::$STATUS;
            const OR_NOTHING: Option<StatusCode> = Some(StatusCode::$NOTHING);

            fn schema() -> RefOr<Schema> {
                T::schema()
            }

            fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
                T::schemas(into);
            }

            fn respond(self, _: &Facts<'_>) -> Response {
                match self.0 {
                    Some(body) => (Self::STATUS, Json(body)).into_response(),
                    None => StatusCode::$NOTHING.into_response(),
                }
            }
        }
    )+};
}

unless_nothing! {
    /// 304 where nothing changed.
    BodyIfChanged = OK or NOT_MODIFIED,
    /// 304 where nothing changed.
    CreatedIfChanged = CREATED or NOT_MODIFIED,
    /// 200 without a body where there is nothing to show.
    BodyIfAny = OK or OK,
}

/// 204: done, and there is nothing to show.
pub struct Nothing;

impl Answer for Nothing {
    const STATUS: StatusCode = StatusCode::NO_CONTENT;

    fn schema() -> RefOr<Schema> {
        <()>::schema()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}

    fn respond(self, _: &Facts<'_>) -> Response {
        Self::STATUS.into_response()
    }
}

/// 200 with one page of a list and where the others are.
pub struct Listed<T>(pub Page<T>);

impl<T: Serialize + ToSchema + Send + 'static> Answer for Listed<T> {
    const STATUS: StatusCode = StatusCode::OK;
    const IS_LIST: bool = true;

    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(T::schema()).into()
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(into);
    }

    fn respond(self, facts: &Facts<'_>) -> Response {
        let mut headers = page_headers(&self.0, facts);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (body, bytes) = list_body(self.0.items);
        let mut response = (Self::STATUS, headers, body).into_response();
        response.extensions_mut().insert(BodyBytes(bytes));
        response
    }
}

/// The size of the body of a response that is in memory although it is streamed. It is an extension of the response.
#[derive(Clone, Copy)]
pub(crate) struct BodyBytes(pub u64);

/// How much of a list is written at a time. Nearly all lists are shorter, and are sent with their length.
const CHUNK_SIZE: usize = MAX_SMALL_BYTES as usize;

/// Returns a list as JSON, and its size. A long one is written while it is sent.
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

/// Writes a list as JSON, in chunks. Every item is dropped when it has been written, so that a long list is not in memory
/// twice, and a client that does not read it holds one chunk beside what is left of the items.
struct ListChunks<T> {
    items: std::vec::IntoIter<T>,
    separator: &'static [u8],
    is_open: bool,
}

impl<T: Serialize> ListChunks<T> {
    /// Returns the size of the items that are not written yet, without what is between them.
    fn remaining_bytes(&self) -> u64 {
        let mut counter = ByteCounter(0);
        for item in self.items.as_slice() {
            // What cannot be written fails when it is sent.
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

/// Counts what is written, and keeps none of it.
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

fn page_headers<T>(page: &Page<T>, facts: &Facts<'_>) -> HeaderMap {
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
        .filter_map(|(rel, number)| Some(format!("<{}>; rel=\"{rel}\"", page_url(facts, number?, size))))
        .collect();
    if let Ok(link) = HeaderValue::from_str(&links.join(", ")) {
        headers.insert(LINK, link);
    }
    headers
}

/// Everything but the unreserved characters of a URL.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The request's own address at another page. Tokens are not repeated: links end up in logs.
fn page_url(facts: &Facts<'_>, number: i64, size: i64) -> String {
    let own = ["page", "per_page", "private_token", "sudo"];
    let mut query: Vec<(String, String)> =
        facts.query.iter().filter(|(name, _)| !own.contains(&name.as_str())).cloned().collect();
    query.push(("page".into(), number.to_string()));
    query.push(("per_page".into(), size.to_string()));
    query.sort();
    let encode = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
    let query: Vec<String> = query.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    format!("{}?{}", facts.url, query.join("&"))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use hyper::body::Body as _;

    use super::*;

    /// The size of a list decides about its permit; long and short ones are the same JSON.
    #[tokio::test]
    async fn a_list_is_whole_and_its_size_is_known() {
        for (count, length) in [(0, 0), (1, 10), (3, CHUNK_SIZE / 3), (1, 2 * CHUNK_SIZE), (100, 64 << 10)] {
            let items: Vec<String> = (0..count).map(|number| format!("{number}\n{}", "x".repeat(length))).collect();
            let expected = serde_json::to_vec(&items).unwrap();
            let (body, bytes) = list_body(items);
            assert_eq!(body.size_hint().exact().is_some(), expected.len() <= CHUNK_SIZE, "{count} of {length}");
            let body = body.collect().await.unwrap().to_bytes();
            assert!(body == expected, "{count} of {length}");
            // Without brackets and commas.
            let size = expected.len() as u64;
            assert!(bytes <= size && size <= bytes + count + 2, "{bytes} of {size}");
        }
    }
}
