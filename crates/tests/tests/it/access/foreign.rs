//! Insecure direct object references (Gogs GHSA-cv22-72px-f4gh, GHSA-jj5m-h57j-5gv7, GHSA-rjv5-9px2-fqw6, Gitea
//! #36344): every route of the access table in three attacks.
//!
//! 1. The parent is a private project, group or runner of another user. The response equals that for an unknown id,
//!    whatever else the request contains.
//! 2. The parent belongs to the attacker, and the child belongs to another user. The response equals that for a child
//!    that does not exist, and nothing changes.
//! 3. The whole path belongs to the attacker, and a parameter names an object of another user. The response equals that
//!    for an unknown object, and nothing changes.
//!
//! A route is covered by its entry in the access table, without which `every_route_has_an_access_table_entry` fails.

use std::collections::BTreeSet;

use holdfast_domain::policy::InstanceRole;
use holdfast_http::Access;
use holdfast_tests::{Client, Server, TestResponse, database};

use super::fixtures::{AccessFixture, with_form};
use super::table::Entry;
use super::{all_entries, all_routes, route_name, route_path};

/// An id and a name that do not exist.
const UNKNOWN_ID: &str = "99999999";
const UNKNOWN_NAME: &str = "no-such-thing";

/// Routes whose first parameter names something public, or is a text.
const PUBLIC_PARENTS: &[&str] = &[
    "GET /users/:id",
    "GET /users/:id/events",
    "GET /projects/search/:query",
    "GET /api/v4/users/:id",
    "GET /api/v4/users/:id/events",
    "GET /api/v4/users/:id/status",
    "GET /api/v4/namespaces/:id/exists",
];

/// Routes that respond to unknown objects with another status than 404. v3 clients expect that deleting a deleted
/// object succeeds, moving projects into groups is for administrators, and a wrong trigger token counts as no token.
const OTHER_STATUS: &[(&str, u16)] = &[
    ("DELETE /user/emails/:id", 200),
    ("DELETE /user/keys/:id", 200),
    ("DELETE /projects/:id/hooks/:hook_id", 200),
    ("DELETE /projects/:id/members/:user_id", 200),
    ("POST /groups/:id/projects/:project_id", 403),
    ("POST /api/v4/groups/:id/projects/:project_id", 403),
    ("PUT /api/v4/projects/:id/transfer", 403),
    ("POST /projects/:id/ref/:ref/trigger/builds", 401),
];

fn usual_status(route: &str) -> u16 {
    OTHER_STATUS.iter().find(|(other, _)| *other == route).map_or(404, |(_, status)| *status)
}

/// A request with placeholders, split at the parameters of its route.
#[derive(Clone)]
struct Attempt {
    method: &'static str,
    /// The segments of the path, and the indexes of those that are parameters.
    segments: Vec<String>,
    parameters: Vec<usize>,
    query: String,
    form: Vec<(&'static str, String)>,
}

impl Attempt {
    /// Returns the request of an entry for a private object.
    fn for_entry(route_path: &str, entry: &Entry) -> Self {
        let private = |text: &str| {
            let text = text.replace("{public", "{private").replace("{internal", "{private");
            // The fixture has only one project hook.
            text.replace("{private_hook}", "{hook}")
        };
        let (path, query) = entry.path.split_once('?').map_or((entry.path, ""), |it| it);
        let segments: Vec<String> = path.split('/').map(private).collect();
        let route_segments: Vec<&str> = route_path.split('/').collect();
        assert_eq!(segments.len(), route_segments.len(), "{}", entry.path);
        let parameters = (0..segments.len()).filter(|place| route_segments[*place].starts_with(':')).collect();
        let method = entry.route.split(' ').next().unwrap();
        let form = entry.form.iter().map(|(name, value)| (*name, private(value))).collect();
        Self { method, segments, parameters, query: query.to_owned(), form }
    }

    fn parameter(&self, number: usize) -> &str {
        &self.segments[self.parameters[number]]
    }

    fn with_parameter(&self, number: usize, value: &str) -> Self {
        let mut other = self.clone();
        other.segments[self.parameters[number]] = value.to_owned();
        other
    }

    fn with_unknown(&self, number: usize) -> Self {
        let value = self.parameter(number);
        let is_id = value.starts_with('{') || value.parse::<i64>().is_ok();
        self.with_parameter(number, if is_id { UNKNOWN_ID } else { UNKNOWN_NAME })
    }

    fn with_form(&self, form: Vec<(&'static str, String)>) -> Self {
        Self { form, ..self.clone() }
    }

    fn path(&self, fixture: &AccessFixture) -> String {
        let question = if self.query.is_empty() { "" } else { "?" };
        fixture.substitute(&format!("{}{question}{}", self.segments.join("/"), self.query), "ordinary")
    }

    fn request(&self, fixture: &AccessFixture) -> String {
        format!("{} {}", self.method, self.path(fixture))
    }

    async fn send(&self, fixture: &AccessFixture, client: &Client) -> TestResponse {
        let form: Vec<_> =
            self.form.iter().map(|(name, value)| (*name, fixture.substitute(value, "ordinary"))).collect();
        let path = self.path(fixture);
        client.send(with_form(client.request(self.method, &path), &path, form)).await
    }
}

/// Returns the parts of a response to compare, without values that differ between requests and the ids that were sent.
fn comparable_response(answer: &TestResponse, ids: &[String]) -> (u16, String, Vec<String>) {
    let headers = answer.headers.iter().filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
    let headers = headers.filter(|(name, _)| *name != "content-length");
    let headers = headers.map(|(name, value)| format!("{name}: {value:?}")).collect();
    // Some v3 responses repeat the id.
    let text = ids.iter().fold(answer.text.clone(), |text, id| {
        text.replace(&format!(":{id} "), ":ID ").replace(&format!(":{id}}}"), ":ID}")
    });
    (answer.status, text, headers)
}

/// Returns the entries of the table, each with the path and the policy of its route.
fn entries() -> Vec<(&'static Entry, String, Access)> {
    let routes = all_routes();
    let find = |entry: &'static Entry| {
        let route = routes.iter().find(|route| route_name(route) == entry.route).expect(entry.route);
        (entry, route_path(route), route.access)
    };
    all_entries().map(find).collect()
}

#[tokio::test]
async fn private_parents_get_the_response_of_unknown_ones() {
    let server = Server::start().await;
    let mut fixture = AccessFixture::new(&server).await;
    let before = database::dump(&mut fixture.database).await;
    let (mut wrong, mut covered, mut count) = (Vec::new(), BTreeSet::new(), 0);
    let mut seen = BTreeSet::new();
    for (entry, route_path, access) in entries() {
        let attempt = Attempt::for_entry(&route_path, entry);
        if attempt.parameters.is_empty() || !seen.insert(format!("{} {:?}", attempt.request(&fixture), entry.form)) {
            continue;
        }
        covered.insert(entry.route);
        // A trigger token grants access to the project.
        if entry.form.iter().any(|(name, value)| *name == "token" && value.contains('{')) {
            continue;
        }
        let by_path = attempt.parameter(0) == "{private_project}";
        let mut pairs = vec![(attempt.clone(), attempt.with_unknown(0))];
        // Other errors in a request must not be reported before the unknown object, or instead of it.
        if !attempt.form.is_empty() {
            let nonsense: Vec<_> = attempt.form.iter().map(|(name, _)| (*name, "-".to_owned())).collect();
            for form in [Vec::new(), nonsense] {
                pairs.push((attempt.with_form(form.clone()), attempt.with_unknown(0).with_form(form)));
            }
        }
        if by_path {
            pairs.push((attempt.with_parameter(0, "private%2Fp"), attempt.with_parameter(0, "private%2Fnone")));
        }
        for role in ["anonymous", "ordinary"] {
            let client = fixture.client(role);
            for (there, nowhere) in &pairs {
                let answer = there.send(&fixture, client).await;
                let other = nowhere.send(&fixture, client).await;
                count += 2;
                let sent = [fixture.substitute(attempt.parameter(0), role), UNKNOWN_ID.to_owned()];
                let (a, b) = (comparable_response(&answer, &sent), comparable_response(&other, &sent));
                let place = || format!("{role}: {}", there.request(&fixture));
                if PUBLIC_PARENTS.contains(&entry.route) {
                    continue;
                }
                if a != b {
                    wrong.push(format!("{}: {a:?} instead of {b:?}", place()));
                }
                let is_of_administrators =
                    matches!(access, Access::Instance(action) if !action.is_allowed(InstanceRole::Regular));
                let is_checked_before = there.form.is_empty() || there.form.iter().any(|(_, value)| value == "-");
                let is_expected = match answer.status {
                    404 => true,
                    200 => route_path.replace("/api/v4", "").starts_with("/user/") && usual_status(entry.route) == 200,
                    401 => role == "anonymous",
                    403 => is_of_administrators,
                    400 => is_checked_before,
                    _ => false,
                };
                if !is_expected {
                    wrong.push(format!("{}: {} {}", place(), answer.status, answer.text));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(database::dump(&mut fixture.database).await, before);
    let parents = routes_with(1);
    assert_eq!(covered, parents.iter().map(String::as_str).collect());
    println!("{count} requests to {} routes", covered.len());
}

/// Returns the names of all routes with at least `parameters` parameters.
fn routes_with(parameters: usize) -> BTreeSet<String> {
    all_routes().iter().filter(|route| route.path.matches("/:").count() >= parameters).map(route_name).collect()
}

/// Creates one object of each kind for the attacker, in a project without a repository.
async fn create_own_resources(server: &Server, fixture: &mut AccessFixture) {
    let attacker = fixture.client("ordinary").clone();
    let project = server.project(&attacker, "own", 0).await;
    let group = server.group(&attacker, "own-group", 0).await;
    let create = async |path: String, form: &[(&str, &str)]| {
        let made = attacker.post(&path, form).await;
        assert!(matches!(made.status, 200 | 201), "{path}: {}", made.text);
        made.body["id"].as_i64().unwrap()
    };
    let label = create(format!("/projects/{project}/labels"), &[("name", "own"), ("color", "#123456")]).await;
    let list = create(format!("/projects/{project}/boards/{project}/lists"), &[("label_id", &label.to_string())]).await;
    let issue = create(format!("/projects/{project}/issues"), &[("title", "own")]).await;
    let hook = create(format!("/projects/{project}/hooks"), &[("url", "http://own.example")]).await;
    let system_hook =
        server.admin.post("/hooks", &[("url", "http://own.example")]).await.body[0]["id"].as_i64().unwrap();
    fixture.add_ids(&[
        // Users and system hooks are accessible only to the administrator.
        ("{own_user}", 1),
        ("{own_system_hook}", system_hook),
        ("{own_project}", project),
        ("{own_group}", group),
        ("{own_label}", label),
        ("{own_list}", list),
        ("{own_issue}", issue),
        ("{own_hook}", hook),
    ]);
}

/// Returns the attacker's own placeholder for a private one.
fn own_placeholder(value: &str) -> Option<&'static str> {
    Some(match value {
        "{private_project}" => "{own_project}",
        "{private}" => "{own_group}",
        "{private_issue}" | "{private_secret}" => "{own_issue}",
        "{private_list}" => "{own_list}",
        "{hook}" => "{own_hook}",
        "{user}" => "{own_user}",
        "{system_hook}" => "{own_system_hook}",
        // The number of the attacker's own issue within the own project.
        "1" => "1",
        _ => return None,
    })
}

#[tokio::test]
async fn foreign_children_are_not_accessible_through_an_own_parent() {
    let server = Server::start().await;
    let mut fixture = AccessFixture::new(&server).await;
    create_own_resources(&server, &mut fixture).await;
    let before = database::dump(&mut fixture.database).await;
    let (mut wrong, mut covered, mut count, mut seen) = (Vec::new(), BTreeSet::new(), 0, BTreeSet::new());
    let (attacker, administrator) = (fixture.client("ordinary").clone(), fixture.client("administrator").clone());
    for (entry, route_path, _) in entries() {
        let attempt = Attempt::for_entry(&route_path, entry);
        let (mut attempt, mut known) = (attempt.clone(), 0);
        while known + 1 < attempt.parameters.len() {
            let Some(own) = own_placeholder(attempt.parameter(known)) else { break };
            attempt = attempt.with_parameter(known, own);
            known += 1;
            // A number within the parent cannot name an object of another parent, and a word names none.
            let parameter = route_path.split('/').nth(attempt.parameters[known]).unwrap_or_default();
            if parameter.ends_with("_iid") || parameter == ":trigger" {
                covered.insert(entry.route);
                continue;
            }
            if !seen.insert(format!("{} {:?}", attempt.request(&fixture), attempt.form)) {
                continue;
            }
            covered.insert(entry.route);
            // Other users get 403 on these routes, so the administrator sends the request.
            let is_of_administrators =
                ["/users/", "/hooks/"].iter().any(|it| route_path.replace("/api/v4", "").starts_with(it));
            let client = if is_of_administrators { &administrator } else { &attacker };
            let answer = attempt.send(&fixture, client).await;
            let other = attempt.with_unknown(known).send(&fixture, client).await;
            count += 2;
            let sent = [
                fixture.substitute(attempt.parameter(known), "ordinary"),
                UNKNOWN_ID.to_owned(),
                UNKNOWN_NAME.to_owned(),
            ];
            let (a, b) = (comparable_response(&answer, &sent), comparable_response(&other, &sent));
            let place = format!("{} {:?}", attempt.request(&fixture), attempt.form);
            if a != b {
                wrong.push(format!("{place}: {a:?} instead of {b:?}"));
            }
            let expected = usual_status(entry.route);
            if answer.status != expected {
                wrong.push(format!("{place}: {} {} instead of {expected}", answer.status, answer.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(database::dump(&mut fixture.database).await, before);
    let uncovered: Vec<String> = routes_with(2).into_iter().filter(|it| !covered.contains(it.as_str())).collect();
    assert_eq!(uncovered, Vec::<String>::new());
    println!("{count} requests to {} routes", covered.len());
}

/// Attack 3: parameters that name objects, beside those of the access table.
const NAMES_IN_FORMS: &[(&str, &str, &str, &str)] = &[
    ("POST", "/projects", "namespace_id", "{private}"),
    ("POST", "/api/v4/projects/import", "namespace", "{private}"),
    ("POST", "/projects/fork/{own_project}", "namespace", "{private}"),
    ("POST", "/projects/{own_project}/issues", "milestone_id", "{private_milestone}"),
    ("PUT", "/projects/{own_project}/issues/{own_issue}", "milestone_id", "{private_milestone}"),
];

#[tokio::test]
async fn foreign_resources_are_not_accessible_by_parameters() {
    let server = Server::start().await;
    let mut fixture = AccessFixture::new(&server).await;
    create_own_resources(&server, &mut fixture).await;
    let before = database::dump(&mut fixture.database).await;
    let mut attempts: Vec<(Attempt, usize)> = Vec::new();
    for (entry, route_path, _) in entries() {
        let mut attempt = Attempt::for_entry(&route_path, entry);
        // Users are public, and the token of a trigger grants access to it.
        let is_foreign =
            |(name, value): &(&str, String)| value.starts_with("{private") && !["user_id", "token"].contains(name);
        let Some(place) = attempt.form.iter().position(is_foreign) else { continue };
        // Only administrators transfer projects.
        if entry.route == "PUT /api/v4/projects/:id/transfer" {
            continue;
        }
        for number in 0..attempt.parameters.len() {
            let own = own_placeholder(attempt.parameter(number))
                .unwrap_or_else(|| panic!("{}: nothing of one's own", entry.route));
            attempt = attempt.with_parameter(number, own);
        }
        attempts.push((attempt, place));
    }
    for (method, path, name, value) in NAMES_IN_FORMS {
        let segments = path.split('/').map(str::to_owned).collect();
        let mut form = ["name", "title", "path"].map(|name| (name, "new".to_owned())).to_vec();
        form.push((*name, (*value).to_owned()));
        attempts.push((Attempt { method, segments, parameters: Vec::new(), query: String::new(), form }, 3));
    }
    assert!(attempts.len() >= 9, "{}", attempts.len());
    let (mut wrong, client) = (Vec::new(), fixture.client("ordinary"));
    for (attempt, place) in attempts {
        let mut nowhere = attempt.clone();
        nowhere.form[place].1 = UNKNOWN_ID.to_owned();
        let answer = attempt.send(&fixture, client).await;
        let other = nowhere.send(&fixture, client).await;
        let sent = [fixture.substitute(&attempt.form[place].1, "ordinary"), UNKNOWN_ID.to_owned()];
        let (a, b) = (comparable_response(&answer, &sent), comparable_response(&other, &sent));
        if a != b || answer.status < 400 {
            wrong.push(format!(
                "{} {:?}: {a:?}, and {b:?} for what there is not",
                attempt.request(&fixture),
                attempt.form
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(database::dump(&mut fixture.database).await, before);
}
