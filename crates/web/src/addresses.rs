//! Addresses in requests: which project a path names, and whether a form may lead to a page.

use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::prefetched::RequestTarget;
use holdfast_app::projects::project::ProjectRef;
use holdfast_http_core::Access;
use holdfast_http_core::params::RawParams;

/// Returns the project that a path names. A suffix `.git`, as in the URL of the repository, is accepted.
pub fn project_ref(namespace: &str, project: &str) -> ProjectRef {
    let project = project.strip_suffix(".git").unwrap_or(project);
    ProjectRef::Path { namespace: namespace.to_owned(), project: project.to_owned() }
}

/// Returns the group that a path names.
pub fn group_ref(path: &str) -> GroupRef {
    GroupRef::Path(path.to_owned())
}

/// Returns the project or group of a page, which is read together with the session.
pub fn request_target(access: Access, raw: &RawParams) -> Option<RequestTarget> {
    let segment = |name: &str| raw.value(name)?.ok()?.as_str();
    match access {
        Access::Project(_) => Some(RequestTarget::Project(project_ref(segment("namespace")?, segment("project")?))),
        Access::Group(_) => Some(RequestTarget::Group(group_ref(segment("group")?))),
        Access::Anyone | Access::Instance(_) => None,
    }
}

/// Returns the address of a project's page with `home` as its first two segments. Returns None if `path`, which is path
/// and query of the request, has them already.
pub fn canonical_address(path: &str, home: &str) -> Option<String> {
    let (path, query) = path.find('?').map_or((path, ""), |start| path.split_at(start));
    let rest_start = path.match_indices('/').nth(2).map_or(path.len(), |(start, _)| start);
    let (requested, rest) = path.split_at(rest_start);
    (requested != home).then(|| format!("{home}{rest}{query}"))
}

/// Returns whether a text is a path of this site that a browser cannot read as the address of another one.
pub fn is_local_path(text: &str) -> bool {
    text.starts_with('/')
        && !text.starts_with("//")
        && !text.chars().any(|character| character == '\\' || character.is_control())
}

/// Returns whether a path, without its query, matches a declared path such as `/groups/:group`. A last segment `*name`
/// matches the rest.
pub fn matches_pattern(pattern: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    for part in pattern.split('/') {
        if part.starts_with('*') {
            return segments.next().is_some_and(|segment| !segment.is_empty());
        }
        let Some(segment) = segments.next() else { return false };
        let is_match = if part.starts_with(':') { !segment.is_empty() } else { part == segment };
        if !is_match {
            return false;
        }
    }
    segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_site_are_followed_after_signing_in() {
        for (text, expected) in [
            ("/", true),
            ("/ada/tide?a=b", true),
            ("//evil.example", false),
            ("/\\evil.example", false),
            ("https://evil.example", false),
            ("/a\n", false),
            ("", false),
        ] {
            assert_eq!(is_local_path(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_page_of_a_project_has_one_address() {
        let address = |path| canonical_address(path, "/ada/tide");
        assert_eq!(address("/ada/tide"), None);
        assert_eq!(address("/ada/tide/issues?page=2"), None);
        assert_eq!(address("/Ada/tide.git").as_deref(), Some("/ada/tide"));
        assert_eq!(address("/old/tide/issues?page=2").as_deref(), Some("/ada/tide/issues?page=2"));
    }

    #[test]
    fn patterns_match_whole_paths() {
        assert!(matches_pattern("/", "/"));
        assert!(matches_pattern("/:namespace/:project", "/ada/tide"));
        assert!(!matches_pattern("/:namespace/:project", "/ada/tide/issues"));
        assert!(!matches_pattern("/:namespace/:project", "/ada/"));
        assert!(matches_pattern("/:namespace/:project/tree/*rest", "/ada/tide/tree/main/src"));
        assert!(!matches_pattern("/groups/:group", "/projects/x"));
    }
}
