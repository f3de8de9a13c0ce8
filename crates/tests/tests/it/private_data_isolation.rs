//! Information leaks by lists, searches, totals and headers (GitLab CVE-2024-6323, CVE-2026-6713, Gitea
//! CVE-2026-20883): outsiders send the same requests to two instances that differ only in private data, and get the
//! same responses.

use holdfast_app::accounts::user::UserChanges;
use holdfast_tests::{Client, Server, user_attributes};

use crate::projects::add_member;
use crate::uploads::upload;

/// Requests of outsiders. `{id}` is the private project, or the next id if there is none; likewise `{group}`, the
/// confidential issue `{issue}` in the public project, and the note `{note}` on it. `{known}` is a public issue.
const REQUESTS: &[&str] = &[
    "GET /groups",
    "GET /groups?all_available=true",
    "GET /groups?all_available=true&search=team",
    "GET /groups?all_available=true&search=secret",
    "GET /groups?all_available=true&order_by=path&sort=desc&per_page=1",
    "GET /groups/owned",
    "GET /groups/{group}",
    "GET /groups/secret-team",
    "GET /groups/secret-team/members",
    "GET /groups/secret-team/members/2",
    "GET /groups/secret-team/projects",
    "GET /groups/secret-team/access_requests",
    "POST /groups/secret-team/access_requests",
    "PUT /groups/secret-team description=d",
    "DELETE /groups/{group}",
    "GET /groups/public-team",
    "GET /groups/public-team/projects",
    "GET /groups/public-team/projects?order_by=name&search=s",
    "GET /groups/public-team/projects?visibility=private",
    "GET /groups/public-team/members",
    "GET /namespaces",
    "GET /namespaces?search=secret",
    "GET /users",
    "GET /users/2",
    "GET /users/3",
    "GET /users/2/events",
    "GET /users/3/events",
    "GET /users/4/events",
    "GET /projects",
    "GET /projects?per_page=1",
    "GET /projects?search=secret",
    "GET /projects/visible",
    "GET /projects/visible?per_page=1&order_by=name",
    "GET /projects/visible?search=secret",
    "GET /projects/visible?search=e&order_by=path&sort=asc",
    "GET /projects/visible?visibility=private",
    "GET /projects/visible?archived=false&order_by=updated_at",
    "GET /projects/visible?order_by=last_activity_at&simple=true",
    "GET /projects/search/secret",
    "GET /projects/owned",
    "GET /projects/starred",
    "GET /projects/starred?order_by=id",
    "GET /projects/all",
    "GET /projects/{id}",
    "GET /projects/ada%2Fsecret",
    "GET /projects/ada%2Fformer",
    "GET /projects/{id}/events",
    "GET /projects/{id}/members",
    "GET /projects/{id}/members/2",
    "GET /projects/{id}/hooks",
    "GET /projects/{id}/hooks/1",
    "GET /projects/{id}/access_requests",
    "POST /projects/{id}/access_requests",
    "POST /projects/{id}/star",
    "DELETE /projects/{id}/star",
    "POST /projects/{id}/archive",
    "POST /projects/ada%2Fsecret/unarchive",
    "POST /projects/{id}/uploads",
    "POST /projects/{id}/share group_id={public_group}&group_access=30",
    "POST /projects/{own}/share group_id={group}&group_access=30",
    "POST /projects/{id}/members user_id=4&access_level=40",
    "POST /projects/{id}/hooks url=http://h.example",
    "PUT /projects/{id} name=x",
    "DELETE /projects/{id}",
    "POST /projects name=x&namespace_id={group}",
    "GET /projects/{open}",
    "GET /projects/{open}/events",
    "GET /projects/{open}/members",
];

/// Requests about issues. A guest of the public project gets the same responses as other outsiders.
const PLANNING_REQUESTS: &[&str] = &[
    "GET /issues",
    "GET /groups/public-team/issues",
    "GET /groups/public-team/issues?labels=bug&state=opened",
    "GET /groups/secret-team/issues",
    "GET /projects/{id}/issues",
    "GET /projects/{id}/labels",
    "GET /projects/{id}/boards",
    "GET /projects/{id}/boards/{id}/lists",
    "GET /projects/{id}/milestones",
    "POST /projects/{id}/issues title=t",
    "POST /projects/{id}/labels name=n&color=%23123456",
    "POST /projects/{id}/labels/bug/subscription",
    "GET /projects/{open}/issues",
    "GET /projects/{open}/issues?order_by=updated_at&sort=asc&per_page=1",
    "GET /projects/{open}/issues?labels=bug",
    "GET /projects/{open}/issues?state=closed",
    "GET /projects/{open}/issues?milestone=m",
    "GET /projects/{open}/issues?iid=3",
    "GET /projects/{open}/issues/{known}",
    "GET /projects/{open}/issues/{known}/notes",
    "GET /projects/{open}/issues/{known}/notes/{note}",
    "GET /projects/{open}/labels",
    "GET /projects/{open}/boards",
    "GET /projects/{open}/boards/{open}/lists/1/issues",
    "GET /projects/{open}/milestones/1/issues",
    "GET /projects/{open}/issues/{issue}",
    "PUT /projects/{open}/issues/{issue} title=t",
    "DELETE /projects/{open}/issues/{issue}",
    "POST /projects/{open}/issues/{issue}/move to_project_id={own}",
    "POST /projects/{own}/issues/{issue}/move to_project_id={open}",
    "POST /projects/{own}/issues/{mine}/move to_project_id={id}",
    "POST /projects/{open}/issues/{issue}/subscription",
    "DELETE /projects/{open}/issues/{issue}/subscription",
    "GET /projects/{open}/issues/{issue}/notes",
    "GET /projects/{open}/issues/{issue}/notes/{note}",
    "POST /projects/{open}/issues/{issue}/notes body=b",
    "PUT /projects/{open}/issues/{issue}/notes/{note} body=b",
    "DELETE /projects/{open}/issues/{issue}/notes/{note}",
    "PUT /projects/{open}/boards/{open}/issues/{issue} to_list_id=1",
];

#[tokio::test]
async fn private_data_changes_no_response_to_outsiders() {
    let (a, b) = (observe_outsiders(false).await, observe_outsiders(true).await);
    assert_eq!(a.len(), b.len());
    let mut compared = 0;
    for (in_a, in_b) in a.iter().zip(&b) {
        assert_eq!(in_a, in_b);
        compared += 1;
    }
    println!("{compared} answers compared");
    assert!(compared >= 3 * REQUESTS.len() + 4 * PLANNING_REQUESTS.len());
}

/// Returns the responses to all requests of outsiders, in an instance with or without private data.
async fn observe_outsiders(has_secret: bool) -> Vec<(String, u16, String, Vec<String>)> {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let (eve_id, eve) = server.user("eve").await;
    let (_, external) = server.user_with(UserChanges { external: Some(true), ..user_attributes("external") }).await;
    let public_group = server.group(&ada, "public-team", 20).await;
    let open = server.project_in(&ada, "open", 20, Some(public_group)).await;
    add_member(&ada, &format!("/projects/{open}"), bob_id.get(), 30).await;
    let own = server.project(&eve, "own", 0).await;
    let (gus_id, gus) = server.user("gus").await;
    add_member(&ada, &format!("/projects/{open}"), gus_id.get(), 10).await;
    let post = async |client: &Client, path: String, form: &[(&str, &str)]| {
        let made = client.post(&path, form).await;
        assert!(matches!(made.status, 200 | 201), "{}", made.text);
        made.body["id"].as_i64().unwrap()
    };
    let label = post(&ada, format!("/projects/{open}/labels"), &[("name", "bug"), ("color", "#123456")]).await;
    post(&ada, format!("/projects/{open}/boards/{open}/lists"), &[("label_id", &label.to_string())]).await;
    post(&ada, format!("/projects/{open}/milestones"), &[("title", "m")]).await;
    let of_all = [("title", "known"), ("labels", "bug"), ("milestone_id", "1")];
    let known = post(&ada, format!("/projects/{open}/issues"), &of_all).await;
    post(&gus, format!("/projects/{open}/issues/{known}/notes"), &[("body", "seen by all")]).await;
    let mine = post(&eve, format!("/projects/{own}/issues"), &[("title", "mine")]).await;
    let (mut issue, mut note) = (mine + 2, 5);
    let mut file = "/ada/secret/uploads/0123456789abcdef0123456789abcdef/a.txt".to_owned();
    let (mut id, mut group) = (own + 1, public_group + 1);
    if has_secret {
        id = server.project(&ada, "former", 0).await;
        let path = format!("/projects/{id}");
        assert_eq!(ada.put(&path, &[("name", "secret"), ("path", "secret")]).await.status, 200);
        group = server.group(&ada, "secret-team", 0).await;
        server.project_in(&ada, "secret-inner", 0, Some(group)).await;
        add_member(&ada, &path, bob_id.get(), 30).await;
        bob.post(&format!("{path}/star"), &[]).await;
        for (shared, level) in [(public_group, "10"), (group, "40")] {
            let share = [("group_id", &*shared.to_string()), ("group_access", level)];
            assert_eq!(ada.post(&format!("{path}/share"), &share).await.status, 201);
        }
        // The public project is shared with the private group as well.
        let share = [("group_id", &*group.to_string()), ("group_access", "20")];
        assert_eq!(ada.post(&format!("/projects/{open}/share"), &share).await.status, 201);
        ada.post(&format!("{path}/hooks"), &[("url", "http://h.example")]).await;
        file = format!("/ada/secret{}", upload(&ada, id, "a.txt", b"secret").await.body["url"].as_str().unwrap());
        // One issue is confidential from the start, another becomes so later.
        let of_few = [("title", "secret"), ("labels", "bug"), ("milestone_id", "1"), ("confidential", "true")];
        let mentions = [&of_few[..], &[("description", "as #1 says")]].concat();
        let first = post(&ada, format!("/projects/{open}/issues"), &mentions).await;
        issue = post(&bob, format!("/projects/{open}/issues"), &of_few[..3]).await;
        assert_eq!((issue, first + 1), (mine + 2, issue));
        note = post(&bob, format!("/projects/{open}/issues/{issue}/notes"), &[("body", "secret, see #1")]).await;
        let secret = format!("/projects/{open}/issues/{issue}");
        assert_eq!(bob.put(&secret, &[("confidential", "true"), ("labels", "bug")]).await.status, 200);
        assert_eq!(bob.put(&secret, &[("state_event", "close")]).await.status, 200);
        post(&ada, format!("/projects/{id}/issues"), &[("title", "secret"), ("labels", "bug")]).await;
        post(&ada, format!("/projects/{id}/milestones"), &[("title", "secret")]).await;
        // A former member who starred the project is an outsider again.
        add_member(&ada, &path, eve_id.get(), 40).await;
        assert_eq!(eve.post(&format!("{path}/star"), &[]).await.status, 201);
        assert_eq!(ada.delete(&format!("{path}/members/{eve_id}")).await.status, 200);
    }
    let fill = |text: &str| {
        let groups = [("{group}", group), ("{public_group}", public_group)];
        let projects = [("{id}", id), ("{open}", open), ("{own}", own)];
        let issues = [("{issue}", issue), ("{note}", note), ("{known}", known), ("{mine}", mine)];
        [&groups[..], &projects, &issues]
            .concat()
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(name, &value.to_string()))
    };
    let mut seen = Vec::new();
    for (who, client) in [("eve", &eve), ("external", &external), ("anonymous", &server.anonymous()), ("gus", &gus)] {
        // Members of the public project can see the groups that it is shared with.
        let requests = if who == "gus" { &[][..] } else { REQUESTS };
        for request in requests.iter().chain(PLANNING_REQUESTS) {
            let answer = send(client, &fill(request)).await;
            let name = format!("{who}: {request}");
            let headers = answer.headers.iter().filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
            let headers = headers.map(|(name, value)| format!("{name}: {value:?}")).collect();
            seen.push((name, answer.status, answer.text, headers));
        }
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut request = http.get(format!("{}{file}", server.base_url));
        if let Some(token) = client.token_opt() {
            request = request.header("PRIVATE-TOKEN", token);
        }
        let answer = request.send().await.unwrap();
        seen.push((format!("{who}: the file"), answer.status().as_u16(), answer.text().await.unwrap(), Vec::new()));
    }
    seen
}

async fn send(client: &Client, request: &str) -> holdfast_tests::TestResponse {
    let mut parts = request.splitn(3, ' ');
    let (method, path, form) = (parts.next().unwrap(), parts.next().unwrap(), parts.next());
    let mut request = client.request(method, path);
    if path.ends_with("/uploads") {
        let file = reqwest::multipart::Part::bytes(b"a".as_slice()).file_name("a.txt");
        request = request.multipart(reqwest::multipart::Form::new().part("file", file));
    } else if let Some(form) = form {
        request = request.header("content-type", "application/x-www-form-urlencoded").body(form.to_owned());
    }
    client.send(request).await
}
