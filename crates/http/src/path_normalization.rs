//! Normalizes slashes in API paths, as clients of the v3 era expect.
//!
//! Unencoded slashes in names are accepted (`branches/feature/x` for `branches/feature%2Fx`), and so are extra slashes
//! (`issues/`, `issues//7`).

use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{Method, Uri};

/// Resources whose names may contain slashes, with the path segments that may follow a name.
const NAMES_WITH_SLASHES: [(&str, &[&str]); 3] =
    [("branches", &["protect", "unprotect"]), ("tags", &["release"]), ("blobs", &[])];

pub async fn normalize(mut request: Request) -> Request {
    let is_write = matches!(*request.method(), Method::POST | Method::PUT);
    // If a client omits the id, a `DELETE` of an element must not become a `DELETE` of its parent.
    let is_delete_without_id = *request.method() == Method::DELETE && request.uri().path().ends_with('/');
    let path = if is_delete_without_id { None } else { collapse_slashes(request.uri().path()) };
    let encoded = encode_name_slashes(is_write, path.as_deref().unwrap_or(request.uri().path()));
    if let Some(path) = encoded.or(path) {
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = PathAndQuery::try_from(format!("{path}{query}")).ok();
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
    }
    request
}

/// Removes extra slashes from an API path. Returns `None` if there are none.
fn collapse_slashes(path: &str) -> Option<String> {
    let api_path = path.strip_prefix("/api/v3/")?;
    if !api_path.ends_with('/') && !api_path.contains("//") {
        return None;
    }
    let parts: Vec<&str> = api_path.split('/').filter(|part| !part.is_empty()).collect();
    Some(format!("/api/v3/{}", parts.join("/")))
}

/// Encodes the slashes in a name. Returns `None` if there are none. The last segment can be an action only in a `POST`
/// or `PUT` request; otherwise it is part of the name.
fn encode_name_slashes(is_write: bool, path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let (["", "api", "v3", "projects", _, "repository", area], name) = parts.split_at_checked(7)? else { return None };
    let (_, suffixes) = NAMES_WITH_SLASHES.iter().find(|(named, _)| named == area)?;
    let (name, last) = match name.split_last() {
        Some((last, name)) if is_write && suffixes.contains(last) => (name, Some(last)),
        _ => (name, None),
    };
    if name.len() < 2 {
        return None;
    }
    let name = name.join("%2F");
    let last = last.map(|last| format!("/{last}")).unwrap_or_default();
    Some(format!("{}/{name}{last}", parts[..7].join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_slashes_are_collapsed() {
        for (path, expected) in [
            ("/api/v3/projects/1/issues/", Some("/api/v3/projects/1/issues")),
            ("/api/v3/projects/1/issues//7", Some("/api/v3/projects/1/issues/7")),
            ("/api/v3/projects/a%2Fb/issues", None),
            ("/ada//p/", None),
        ] {
            assert_eq!(collapse_slashes(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn only_slashes_in_names_are_encoded() {
        let api = "/api/v3/projects/1/repository";
        for (is_write, path, expected) in [
            (false, "branches/a/b", Some("branches/a%2Fb")),
            (false, "branches/a/b/protect", Some("branches/a%2Fb%2Fprotect")),
            (true, "branches/a/b/protect", Some("branches/a%2Fb/protect")),
            (true, "branches/a/protect", None),
            (true, "tags/a/b/c/release", Some("tags/a%2Fb%2Fc/release")),
            (false, "blobs/a/b", Some("blobs/a%2Fb")),
            (false, "branches/a", None),
            (false, "branches/a%2Fb", None),
            (false, "branches", None),
            (false, "raw_blobs/a/b", None),
        ] {
            let expected = expected.map(|expected| format!("{api}/{expected}"));
            assert_eq!(encode_name_slashes(is_write, &format!("{api}/{path}")), expected, "{path}");
        }
        assert_eq!(encode_name_slashes(false, "/ada/p/branches/a/b/c/d/e"), None);
    }
}
