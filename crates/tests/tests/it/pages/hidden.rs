//! What a viewer may not see gives the same response as what does not exist. Each test describes an attack.

use holdfast_tests::{Browser, Server};

/// A response without what differs between two equal requests.
type Comparable = (u16, Vec<(String, String)>, String);

async fn open(browser: &Browser, method: &str, path: &str) -> Comparable {
    let request = browser.request(method, path).header("sec-fetch-site", "same-origin");
    let response = browser.send(if method == "POST" { request.form(&[("a", "b")]) } else { request }).await;
    let headers = response.headers.iter().filter(|(name, _)| !matches!(name.as_str(), "date" | "x-request-id"));
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    (response.status, headers.collect(), response.text)
}

/// Opens two addresses and compares everything but the names in the address, which the page repeats in the link to the
/// sign-in form. The names have the same length, so that the length of the page is compared, too.
async fn assert_same(browser: &Browser, method: &str, path: &str, (name, missing): (&str, &str)) -> u16 {
    assert_eq!(name.len(), missing.len());
    let of_name = open(browser, method, &path.replace("NAME", name)).await;
    let of_missing = open(browser, method, &path.replace("NAME", missing)).await;
    let replace = |text: &str| text.replace(name, missing);
    let (status, headers, body) = of_name;
    let headers: Vec<_> = headers.into_iter().map(|(name, value)| (name, replace(&value))).collect();
    assert_eq!((status, headers, replace(&body)), of_missing, "{method} {path} with {name}");
    status
}

/// The declared pages about a project or a group, with their parameters filled in.
fn declared_paths(parameter: &str, name: &str) -> Vec<(String, String)> {
    let pages = holdfast_web::pages::all();
    let of_parameter = pages.list().iter().filter(|page| page.path.contains(parameter));
    let fill = |path: &str| {
        let segment = |part: &str| match part {
            _ if part == parameter => name.to_owned(),
            ":namespace" => "ada".to_owned(),
            // A number is valid for all ids, and a name of a ref for all others.
            _ if part.starts_with([':', '*']) => "1".to_owned(),
            part => part.to_owned(),
        };
        path.split('/').map(segment).collect::<Vec<_>>().join("/")
    };
    of_parameter.map(|page| (page.method.to_string(), fill(page.path))).collect()
}

/// An attacker guesses the names of private projects, and learns from the responses which of them exist.
#[tokio::test]
async fn hidden_projects_look_like_missing_ones() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("eve").await;
    let secret = server.project(&ada, "former", 0).await;
    let renamed = ada.put(&format!("/projects/{secret}"), &[("name", "secret"), ("path", "secret")]).await;
    assert_eq!(renamed.status, 200, "{}", renamed.text);
    server.push_first(&ada, "ada/secret").await;
    server.project(&ada, "inside", 10).await;
    let mut paths = declared_paths(":project", "NAME");
    assert!(!paths.is_empty());
    let more = ["/ada/NAME.git", "/ADA/NAME", "/ada/NAME?page=2", "/ada/NAME/nothing/at/all", "/ada/NAME/-/issues"];
    paths.extend(more.map(|path| ("GET".to_owned(), path.to_owned())));
    paths.push(("HEAD".to_owned(), "/ada/NAME".to_owned()));
    paths.push(("POST".to_owned(), "/ada/NAME".to_owned()));
    let (anonymous, eve) = (server.browser(), server.sign_in("eve").await);
    for (method, path) in &paths {
        // The private project by its name and its former name, and the internal one for an anonymous viewer.
        for name in ["secret", "former", "inside"] {
            assert_same(&anonymous, method, path, (name, "absent")).await;
        }
        for name in ["secret", "former"] {
            assert_same(&eve, method, path, (name, "absent")).await;
        }
    }
    for browser in [&anonymous, &eve] {
        assert_eq!(assert_same(browser, "GET", "/ada/NAME", ("secret", "absent")).await, 404);
    }
    // The paths are those of pages: their owner sees the project.
    let owner = server.sign_in("ada").await;
    assert_eq!(owner.get("/ada/secret").await.status, 200);
    assert_eq!(owner.get("/ada/former").await.location(), Some("/ada/secret"));
    assert_eq!(eve.get("/ada/inside").await.status, 200);
    assert_eq!(owner.get("/ada/absent").await.status, 404);
}

#[tokio::test]
async fn hidden_groups_look_like_missing_ones() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("eve").await;
    let group = server.group(&ada, "secret-team", 0).await;
    server.project_in(&ada, "p", 0, Some(group)).await;
    server.group(&ada, "inside-team", 10).await;
    let mut paths = declared_paths(":group", "NAME-team");
    assert!(!paths.is_empty());
    let more = ["/NAME-team", "/NAME-team/p", "/NAME-team/nothing", "/groups/NAME-TEAM", "/groups/NAME-team?search=p"];
    paths.extend(more.map(|path| ("GET".to_owned(), path.to_owned())));
    let (anonymous, eve) = (server.browser(), server.sign_in("eve").await);
    for (method, path) in &paths {
        for name in ["secret", "inside"] {
            assert_same(&anonymous, method, path, (name, "absent")).await;
        }
        assert_same(&eve, method, path, ("secret", "absent")).await;
    }
    for browser in [&anonymous, &eve] {
        assert_eq!(assert_same(browser, "GET", "/groups/NAME-team", ("secret", "absent")).await, 404);
    }
    assert_eq!(server.sign_in("ada").await.get("/groups/secret-team").await.status, 200);
    assert_eq!(eve.get("/groups/inside-team").await.status, 200);
}

/// Anonymous viewers do not see users, so they must not learn which names are those of users.
#[tokio::test]
async fn anonymous_viewers_cannot_enumerate_users() {
    let server = Server::start().await;
    server.user("secret").await;
    let status = assert_same(&server.browser(), "GET", "/NAME", ("secret", "absent")).await;
    assert_eq!(status, 303);
    assert_same(&server.browser(), "GET", "/NAME/nothing", ("secret", "absent")).await;
}

/// Lists, searches and pages of users show only what the viewer may see.
#[tokio::test]
async fn lists_do_not_show_hidden_projects_and_groups() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("eve").await;
    let group = server.group(&ada, "open-team", 20).await;
    server.project_in(&ada, "secret-one", 0, Some(group)).await;
    server.project(&ada, "secret-two", 0).await;
    server.group(&ada, "secret-three", 0).await;
    for browser in [server.browser(), server.sign_in("eve").await] {
        for path in [
            "/",
            "/projects",
            "/projects?visibility=private",
            "/projects?order=name&page=2",
            "/groups",
            "/groups/open-team",
            "/ada",
            "/dashboard/projects",
        ] {
            let page = browser.open(path).await;
            assert_eq!(page.status, 200, "{path}");
            assert!(!page.text.contains("secret-"), "{path}: {}", page.text);
        }
    }
    let ada = server.sign_in("ada").await;
    assert!(ada.get("/projects").await.text.contains("secret-two"));
    assert!(ada.get("/groups/open-team").await.text.contains("secret-one"));
    assert!(ada.get("/groups").await.text.contains("secret-three"));
}
