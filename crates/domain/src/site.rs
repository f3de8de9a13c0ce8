//! Paths of the pages of the web interface. Pages, API bodies, hook payloads and CI variables use these functions, so
//! that every address that the server emits leads to a page.
//!
//! The paths begin with a slash and are percent-encoded. [`InstanceUrls::url`](crate::InstanceUrls::url) makes URLs of
//! them.

mod hooks;

use std::fmt::Display;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_encode, utf8_percent_encode};

pub use hooks::HookLinks;

use crate::planning::ListQuery;

/// The characters that are encoded in one segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The characters that are encoded in the name of a ref or the path of a file, whose slashes are kept.
const PATH: &AsciiSet = &SEGMENT.remove(b'/');

/// Returns the path of a user's page.
pub fn user(username: &str) -> String {
    format!("/{}", utf8_percent_encode(username, SEGMENT))
}

/// Returns the path of a group's page.
pub fn group(path: &str) -> String {
    format!("/groups/{}", utf8_percent_encode(path, PATH))
}

/// Returns the path of the runners of the instance.
pub const fn all_runners() -> &'static str {
    "/admin/runners"
}

/// Returns the path of a runner in the administration.
pub fn runner(id: impl Display) -> String {
    format!("{}/{id}", all_runners())
}

/// Returns the path of a page or an action below a group, such as `members`.
pub fn group_page(path: &str, page: &str) -> String {
    format!("{}/{page}", group(path))
}

/// Returns the path of a namespace: the page of a group or of a user.
pub fn namespace(path: &str, is_group: bool) -> String {
    if is_group { group(path) } else { user(path) }
}

/// Returns the path of the action that completes a todo of the viewer.
pub fn complete_todo(id: i64) -> String {
    format!("/dashboard/todos/{id}/done")
}

/// Returns the path of the page on which administrators manage a user.
pub fn admin_user(id: impl Display) -> String {
    format!("/admin/users/{id}")
}

/// Returns the path of an action of administrators on a user, such as `block`.
pub fn admin_user_action(id: impl Display, action: impl Display) -> String {
    format!("/admin/users/{id}/{action}")
}

/// Returns the path of the action that requests the maintenance of a project's repository.
pub fn admin_project_maintenance(id: impl Display) -> String {
    format!("/admin/projects/{id}/maintain")
}

/// Returns the path of the action that runs a job again.
pub fn admin_job_retry(id: impl Display) -> String {
    format!("/admin/jobs/{id}/retry")
}

/// Returns a query string for pairs of names and values, or an empty text if all values are empty.
pub fn query(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    let encoded = pairs
        .map(|(name, value)| format!("{}={}", utf8_percent_encode(name, SEGMENT), utf8_percent_encode(value, SEGMENT)));
    let joined = encoded.collect::<Vec<_>>().join("&");
    if joined.is_empty() { joined } else { format!("?{joined}") }
}

/// The paths of the pages of one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectLinks {
    home: String,
}

impl ProjectLinks {
    /// Creates the paths for a project by its path with its namespace, such as `harbour/tidewatch`.
    pub fn new(full_path: &str) -> Self {
        Self { home: format!("/{}", utf8_percent_encode(full_path, PATH)) }
    }

    /// Returns the path of the project's home page.
    pub fn home(&self) -> &str {
        &self.home
    }

    /// Returns the path of the repository for git over HTTP.
    pub fn git(&self) -> String {
        format!("{}.git", self.home)
    }

    /// Returns the path of a page below the project, such as `issues`.
    fn page(&self, name: &str) -> String {
        format!("{}/{name}", self.home)
    }

    /// Returns the path of the form that leads to a page about code at another revision.
    pub fn trees(&self) -> String {
        self.page("tree")
    }

    /// Returns the path of a directory, or of the root for an empty path. `path` need not be valid UTF-8.
    pub fn tree(&self, revision: &str, path: impl AsRef<[u8]>) -> String {
        self.at_revision("tree", revision, path.as_ref())
    }

    /// Returns the path of a file.
    pub fn blob(&self, revision: &str, path: impl AsRef<[u8]>) -> String {
        self.at_revision("blob", revision, path.as_ref())
    }

    /// Returns the path of the bytes of a file.
    pub fn raw(&self, revision: &str, path: impl AsRef<[u8]>) -> String {
        self.at_revision("raw", revision, path.as_ref())
    }

    /// Returns the path of an uploaded file, from the path that texts contain: `/uploads/SECRET/FILE`.
    pub fn upload(&self, path: &str) -> String {
        format!("{}{}", self.home, encode_path(path))
    }

    /// Returns the path of a commit.
    pub fn commit(&self, id: impl Display) -> String {
        self.record("commit", id)
    }

    /// Returns the path of the commits of a revision, or of those that changed a file or directory.
    pub fn commits(&self, revision: &str, path: impl AsRef<[u8]>) -> String {
        self.at_revision("commits", revision, path.as_ref())
    }

    /// Returns the path of the form that compares two revisions.
    pub fn comparisons(&self) -> String {
        self.page("compare")
    }

    /// Returns the path of the comparison of two revisions. `operator` is `...` or `..`.
    pub fn compare(&self, from: &str, operator: &str, to: &str) -> String {
        format!("{}/{}{operator}{}", self.comparisons(), encode_path(from), encode_path(to))
    }

    /// Returns the path of the pairs of commits that two versions of a branch have.
    pub fn range_diff(&self, old: &str, new: &str) -> String {
        format!("{}/range_diff/{}...{}", self.home, encode_path(old), encode_path(new))
    }

    /// Returns the path of the ref log.
    pub fn refs(&self) -> String {
        self.page("refs")
    }

    /// Returns the path of the action that restores a ref.
    pub fn restore_ref(&self) -> String {
        self.record("refs", "restore")
    }

    pub fn branches(&self) -> String {
        self.page("branches")
    }

    pub fn tags(&self) -> String {
        self.page("tags")
    }

    /// Returns the path of a tag with its release.
    pub fn tag(&self, name: &str) -> String {
        self.at_revision("tags", name, b"")
    }

    /// Returns the path of the action that deletes a tag.
    pub fn delete_tag(&self) -> String {
        self.page("delete_tag")
    }

    /// Returns the path of the action that saves release notes.
    pub fn releases(&self) -> String {
        self.page("releases")
    }

    /// Returns the path of an archive of a revision. `format` is the suffix of the file, such as `tar.gz`.
    pub fn archive(&self, revision: &str, format: &str) -> String {
        format!("{}/archive/{}.{format}", self.home, encode_path(revision))
    }

    /// Returns the path of the search for files of a revision.
    pub fn find(&self, revision: &str) -> String {
        self.at_revision("find", revision, b"")
    }

    /// Returns the path of the page that shows the last commit of each line of a file.
    pub fn blame(&self, revision: &str, path: impl AsRef<[u8]>) -> String {
        self.at_revision("blame", revision, path.as_ref())
    }

    /// Returns the path of the action that cancels an import.
    pub fn cancel_import(&self) -> String {
        self.page("import/cancel")
    }

    /// Returns the path of the form that edits a file of a branch.
    pub fn edit_file(&self, branch: &str, path: impl AsRef<[u8]>) -> String {
        self.at_revision("edit", branch, path.as_ref())
    }

    /// Returns the path of the form that creates a file in a directory of a branch.
    pub fn new_file(&self, branch: &str, directory: impl AsRef<[u8]>) -> String {
        self.at_revision("new", branch, directory.as_ref())
    }

    /// Returns the path of the form that deletes a file of a branch.
    pub fn delete_file(&self, branch: &str, path: impl AsRef<[u8]>) -> String {
        self.at_revision("delete", branch, path.as_ref())
    }

    /// Returns the path of the form that uploads a file into a directory of a branch, or another content of a file.
    pub fn upload_file(&self, branch: &str, path: impl AsRef<[u8]>) -> String {
        self.at_revision("upload", branch, path.as_ref())
    }

    pub fn contributors(&self) -> String {
        self.page("contributors")
    }

    pub fn activity(&self) -> String {
        self.page("activity")
    }

    pub fn forks(&self) -> String {
        self.page("forks")
    }

    /// Returns the path of the action that stars the project.
    pub fn star(&self) -> String {
        self.page("star")
    }

    /// Returns the path of the action that removes a star.
    pub fn unstar(&self) -> String {
        self.page("unstar")
    }

    /// Returns the path of the form that creates a fork.
    pub fn fork(&self) -> String {
        self.page("fork")
    }

    /// Returns the path of the general settings.
    pub fn settings(&self) -> String {
        self.settings_page("general")
    }

    /// Returns the path of a page or an action below the settings.
    pub fn settings_page(&self, name: &str) -> String {
        self.record("settings", name)
    }

    /// Returns the path of the members. They are shown to viewers without other settings, too.
    pub fn members(&self) -> String {
        self.settings_page("members")
    }

    /// Returns the path of the action that requests access to the project.
    pub fn request_access(&self) -> String {
        self.page("request_access")
    }

    /// Returns the path of the action that withdraws a request for access.
    pub fn withdraw_request(&self) -> String {
        self.page("withdraw_request")
    }

    pub fn issues(&self) -> String {
        self.page("issues")
    }

    pub fn issue(&self, iid: impl Display) -> String {
        self.record("issues", iid)
    }

    /// Returns the path of the issues that a filter selects. The filter is part of it, unless it is the default.
    pub fn issues_matching(&self, query: &ListQuery) -> String {
        let text = if *query == ListQuery::default() { String::new() } else { query.to_string() };
        format!("{}{}", self.issues(), self::query(&[("q", &text)]))
    }

    /// Returns the path of the form that creates an issue.
    pub fn new_issue(&self) -> String {
        self.record("issues", "new")
    }

    /// Returns the path of the action that changes several issues.
    pub fn issues_bulk(&self) -> String {
        self.record("issues", "bulk")
    }

    /// Returns the path of a form or an action of an issue, such as `edit` or `close`.
    pub fn issue_action(&self, iid: impl Display, action: &str) -> String {
        format!("{}/{action}", self.issue(iid))
    }

    /// Returns the path of a note of an issue on this page of its notes.
    pub fn issue_note_on_page(&self, iid: impl Display, note: impl Display, page: i64) -> String {
        let page = if page == 1 { String::new() } else { page.to_string() };
        format!("{}{}#note_{note}", self.issue(iid), self::query(&[("page", &page)]))
    }

    /// Returns the path of the form of a note of an issue.
    pub fn issue_note_form(&self, iid: impl Display, note: impl Display) -> String {
        format!("{}/notes/{note}", self.issue(iid))
    }

    /// Returns the path of the action that renders Markdown.
    pub fn preview(&self) -> String {
        self.page("preview")
    }

    /// Returns the path of a note of an issue.
    pub fn issue_note(&self, iid: impl Display, note: impl Display) -> String {
        format!("{}#note_{note}", self.issue(iid))
    }

    pub fn merge_requests(&self) -> String {
        self.page("merge_requests")
    }

    pub fn merge_request(&self, iid: impl Display) -> String {
        self.record("merge_requests", iid)
    }

    /// Returns the path of the merge requests that a filter selects. The filter is part of it, unless it is the default.
    pub fn merge_requests_matching(&self, query: &ListQuery) -> String {
        let text = if *query == ListQuery::default() { String::new() } else { query.to_string() };
        format!("{}{}", self.merge_requests(), self::query(&[("q", &text)]))
    }

    /// Returns the path of the form that creates a merge request.
    pub fn new_merge_request(&self) -> String {
        self.record("merge_requests", "new")
    }

    /// Returns the path of a page, a form or an action of a merge request, such as `changes` or `close`.
    pub fn merge_request_page(&self, iid: impl Display, page: &str) -> String {
        format!("{}/{page}", self.merge_request(iid))
    }

    /// Returns the path of a note of a merge request on this page of its notes.
    pub fn merge_request_note_on_page(&self, iid: impl Display, note: impl Display, page: i64) -> String {
        let page = if page == 1 { String::new() } else { page.to_string() };
        format!("{}{}#note_{note}", self.merge_request(iid), self::query(&[("page", &page)]))
    }

    /// Returns the path of the form of a note of a merge request.
    pub fn merge_request_note_form(&self, iid: impl Display, note: impl Display) -> String {
        format!("{}/notes/{note}", self.merge_request(iid))
    }

    /// Returns the path of a comment of the viewer's review of a merge request, which was not submitted.
    pub fn draft_note(&self, iid: impl Display, draft: impl Display) -> String {
        format!("{}/review/{draft}", self.merge_request(iid))
    }

    /// Returns the path of an action on a discussion of a merge request, such as `notes` or `resolve`.
    pub fn discussion_action(&self, iid: impl Display, discussion: impl Display, action: &str) -> String {
        format!("{}/discussions/{discussion}/{action}", self.merge_request(iid))
    }

    pub fn labels(&self) -> String {
        self.page("labels")
    }

    /// Returns the path of the form that creates a label.
    pub fn new_label(&self) -> String {
        self.record("labels", "new")
    }

    /// Returns the path of a label, to which its form is sent.
    pub fn label(&self, id: impl Display) -> String {
        self.record("labels", id)
    }

    pub fn milestones(&self) -> String {
        self.page("milestones")
    }

    /// Returns the path of the form that creates a milestone.
    pub fn new_milestone(&self) -> String {
        self.record("milestones", "new")
    }

    pub fn milestone(&self, iid: impl Display) -> String {
        self.record("milestones", iid)
    }

    pub fn board(&self) -> String {
        self.page("board")
    }

    /// Returns the path of a list of the board, to which its forms are sent.
    pub fn board_list(&self, id: impl Display) -> String {
        self.record("board/lists", id)
    }

    pub fn pipelines(&self) -> String {
        self.page("pipelines")
    }

    pub fn pipeline(&self, id: impl Display) -> String {
        self.record("pipelines", id)
    }

    pub fn build(&self, id: impl Display) -> String {
        self.record("builds", id)
    }

    /// Returns the path of the trace of a build as text.
    pub fn build_raw(&self, id: impl Display) -> String {
        format!("{}/raw", self.build(id))
    }

    /// Returns the path of an action on a pipeline, such as `retry`, or of its stream of events, `live`.
    pub fn pipeline_action(&self, id: impl Display, action: &str) -> String {
        format!("{}/{action}", self.pipeline(id))
    }

    /// Returns the path of an action on a build, such as `retry`, or of its stream of events, `live`.
    pub fn build_action(&self, id: impl Display, action: &str) -> String {
        format!("{}/{action}", self.build(id))
    }

    /// Returns the path of the archive with the artifacts of a build.
    pub fn artifacts(&self, build: impl Display) -> String {
        format!("{}/artifacts", self.build(build))
    }

    /// Returns the path of a directory in the artifacts of a build, or of the root for an empty path.
    pub fn artifact_directory(&self, build: impl Display, path: &str) -> String {
        let separator = if path.is_empty() { "" } else { "/" };
        format!("{}/browse{separator}{}", self.artifacts(build), encode_path(path))
    }

    /// Returns the path of a file in the artifacts of a build.
    pub fn artifact_file(&self, build: impl Display, path: &str) -> String {
        format!("{}/file/{}", self.artifacts(build), encode_path(path))
    }

    /// Returns the path of the page that checks a CI file.
    pub fn ci_lint(&self) -> String {
        self.page("ci/lint")
    }

    /// Returns the path of a record by its number, or by another text that needs no encoding.
    fn record(&self, list: &str, id: impl Display) -> String {
        format!("{}/{list}/{id}", self.home)
    }

    fn at_revision(&self, page: &str, revision: &str, path: &[u8]) -> String {
        let mut address = format!("{}/{page}/{}", self.home, encode_path(revision));
        if !path.is_empty() {
            address.push('/');
            address.extend(percent_encode(path, PATH));
        }
        address
    }
}

/// Encodes the path of a file or of a page. Its slashes are kept.
pub fn encode_path(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, PATH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_slashes_and_encode_the_rest() {
        let links = ProjectLinks::new("harbour/tide watch");
        assert_eq!(links.home(), "/harbour/tide%20watch");
        let links = ProjectLinks::new("harbour/tidewatch");
        assert_eq!(links.git(), "/harbour/tidewatch.git");
        assert_eq!(links.tree("feature/a#b", ""), "/harbour/tidewatch/tree/feature/a%23b");
        assert_eq!(links.blob("main", b"a b/\xff?"), "/harbour/tidewatch/blob/main/a%20b/%FF%3F");
    }

    #[test]
    fn records_have_their_number_in_the_address() {
        let links = ProjectLinks::new("a/b");
        assert_eq!(links.issue(7), "/a/b/issues/7");
        assert_eq!(links.issue_note(7, 12), "/a/b/issues/7#note_12");
        assert_eq!(links.commit("0123abcd"), "/a/b/commit/0123abcd");
        assert_eq!(links.build_raw(3), "/a/b/builds/3/raw");
        assert_eq!(links.artifact_directory(3, ""), "/a/b/builds/3/artifacts/browse");
        assert_eq!(links.artifact_directory(3, "x y/z"), "/a/b/builds/3/artifacts/browse/x%20y/z");
    }

    #[test]
    fn users_and_groups_have_their_own_addresses() {
        assert_eq!(namespace("ada", false), "/ada");
        assert_eq!(namespace("harbour", true), "/groups/harbour");
    }

    #[test]
    fn empty_values_are_left_out_of_a_query() {
        assert_eq!(query(&[("search", "a&b c"), ("order", "")]), "?search=a%26b%20c");
        assert_eq!(query(&[("search", "")]), "");
    }
}
