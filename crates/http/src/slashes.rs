//! Slashes as clients of the era write them: `branches/feature/x` where `branches/feature%2Fx` is meant, and `issues/` or
//! `issues//7` where one is too many. All work.

use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{Method, Uri};

/// Whose names may have slashes, and what may stand behind such a name.
const NAMED: [(&str, &[&str]); 3] = [("branches", &["protect", "unprotect"]), ("tags", &["release"]), ("blobs", &[])];

pub async fn encode(mut request: Request) -> Request {
    let acts = matches!(*request.method(), Method::POST | Method::PUT);
    // An id that was left out must not turn a deletion of something within into one of the whole.
    let deletes = *request.method() == Method::DELETE && request.uri().path().ends_with('/');
    let path = if deletes { None } else { collapsed(request.uri().path()) };
    let encoded = encoded(acts, path.as_deref().unwrap_or(request.uri().path()));
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

/// None if there is no slash too many.
fn collapsed(path: &str) -> Option<String> {
    let below = path.strip_prefix("/api/v3/")?;
    if !below.ends_with('/') && !below.contains("//") {
        return None;
    }
    let parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).collect();
    Some(format!("/api/v3/{}", parts.join("/")))
}

/// None if there is nothing to encode. Only where something is done to what is named, a word stands behind the name.
fn encoded(acts: bool, path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let (["", "api", "v3", "projects", _, "repository", area], name) = parts.split_at_checked(7)? else { return None };
    let (_, behind) = NAMED.iter().find(|(named, _)| named == area)?;
    let (name, last) = match name.split_last() {
        Some((last, name)) if acts && behind.contains(last) => (name, Some(last)),
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
    fn slashes_too_many_are_dropped() {
        for (path, expected) in [
            ("/api/v3/projects/1/issues/", Some("/api/v3/projects/1/issues")),
            ("/api/v3/projects/1/issues//7", Some("/api/v3/projects/1/issues/7")),
            ("/api/v3/projects/a%2Fb/issues", None),
            ("/ada//p/", None),
        ] {
            assert_eq!(collapsed(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn names_are_encoded_and_nothing_else() {
        let api = "/api/v3/projects/1/repository";
        for (acts, path, expected) in [
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
            assert_eq!(encoded(acts, &format!("{api}/{path}")), expected, "{path}");
        }
        assert_eq!(encoded(false, "/ada/p/branches/a/b/c/d/e"), None);
    }
}
