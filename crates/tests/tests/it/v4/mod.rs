//! Version 4 of the API: what differs from version 3 for all routes.

mod access_tokens;
mod bodies;
pub mod lists;
mod members;
mod partial_failures;
mod protected_tags;
mod ref_lists;
mod unsupported_params;
mod user_status;

use holdfast_tests::{Server, WorkTree};
use serde_json::{Value, json};

/// A token is taken from `PRIVATE-TOKEN`, from `Authorization: Bearer` and from the parameters. Version 3 ignores the bearer
/// token, as it always did.
#[tokio::test]
async fn bearer_tokens_authenticate_in_version_4() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let nobody = server.anonymous();
    for way in [
        nobody.request("GET", "/api/v4/user").bearer_auth(ada.token()),
        nobody.request("GET", "/api/v4/user").header("authorization", format!("bearer {}", ada.token())),
        nobody.request("GET", "/api/v4/user").query(&[("access_token", ada.token())]),
        nobody.request("GET", "/api/v4/user").query(&[("private_token", ada.token())]),
        ada.request("GET", "/api/v4/user"),
    ] {
        let answer = nobody.send(way).await;
        assert_eq!((answer.status, &answer.body["username"]), (200, &json!("ada")), "{}", answer.text);
    }
    for way in [
        nobody.request("GET", "/api/v3/user").bearer_auth(ada.token()),
        nobody.request("GET", "/api/v4/user").bearer_auth("hfp_unknown"),
        nobody.request("GET", "/api/v4/user").basic_auth("ada", Some(ada.token())),
        nobody.request("GET", "/api/v4/version"),
    ] {
        assert_eq!(nobody.send(way).await.status_and_body(), (401, &json!({ "message": "401 Unauthorized" })));
    }
}

/// Clients follow links to the next page. They contain no token.
#[tokio::test]
async fn lists_of_projects_are_read_by_key() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let mut created = Vec::new();
    for number in 0..5 {
        created.push(server.project(&ada, &format!("p{number}"), 20).await);
    }
    let order = [("asc", created.clone()), ("desc", created.iter().rev().copied().collect())];
    for (sort, expected) in order {
        let (mut seen, mut pages) = (Vec::new(), 0);
        let mut next = Some(format!(
            "/api/v4/projects?pagination=keyset&order_by=id&sort={sort}&per_page=2&private_token={}",
            ada.token()
        ));
        while let Some(path) = next {
            let page = ada.get(&path).await;
            assert_eq!(page.status, 200, "{}", page.text);
            seen.extend(page.ids());
            pages += 1;
            assert_eq!((page.header("x-total"), page.header("x-page")), (None, None));
            next = page.header("link").map(|link| {
                let (url, rel) = link.split_once("; ").unwrap();
                assert!(rel == "rel=\"next\"" && !url.contains("private_token"), "{link}");
                let url = url.trim_matches(['<', '>']);
                url[url.find("/api/").unwrap()..].to_owned()
            });
        }
        assert_eq!((seen, pages), (expected, 3));
    }
}

/// The texts of errors differ in one space.
#[tokio::test]
async fn errors_have_the_form_of_their_version() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let message = async |version: &str| -> Value {
        let request = ada.request("GET", &format!("/api/{version}/user")).header("sudo", "root");
        ada.send(request).await.body["message"].clone()
    };
    assert_eq!(message("v3").await, "403 Forbidden  - Must be admin to use sudo");
    assert_eq!(message("v4").await, "403 Forbidden - Must be admin to use sudo");
    let reader = server.with_token(&server.token(1.into(), &["read_user"]).await);
    let scope = async |version: &str| reader.get(&format!("/api/{version}/projects/1")).await.body["scope"].clone();
    assert_eq!((scope("v3").await, scope("v4").await), (json!("api"), json!("read_api")));
}

/// A token of scope `read_repository` fetches and reads files. One of scope `write_repository` also pushes, and neither does
/// anything else.
#[tokio::test]
async fn repository_scopes_fetch_and_push() {
    let server = Server::start().await;
    let (id, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let tree = WorkTree::new().await;
    tree.commit("a.txt", b"one\n", "first").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    for (scope, can_push) in [("read_api", false), ("read_repository", false), ("write_repository", true)] {
        let client = server.with_token(&server.token(id, &[scope]).await);
        let url = server.git_url(&client, "ada/p");
        assert!(tree.git(["ls-remote", &url]).await.is_success, "{scope}");
        let branch = format!("main:refs/heads/{scope}");
        assert_eq!(tree.push(&url, &[&branch]).await.is_success, can_push, "{scope}");
        let raw = format!("/api/v4/projects/{project}/repository/files/a.txt/raw?ref=main");
        assert_eq!(client.get(&raw).await.text, "one\n", "{scope}");
        let form = [("branch", "main"), ("commit_message", "m"), ("content", "two")];
        let changed = client.put(&format!("/api/v4/projects/{project}/repository/files/a.txt"), &form).await;
        assert_eq!((changed.status, &changed.body["error"]), (403, &json!("insufficient_scope")), "{scope}");
        let read = client.get(&format!("/api/v4/projects/{project}/issues")).await.status;
        assert_eq!(read, if scope == "read_api" { 200 } else { 403 }, "{scope}");
    }
}

/// An administrator whose token cannot act as other users gets no token of another user either.
#[tokio::test]
async fn tokens_of_other_users_need_the_sudo_scope() {
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    let form = [("name", "n"), ("scopes[]", "api")];
    let own = ada.post("/api/v4/user/personal_access_tokens", &form).await;
    assert_eq!(own.status, 201, "{}", own.text);
    let create = format!("/api/v4/users/{ada_id}/personal_access_tokens");
    let rotate = format!("/api/v4/personal_access_tokens/{}/rotate", own.body["id"]);
    let narrow = server.with_token(&server.token(1.into(), &["api"]).await);
    assert_eq!(narrow.post(&create, &form).await.status, 403);
    assert_eq!(narrow.post(&rotate, &[]).await.status, 403);
    assert_eq!(ada.get("/api/v4/personal_access_tokens/self").await.status, 200);
    assert_eq!(server.admin.post(&create, &form).await.status, 201);
    assert_eq!(server.admin.post(&rotate, &[]).await.status, 200);
}

/// Searches ignore the words after the tenth, as lists do.
#[tokio::test]
async fn a_search_has_at_most_ten_words() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let title = "one two three four five six seven eight nine ten";
    let issue = ada.post(&format!("/projects/{project}/issues"), &[("title", title)]).await;
    assert_eq!(issue.status, 201, "{}", issue.text);
    for path in ["search?scope=issues", "issues?scope=all"] {
        let path = format!("/api/v4/projects/{project}/{path}");
        let find = async |term: String| {
            let found = ada.send(ada.request("GET", &path).query(&[("search", term)])).await;
            assert_eq!(found.status, 200, "{}", found.text);
            found.ids().len()
        };
        assert_eq!(find(format!("{title} missing")).await, 1, "{path}");
        assert_eq!(find(format!("missing {title}")).await, 0, "{path}");
    }
}
