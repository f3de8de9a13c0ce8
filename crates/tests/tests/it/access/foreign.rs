//! Objects of others, reached by their ids (Gogs GHSA-cv22-72px-f4gh, GHSA-jj5m-h57j-5gv7, GHSA-rjv5-9px2-fqw6, Gitea #36344):
//! every route of the table, generated, in two attacks.
//!
//! 1. The parent is a private project, group or runner of others. The response is that for an id that nobody has, whatever
//!    else the request says.
//! 2. The parent is the attacker's own, and what is named below it belongs to others. The response is that for a child that
//!    does not exist, and nothing changes.
//! 3. The whole path is the attacker's own, and a parameter names something of others. The same.
//!
//! A route is covered by its entry in the access table, without which `every_route_has_an_entry` fails.

use std::collections::BTreeSet;

use holdfast_domain::policy::Standing;
use holdfast_http::Access;
use holdfast_tests::{Answer, Client, Server, database};

use super::table::Entry;
use super::world::World;
use super::{all, name};

/// An id and a name that nothing has.
const UNKNOWN_ID: &str = "99999999";
const UNKNOWN_NAME: &str = "no-such-thing";

/// Routes whose first parameter names something that everybody sees, or a text.
const PUBLIC_PARENTS: [&str; 3] = ["GET /users/:id", "GET /users/:id/events", "GET /projects/search/:query"];

/// Routes where the response to what does not exist is not 404, in both attacks: existing clients expect that what is gone can
/// be deleted again, moving projects into groups is for administrators, and the wrong token for a trigger is no token.
const OTHER_STATUS: &[(&str, u16)] = &[
    ("DELETE /user/emails/:id", 200),
    ("DELETE /user/keys/:id", 200),
    ("DELETE /projects/:id/hooks/:hook_id", 200),
    ("DELETE /projects/:id/members/:user_id", 200),
    ("POST /groups/:id/projects/:project_id", 403),
    ("POST /projects/:id/ref/:ref/trigger/builds", 401),
];

fn usual_status(route: &str) -> u16 {
    OTHER_STATUS.iter().find(|(other, _)| *other == route).map_or(404, |(_, status)| *status)
}

/// A request that is not filled in yet, divided at the parameters of its route.
#[derive(Clone)]
struct Attempt {
    method: &'static str,
    /// The segments of the path, and which of them are parameters.
    segments: Vec<String>,
    parameters: Vec<usize>,
    query: String,
    form: Vec<(&'static str, String)>,
}

impl Attempt {
    /// The request of an entry at what is private.
    fn of(route_path: &str, entry: &Entry) -> Self {
        let private = |text: &str| {
            let text = text.replace("{public", "{private").replace("{internal", "{private");
            // Of these there is one for all.
            text.replace("{private_hook}", "{hook}")
        };
        let (path, query) = entry.path.split_once('?').map_or((entry.path, ""), |it| it);
        let segments: Vec<String> = path.split('/').map(private).collect();
        let of_route: Vec<&str> = route_path.split('/').collect();
        assert_eq!(segments.len(), of_route.len(), "{}", entry.path);
        let parameters = (0..segments.len()).filter(|place| of_route[*place].starts_with(':')).collect();
        let method = entry.route.split(' ').next().unwrap();
        let form = entry.form.iter().map(|(name, value)| (*name, private(value))).collect();
        Self { method, segments, parameters, query: query.to_owned(), form }
    }

    fn parameter(&self, number: usize) -> &str {
        &self.segments[self.parameters[number]]
    }

    fn with(&self, number: usize, value: &str) -> Self {
        let mut other = self.clone();
        other.segments[self.parameters[number]] = value.to_owned();
        other
    }

    fn with_unknown(&self, number: usize) -> Self {
        let value = self.parameter(number);
        let is_id = value.starts_with('{') || value.parse::<i64>().is_ok();
        self.with(number, if is_id { UNKNOWN_ID } else { UNKNOWN_NAME })
    }

    fn with_form(&self, form: Vec<(&'static str, String)>) -> Self {
        Self { form, ..self.clone() }
    }

    fn path(&self, world: &World) -> String {
        let question = if self.query.is_empty() { "" } else { "?" };
        world.fill(&format!("{}{question}{}", self.segments.join("/"), self.query), "ordinary")
    }

    fn request(&self, world: &World) -> String {
        format!("{} {}", self.method, self.path(world))
    }

    async fn send(&self, world: &World, client: &Client) -> Answer {
        let form: Vec<_> = self.form.iter().map(|(name, value)| (*name, world.fill(value, "ordinary"))).collect();
        let path = self.path(world);
        let request = client.request(self.method, &path);
        let request = if path.ends_with("/uploads") {
            let file = reqwest::multipart::Part::bytes(b"text".as_slice()).file_name("a.txt");
            request.multipart(reqwest::multipart::Form::new().part("file", file))
        } else {
            request.form(&form)
        };
        client.send(request).await
    }
}

/// What a response tells, but for what differs from request to request and the ids that were sent.
fn told(answer: &Answer, sent: &[String]) -> (u16, String, Vec<String>) {
    let headers = answer.headers.iter().filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
    let headers = headers.filter(|(name, _)| *name != "content-length");
    let headers = headers.map(|(name, value)| format!("{name}: {value:?}")).collect();
    // Some repeat the id, as existing clients know it.
    let text = sent.iter().fold(answer.text.clone(), |text, id| {
        text.replace(&format!(":{id} "), ":ID ").replace(&format!(":{id}}}"), ":ID}")
    });
    (answer.status, text, headers)
}

/// The entries of the table, each with the path and the policy of its route.
fn entries() -> Vec<(&'static Entry, &'static str, Access)> {
    let routes = holdfast_http::api::v3::routes();
    let find = |entry: &'static Entry| {
        let route = routes.list().iter().find(|route| name(route) == entry.route).unwrap();
        (entry, route.path, route.access)
    };
    all().map(find).collect()
}

#[tokio::test]
async fn private_parents_are_answered_like_unknown_ones() {
    let server = Server::start().await;
    let mut world = World::new(&server).await;
    let before = database::contents(&mut world.database).await;
    let (mut wrong, mut covered, mut count) = (Vec::new(), BTreeSet::new(), 0);
    let mut seen = BTreeSet::new();
    for (entry, route_path, access) in entries() {
        let attempt = Attempt::of(route_path, entry);
        if attempt.parameters.is_empty() || !seen.insert(format!("{} {:?}", attempt.request(&world), entry.form)) {
            continue;
        }
        covered.insert(entry.route);
        // The trigger's token is the right to the project.
        if entry.form.iter().any(|(name, value)| *name == "token" && value.contains('{')) {
            continue;
        }
        let by_path = attempt.parameter(0) == "{private_project}";
        let mut pairs = vec![(attempt.clone(), attempt.with_unknown(0))];
        // What is wrong with the rest of a request must not be told before, or instead.
        if !attempt.form.is_empty() {
            let nonsense: Vec<_> = attempt.form.iter().map(|(name, _)| (*name, "-".to_owned())).collect();
            for form in [Vec::new(), nonsense] {
                pairs.push((attempt.with_form(form.clone()), attempt.with_unknown(0).with_form(form)));
            }
        }
        if by_path {
            pairs.push((attempt.with(0, "private%2Fp"), attempt.with(0, "private%2Fnone")));
        }
        for role in ["anonymous", "ordinary"] {
            let client = world.client(role);
            for (there, nowhere) in &pairs {
                let answer = there.send(&world, client).await;
                let other = nowhere.send(&world, client).await;
                count += 2;
                let sent = [world.fill(attempt.parameter(0), role), UNKNOWN_ID.to_owned()];
                let (a, b) = (told(&answer, &sent), told(&other, &sent));
                let place = || format!("{role}: {}", there.request(&world));
                if PUBLIC_PARENTS.contains(&entry.route) {
                    continue;
                }
                if a != b {
                    wrong.push(format!("{}: {a:?} instead of {b:?}", place()));
                }
                let is_of_administrators =
                    matches!(access, Access::Instance(action) if !action.allowed(Standing::Ordinary));
                let is_checked_before = there.form.is_empty() || there.form.iter().any(|(_, value)| value == "-");
                let is_expected = match answer.status {
                    404 => true,
                    200 => route_path.starts_with("/user/") && usual_status(entry.route) == 200,
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
    assert_eq!(database::contents(&mut world.database).await, before);
    let parents = routes_with(1);
    assert_eq!(covered, parents.iter().map(String::as_str).collect());
    println!("{count} requests to {} routes", covered.len());
}

/// The names of all routes with so many parameters or more.
fn routes_with(parameters: usize) -> BTreeSet<String> {
    let routes = holdfast_http::api::v3::routes();
    routes.list().iter().filter(|route| route.path.matches("/:").count() >= parameters).map(name).collect()
}

/// What the attacker has of everything, in a project without content.
async fn own_things(server: &Server, world: &mut World) {
    let attacker = world.client("ordinary").clone();
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
    world.add_ids(&[
        // The administrator's.
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

/// The attacker's own in place of what is private.
fn own(value: &str) -> Option<&'static str> {
    Some(match value {
        "{private_project}" => "{own_project}",
        "{private}" => "{own_group}",
        "{private_issue}" | "{private_secret}" => "{own_issue}",
        "{private_list}" => "{own_list}",
        "{hook}" => "{own_hook}",
        "{user}" => "{own_user}",
        "{system_hook}" => "{own_system_hook}",
        _ => return None,
    })
}

#[tokio::test]
async fn children_of_others_are_not_reached_through_an_own_parent() {
    let server = Server::start().await;
    let mut world = World::new(&server).await;
    own_things(&server, &mut world).await;
    let before = database::contents(&mut world.database).await;
    let (mut wrong, mut covered, mut count, mut seen) = (Vec::new(), BTreeSet::new(), 0, BTreeSet::new());
    let (attacker, administrator) = (world.client("ordinary").clone(), world.client("administrator").clone());
    for (entry, route_path, _) in entries() {
        let attempt = Attempt::of(route_path, entry);
        let (mut attempt, mut known) = (attempt.clone(), 0);
        while known + 1 < attempt.parameters.len() {
            let Some(own) = own(attempt.parameter(known)) else { break };
            attempt = attempt.with(known, own);
            known += 1;
            if !seen.insert(format!("{} {:?}", attempt.request(&world), attempt.form)) {
                continue;
            }
            covered.insert(entry.route);
            // Others get no further than to be told that these are not for them.
            let is_of_administrators = ["/users/", "/hooks/"].iter().any(|it| route_path.starts_with(it));
            let client = if is_of_administrators { &administrator } else { &attacker };
            let answer = attempt.send(&world, client).await;
            let other = attempt.with_unknown(known).send(&world, client).await;
            count += 2;
            let sent =
                [world.fill(attempt.parameter(known), "ordinary"), UNKNOWN_ID.to_owned(), UNKNOWN_NAME.to_owned()];
            let (a, b) = (told(&answer, &sent), told(&other, &sent));
            let place = format!("{} {:?}", attempt.request(&world), attempt.form);
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
    assert_eq!(database::contents(&mut world.database).await, before);
    let uncovered: Vec<String> = routes_with(2).into_iter().filter(|it| !covered.contains(it.as_str())).collect();
    assert_eq!(uncovered, Vec::<String>::new());
    println!("{count} requests to {} routes", covered.len());
}

/// Attack 3: parameters that name things, beside those of the access table.
const NAMES_IN_FORMS: &[(&str, &str, &str, &str)] = &[
    ("POST", "/projects", "namespace_id", "{private}"),
    ("POST", "/projects/fork/{own_project}", "namespace", "{private}"),
    ("POST", "/projects/{own_project}/issues", "milestone_id", "{private_milestone}"),
    ("PUT", "/projects/{own_project}/issues/{own_issue}", "milestone_id", "{private_milestone}"),
];

#[tokio::test]
async fn things_of_others_are_not_reached_by_parameters() {
    let server = Server::start().await;
    let mut world = World::new(&server).await;
    own_things(&server, &mut world).await;
    let before = database::contents(&mut world.database).await;
    let mut attempts: Vec<(Attempt, usize)> = Vec::new();
    for (entry, route_path, _) in entries() {
        let mut attempt = Attempt::of(route_path, entry);
        // Users are seen by everybody, and the token of a trigger is the right to it.
        let is_foreign =
            |(name, value): &(&str, String)| value.starts_with("{private") && !["user_id", "token"].contains(name);
        let Some(place) = attempt.form.iter().position(is_foreign) else { continue };
        for number in 0..attempt.parameters.len() {
            let own = own(attempt.parameter(number)).unwrap_or_else(|| panic!("{}: nothing of one's own", entry.route));
            attempt = attempt.with(number, own);
        }
        attempts.push((attempt, place));
    }
    for (method, path, name, value) in NAMES_IN_FORMS {
        let segments = path.split('/').map(str::to_owned).collect();
        let form = vec![("name", "new".to_owned()), ("title", "new".to_owned()), (*name, (*value).to_owned())];
        attempts.push((Attempt { method, segments, parameters: Vec::new(), query: String::new(), form }, 2));
    }
    assert!(attempts.len() >= 9, "{}", attempts.len());
    let (mut wrong, client) = (Vec::new(), world.client("ordinary"));
    for (attempt, place) in attempts {
        let mut nowhere = attempt.clone();
        nowhere.form[place].1 = UNKNOWN_ID.to_owned();
        let answer = attempt.send(&world, client).await;
        let other = nowhere.send(&world, client).await;
        let sent = [world.fill(&attempt.form[place].1, "ordinary"), UNKNOWN_ID.to_owned()];
        let (a, b) = (told(&answer, &sent), told(&other, &sent));
        if a != b || answer.status < 400 {
            wrong.push(format!(
                "{} {:?}: {a:?}, and {b:?} for what there is not",
                attempt.request(&world),
                attempt.form
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(database::contents(&mut world.database).await, before);
}
