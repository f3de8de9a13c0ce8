//! Style sheets, scripts and images, compiled into the program.
//!
//! Their addresses contain a hash over all of them (`/assets/VERSION/NAME`), so browsers may keep them forever, and
//! relative imports between scripts need no rewriting. A node that is asked for another version, which happens during a
//! rolling upgrade, sends its own file and forbids caching.

use std::io::Write as _;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use regex::bytes::Regex;
use sha2::{Digest, Sha256};

/// A file of the directory `crates/web/assets`, which is compiled into the program.
struct Asset {
    name: &'static str,
    content_type: &'static str,
    content: &'static [u8],
}

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const SPECULATION_RULES: &str = "application/speculationrules+json";

macro_rules! asset {
    ($name:literal, $content_type:expr) => {
        Asset { name: $name, content_type: $content_type, content: include_bytes!(concat!("../assets/", $name)) }
    };
}

const ASSETS: &[Asset] = &[
    asset!("board.js", JAVASCRIPT),
    asset!("compose.js", JAVASCRIPT),
    asset!("copy.js", JAVASCRIPT),
    asset!("favicon.svg", SVG),
    asset!("fragment.js", JAVASCRIPT),
    asset!("jump.js", JAVASCRIPT),
    asset!("keys.js", JAVASCRIPT),
    asset!("lines.js", JAVASCRIPT),
    asset!("live.js", JAVASCRIPT),
    asset!("main.js", JAVASCRIPT),
    asset!("mark.svg", SVG),
    asset!("speculation.json", SPECULATION_RULES),
    asset!("style.css", CSS),
    asset!("time.js", JAVASCRIPT),
];

/// The hash over all assets, and the prefix of their addresses.
static PREFIX: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for asset in ASSETS {
        hash.update(asset.name);
        hash.update([0]);
        hash.update(asset.content);
    }
    format!("/assets/{}", hex::encode(&hash.finalize()[..8]))
});

/// The contents as they are sent, in the order of [`ASSETS`].
static CONTENTS: LazyLock<Vec<Bytes>> = LazyLock::new(|| {
    let sent = |asset: &Asset| match asset.content_type {
        CSS => Bytes::from(without_comments(asset.content)),
        _ => Bytes::from_static(asset.content),
    };
    ASSETS.iter().map(sent).collect()
});

/// The compressed contents, in the order of [`ASSETS`].
static COMPRESSED: LazyLock<Vec<Bytes>> = LazyLock::new(|| CONTENTS.iter().map(|content| compress(content)).collect());

/// Returns a style sheet without its comments and the blank lines around them. They are a tenth of its compressed size.
fn without_comments(style: &[u8]) -> Vec<u8> {
    let comment = Regex::new(r"(?s)\s*/\*.*?\*/").expect("the pattern is valid");
    comment.replace_all(style, &b""[..]).into_owned()
}

fn compress(content: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).expect("writing to memory does not fail");
    encoder.finish().expect("writing to memory does not fail").into()
}

/// Returns the prefix of the addresses of all assets, without a trailing slash: `/assets/VERSION`.
pub fn prefix() -> &'static str {
    &PREFIX
}

/// Serves an asset at `/assets/{version}/{name}`.
pub async fn serve(Path((version, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let is_current = prefix().strip_prefix("/assets/") == Some(version.as_str());
    let cache_control = if is_current { "public, max-age=31536000, immutable" } else { "no-store" };
    respond(&name, &headers, cache_control)
}

/// Serves the icon at the address that browsers use when a page names none.
pub async fn serve_favicon(headers: HeaderMap) -> Response {
    respond("favicon.svg", &headers, "public, max-age=86400")
}

fn respond(name: &str, headers: &HeaderMap, cache_control: &'static str) -> Response {
    let Some(index) = ASSETS.iter().position(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let asset = &ASSETS[index];
    let response_headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static(cache_control)),
        (header::VARY, HeaderValue::from_static("Accept-Encoding")),
        // A drawing that is opened by itself runs no script.
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'")),
    ];
    if accepts_gzip(headers) {
        let encoding = [(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
        return (response_headers, encoding, COMPRESSED[index].clone()).into_response();
    }
    (response_headers, CONTENTS[index].clone()).into_response()
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut encodings = values.flat_map(|list| list.split(',')).map(|encoding| {
        let (name, quality) = encoding.split_once(';').unwrap_or((encoding, ""));
        (name.trim(), quality.trim())
    });
    encodings.any(|(name, quality)| name.eq_ignore_ascii_case("gzip") && !matches!(quality, "q=0" | "q=0.0"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn a_style_sheet_is_sent_without_comments() {
        let sent = without_comments(b"/* 1 */\na { b: c; } /* d\n e */\n\nf { g: h; }\n");
        assert_eq!(String::from_utf8(sent).unwrap(), "\na { b: c; }\n\nf { g: h; }\n");
    }

    #[test]
    fn every_asset_is_in_the_table() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");
        let entries = std::fs::read_dir(directory).unwrap();
        let mut files: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        assert_eq!(files, ASSETS.iter().map(|asset| asset.name).collect::<Vec<_>>());
    }

    #[test]
    fn gzip_is_sent_only_to_clients_that_accept_it() {
        for (accepted, expected) in
            [("gzip, br", true), ("br;q=1, GZIP;q=0.5", true), ("gzip;q=0", false), ("br", false)]
        {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(accepts_gzip(&headers), expected, "{accepted}");
        }
    }
}
