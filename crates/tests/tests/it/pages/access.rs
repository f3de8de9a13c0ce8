//! Opens every declared page as every role, and compares the status with the one that follows from its declared access.

use std::collections::BTreeMap;

use holdfast_domain::Visibility;
use holdfast_domain::policy::{GroupAction, ProjectAction};
use holdfast_http::Access;
use holdfast_tests::{Browser, PageResponse};
use holdfast_web::pages::{self, Page};
use serde_json::Value;

use super::fixtures::{FixtureProject, PageFixture, ROLES, access_level, instance_role};

/// What a role gets from a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The page, a redirect to another page, or the rejected form of an action.
    Allowed,
    /// A redirect to the sign-in form.
    SignIn,
    Forbidden,
    NotFound,
}

/// Returns what follows from the declared access of a page.
fn expected(access: Access, visibility: Visibility, role: &str) -> Outcome {
    let (instance_role, level) = (instance_role(role), access_level(role));
    let (is_visible, is_allowed) = match access {
        Access::Anyone => (true, true),
        Access::Instance(action) => (true, action.is_allowed(instance_role)),
        Access::Group(action) => (
            GroupAction::Read.is_allowed(visibility, instance_role, level),
            action.is_allowed(visibility, instance_role, level),
        ),
        Access::Project(action) => (
            ProjectAction::Read.is_allowed(visibility, instance_role, level),
            action.is_allowed(visibility, instance_role, level),
        ),
    };
    let is_anonymous = role == "anonymous";
    match (is_visible, is_allowed) {
        // A page that no anonymous viewer may see asks for a sign-in before anything is looked up.
        _ if is_anonymous && !access.is_open_to_anonymous() => Outcome::SignIn,
        (false, _) => Outcome::NotFound,
        (true, true) => Outcome::Allowed,
        (true, false) if is_anonymous => Outcome::SignIn,
        (true, false) => Outcome::Forbidden,
    }
}

/// Pages that the declared access does not describe alone: method, path, role, and what the role gets.
const DEVIATIONS: &[(&str, &str, &str, Outcome)] = &[
    // Users are shown to signed-in users only; groups with the same address are shown to all.
    ("GET", "/:namespace", "anonymous", Outcome::SignIn),
    // External users have no permission of their own to create groups. The page says so.
    ("POST", "/groups/new", "external", Outcome::Forbidden),
    // The only project of a runner cannot disable it.
    ("POST", DISABLE_RUNNER, "master", Outcome::Forbidden),
    ("POST", DISABLE_RUNNER, "owner", Outcome::Forbidden),
    ("POST", DISABLE_RUNNER, "administrator", Outcome::Forbidden),
];

const DISABLE_RUNNER: &str = "/:namespace/:project/settings/runners/:id/disable";

const RESOLVE: &str = "/:namespace/:project/merge_requests/:iid/discussions/:discussion_id/resolve";
const UNRESOLVE: &str = "/:namespace/:project/merge_requests/:iid/discussions/:discussion_id/unresolve";

/// Pages and actions about the issue, the merge request and the notes of the fixture, which the owner wrote: other roles need this
/// permission, while the declared access is that of authors.
const AUTHORED: &[(&str, &str, ProjectAction)] = &[
    ("GET", "/:namespace/:project/merge_requests/:iid/edit", ProjectAction::ManageMergeRequests),
    ("POST", "/:namespace/:project/merge_requests/:iid", ProjectAction::ManageMergeRequests),
    ("POST", "/:namespace/:project/merge_requests/:iid/close", ProjectAction::ManageMergeRequests),
    ("POST", "/:namespace/:project/merge_requests/:iid/reopen", ProjectAction::ManageMergeRequests),
    ("POST", RESOLVE, ProjectAction::ManageMergeRequests),
    ("POST", UNRESOLVE, ProjectAction::ManageMergeRequests),
    ("GET", "/:namespace/:project/merge_requests/:iid/notes/:note_id", ProjectAction::ModerateNotes),
    ("POST", "/:namespace/:project/merge_requests/:iid/notes/:note_id", ProjectAction::ModerateNotes),
    ("POST", "/:namespace/:project/merge_requests/:iid/notes/:note_id/delete", ProjectAction::ModerateNotes),
    ("GET", "/:namespace/:project/issues/:iid/edit", ProjectAction::ManageIssues),
    ("POST", "/:namespace/:project/issues/:iid", ProjectAction::ManageIssues),
    ("POST", "/:namespace/:project/issues/:iid/close", ProjectAction::ManageIssues),
    ("POST", "/:namespace/:project/issues/:iid/reopen", ProjectAction::ManageIssues),
    ("GET", "/:namespace/:project/issues/:iid/notes/:note_id", ProjectAction::ModerateNotes),
    ("POST", "/:namespace/:project/issues/:iid/notes/:note_id", ProjectAction::ModerateNotes),
    ("POST", "/:namespace/:project/issues/:iid/notes/:note_id/delete", ProjectAction::ModerateNotes),
];

fn outcome(response: &PageResponse) -> Outcome {
    match (response.status, response.location()) {
        (303, Some(location)) if location.starts_with("/sign_in?") || location == "/sign_in" => Outcome::SignIn,
        (200 | 303 | 308 | 422, _) => Outcome::Allowed,
        (403, _) => Outcome::Forbidden,
        (404, _) => Outcome::NotFound,
        (status, _) => panic!("status {status}: {}", response.text),
    }
}

fn expected_for(page: &Page, project: &FixtureProject, role: &str) -> Outcome {
    if page.path == "/setup" {
        // The page of the first run does not exist on an instance with users.
        return Outcome::NotFound;
    }
    let is_page = |method: &str, path: &str| page.method == method && page.path == path;
    let deviation = DEVIATIONS.iter().find(|(method, path, of_role, _)| is_page(method, path) && *of_role == role);
    let authored = AUTHORED.iter().find(|(method, path, _)| is_page(method, path));
    let access = authored.map_or(page.access, |(_, _, action)| Access::Project(*action));
    deviation.map_or_else(|| expected(access, project.visibility, role), |(_, _, _, outcome)| *outcome)
}

/// Returns the projects that a page is opened with: one, if the page is not about a group or a project.
fn subjects<'a>(page: &Page, fixture: &'a PageFixture) -> &'a [FixtureProject] {
    match page.access {
        Access::Anyone | Access::Instance(_) => &fixture.projects[..1],
        Access::Group(_) | Access::Project(_) => &fixture.projects,
    }
}

#[tokio::test]
async fn every_role_gets_the_pages_that_their_access_declares() {
    let fixture = PageFixture::new().await;
    let mut browsers: Vec<(&str, Browser)> = Vec::new();
    for role in ROLES {
        browsers.push((role, fixture.browser(role).await));
    }
    let before = fixture.server.dump_database().await;
    let pages = pages::all();
    let mut wrong = Vec::new();
    for page in pages.list().iter().filter(|page| page.method == "GET") {
        for project in subjects(page, &fixture) {
            let address = project.address(page.path);
            for (role, browser) in &browsers {
                let response = browser.get(&address).await;
                let expected = expected_for(page, project, role);
                if response.status >= 500 || outcome(&response) != expected {
                    wrong.push(format!("{address} as {role}: {} instead of {expected:?}", response.status));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(fixture.server.dump_database().await, before, "a page was read and something changed");
}

/// Returns what a role got from an action. Signing out leads to the sign-in form.
fn found_by(page: &Page, response: &PageResponse) -> Outcome {
    match (page.path, outcome(response)) {
        ("/sign_out", Outcome::SignIn) => Outcome::Allowed,
        (_, found) => found,
    }
}

/// Returns whether an action is about a record of the viewer, or about one of which the fixture has none, such as an
/// access token.
fn has_no_record(path: &str) -> bool {
    let is_own = ["/profile/", "/dashboard/"].iter().any(|start| path.starts_with(start)) && path.contains("/:id/");
    let is_of_user = path.starts_with("/admin/users/:id/") && path.matches(':').count() > 1;
    is_own || is_of_user || path.contains("/:draft_id") || path.contains("/access_tokens/:id/")
}

/// Actions are sent without their fields, so those that a role may perform are rejected or change only the sessions of
/// that role. An action that is refused changes nothing.
#[tokio::test]
async fn actions_that_are_refused_change_nothing() {
    let fixture = PageFixture::new().await;
    let pages = pages::all();
    let mut wrong = Vec::new();
    let mut actions: Vec<&Page> = pages.list().iter().filter(|page| page.method == "POST").collect();
    // What is deleted is needed by other actions, and the lists of a board are deleted with their labels.
    actions.sort_by_key(|page| (page.path.ends_with("/delete"), page.path.contains("/labels/")));
    let mut browsers: BTreeMap<&str, Browser> = BTreeMap::new();
    // The contents of the database, unless an action may have changed them since they were read.
    let mut contents: Option<Value> = None;
    for page in actions {
        let ends_session = page.path.starts_with("/sign_") || page.path.starts_with("/profile/");
        for project in subjects(page, &fixture) {
            let address = project.address(page.path);
            for role in ROLES {
                if ends_session || !browsers.contains_key(role) {
                    browsers.insert(role, fixture.browser(role).await);
                    contents = None;
                }
            }
            let is_allowed = |role: &&str| expected_for(page, project, role) == Outcome::Allowed;
            let (allowed, refused): (Vec<&str>, Vec<&str>) = ROLES.into_iter().partition(is_allowed);
            // The contents are read once for all roles that are refused.
            if !refused.is_empty() {
                let before = match contents.take() {
                    None => fixture.server.dump_database().await,
                    Some(known) => known,
                };
                for role in &refused {
                    let response = browsers[role].post(&address, &[("unknown", "x")]).await;
                    let (found, expected) = (found_by(page, &response), expected_for(page, project, role));
                    if found != expected {
                        wrong.push(format!("{address} as {role}: {} instead of {expected:?}", response.status));
                    }
                }
                let after = fixture.server.dump_database().await;
                if after != before {
                    wrong.push(format!("{address}: one of {refused:?} was refused, but something changed"));
                }
                contents = Some(after);
            }
            let mut is_deleted = false;
            for role in allowed {
                contents = None;
                let response = browsers[role].post(&address, &[("unknown", "x")]).await;
                let found = match found_by(page, &response) {
                    // Another role has deleted it, or the fixture has none for this role.
                    Outcome::NotFound if is_deleted || has_no_record(page.path) => Outcome::Allowed,
                    found => found,
                };
                is_deleted |= page.path.ends_with("/delete") && found == Outcome::Allowed;
                if found != Outcome::Allowed {
                    wrong.push(format!("{address} as {role}: {} instead of Allowed", response.status));
                }
            }
        }
        if ends_session {
            browsers.clear();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A page whose declaration names an API request shows it in the footer, and the request is one of the API.
#[test]
fn the_api_requests_of_pages_exist() {
    let routes = holdfast_http::api::v3::routes();
    let pages = pages::all();
    for page in pages.list() {
        let Some(call) = page.api_call else { continue };
        let exists = routes.list().iter().any(|route| format!("{} {}", route.method, route.path) == call);
        assert!(exists, "{}: there is no {call}", page.path);
    }
}
