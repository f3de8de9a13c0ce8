//! The start page, the lists of the own issues and activity, and forms that create projects and groups.

use holdfast_app::accounts::user::UserChanges;
use holdfast_tests::{Client, PageResponse, Server, WorkTree, user_attributes};

use crate::projects::add_member;

/// Creates an issue and returns its number.
async fn create_issue(client: &Client, project: i64, title: &str, assignee: Option<i64>) -> i64 {
    let assignee = assignee.map(|id| id.to_string()).unwrap_or_default();
    let form = [("title", title), ("assignee_id", &assignee)];
    let created = client.post(&format!("/projects/{project}/issues"), &form).await;
    assert_eq!(created.status, 201, "{}", created.text);
    created.body["iid"].as_i64().unwrap()
}

fn titles(page: &PageResponse, section: &str) -> Vec<String> {
    page.texts(&format!("{section} .title"))
}

#[tokio::test]
async fn an_anonymous_viewer_starts_with_the_public_projects() {
    let server = Server::start().await;
    let response = server.browser().get("/").await;
    assert_eq!((response.status, response.location()), (303, Some("/projects")));
    for path in [
        "/dashboard/issues",
        "/dashboard/merge_requests",
        "/dashboard/todos",
        "/dashboard/activity",
        "/new",
        "/groups/new",
    ] {
        let response = server.browser().get(path).await;
        assert!(response.location().unwrap_or_default().starts_with("/sign_in?to="), "{path}: {}", response.status);
    }
}

#[tokio::test]
async fn a_new_user_sees_what_the_dashboard_is_for() {
    let server = Server::start().await;
    server.user("ada").await;
    let page = server.sign_in("ada").await.get("/").await;
    assert_eq!((page.status, page.texts("h1")), (200, vec!["Dashboard".to_owned()]));
    let empty = page.texts(".empty h2");
    assert_eq!(empty, ["Nothing needs your attention", "No projects yet", "No activity yet"]);
}

#[tokio::test]
async fn assigned_issues_are_on_the_dashboard_while_they_are_open_and_visible() {
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    let (_, owner) = server.user("owner").await;
    let private = server.project(&owner, "secret", 0).await;
    let public = server.project(&owner, "tide", 20).await;
    add_member(&owner, &format!("/projects/{private}"), ada_id.get(), 30).await;
    let first = create_issue(&owner, private, "It leaks", Some(ada_id.get())).await;
    create_issue(&owner, public, "It creaks", Some(ada_id.get())).await;
    create_issue(&owner, public, "Of nobody", None).await;
    create_issue(&ada, public, "By ada", None).await;
    let browser = server.sign_in("ada").await;
    let page = browser.get("/").await;
    assert_eq!(titles(&page, "#issues"), ["It leaks", "It creaks"]);
    assert!(page.attributes("#issues .title", "href").contains(&format!("/owner/secret/issues/{first}")));
    let page = browser.get("/dashboard/issues").await;
    assert_eq!(titles(&page, "main"), ["It creaks", "It leaks"]);
    assert_eq!(titles(&browser.get("/dashboard/issues?scope=created").await, "main"), ["By ada"]);
    // Another viewer sees their own.
    let other = server.sign_in("owner").await;
    assert_eq!(titles(&other.get("/dashboard/issues").await, "main"), [""; 0]);
    assert_eq!(titles(&other.get("/dashboard/issues?scope=created").await, "main").len(), 3);
    // A closed issue is listed as such.
    let issues = owner.get(&format!("/projects/{private}/issues")).await;
    let id = issues.body[0]["id"].as_i64().unwrap();
    let closed = owner.put(&format!("/projects/{private}/issues/{id}"), &[("state_event", "close")]).await;
    assert_eq!(closed.status, 200, "{}", closed.text);
    assert_eq!(titles(&browser.get("/").await, "#issues"), ["It creaks"]);
    assert_eq!(titles(&browser.get("/dashboard/issues?state=closed").await, "main"), ["It leaks"]);
    assert_eq!(titles(&browser.get("/dashboard/issues?state=all").await, "main").len(), 2);
    // Without access to the project, the issue is hidden.
    assert_eq!(owner.delete(&format!("/projects/{private}/members/{ada_id}")).await.status, 200);
    assert_eq!(titles(&browser.get("/dashboard/issues?state=all").await, "main"), ["It creaks"]);
}

#[tokio::test]
async fn a_failed_pipeline_is_shown_to_who_pushed_until_the_ref_has_another() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "tide", 20).await;
    server.user("bob").await;
    let tree = WorkTree::new().await;
    let url = server.git_url(&ada, "ada/tide");
    tree.commit(".gitlab-ci.yml", b"first: [no job]\n", "Break the pipeline").await;
    tree.push(&url, &["main"]).await.ok();
    server.run_jobs().await;
    let pipelines = ada.get(&format!("/projects/{project}/pipelines")).await;
    assert_eq!(pipelines.body[0]["status"], "failed", "{}", pipelines.text);
    let browser = server.sign_in("ada").await;
    let page = browser.get("/").await;
    assert_eq!(titles(&page, "#pipelines"), ["Break the pipeline"]);
    assert_eq!(page.texts("#projects .state"), ["failed"]);
    let other = server.sign_in("bob").await.get("/").await;
    assert_eq!(titles(&other, "#pipelines"), [""; 0]);
    // The pipeline of another branch changes nothing; that of the same branch does.
    tree.git(["switch", "-q", "-c", "topic"]).await.ok();
    tree.commit(".gitlab-ci.yml", b"first: {script: make}\n", "Repair the pipeline").await;
    tree.push(&url, &["topic"]).await.ok();
    server.run_jobs().await;
    assert_eq!(titles(&browser.get("/").await, "#pipelines"), ["Break the pipeline"]);
    tree.push(&url, &["topic:main"]).await.ok();
    server.run_jobs().await;
    let page = browser.get("/").await;
    assert_eq!(titles(&page, "#pipelines"), [""; 0]);
    assert_eq!(page.texts("#projects .state"), ["pending"]);
    let events = page.texts("#events li");
    assert!(events.iter().any(|event| event.contains("ada/tide") && event.contains("topic")), "{events:?}");
    let page = browser.get("/dashboard/activity").await;
    assert!(page.texts("main li").len() >= events.len(), "{}", page.text);
}

#[tokio::test]
async fn requests_for_access_are_shown_to_those_who_decide() {
    let server = Server::start().await;
    let (master_id, _) = server.user("master").await;
    let (developer_id, _) = server.user("developer").await;
    let (_, owner) = server.user("owner").await;
    let (_, eve) = server.user("eve").await;
    let group = server.group(&owner, "harbour", 20).await;
    let project = server.project_in(&owner, "tide", 20, Some(group)).await;
    add_member(&owner, &format!("/groups/{group}"), master_id.get(), 40).await;
    add_member(&owner, &format!("/groups/{group}"), developer_id.get(), 30).await;
    for path in [format!("/projects/{project}"), format!("/groups/{group}")] {
        let updated = owner.put(&path, &[("request_access_enabled", "true")]).await;
        assert_eq!(updated.status, 200, "{}", updated.text);
        let requested = eve.post(&format!("{path}/access_requests"), &[]).await;
        assert_eq!(requested.status, 201, "{}", requested.text);
    }
    let requests = async |role: &str| server.sign_in(role).await.get("/").await.texts("#requests li");
    // The owner of the group decides both, a master of the group only that of the project.
    let shown = requests("owner").await;
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown.iter().all(|row| row.contains("eve")), "{shown:?}");
    let shown = requests("master").await;
    assert!(shown.len() == 1 && shown[0].contains("harbour/tide"), "{shown:?}");
    for role in ["developer", "eve"] {
        assert_eq!(requests(role).await, [""; 0], "{role}");
    }
}

#[tokio::test]
async fn users_create_projects_with_the_form() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, owner) = server.user("owner").await;
    let own_group = server.group(&ada, "harbour", 0).await;
    server.group(&owner, "foreign", 20).await;
    let browser = server.sign_in("ada").await;
    let page = browser.get("/new").await;
    // Only namespaces in which the viewer may create projects are offered.
    assert_eq!(page.texts("option"), ["ada (you)", "harbour"]);
    let form = page.form("form[action='/new']");
    let fields = |name, namespace: &str, level| {
        form.clone().set("name", name).set("namespace_id", namespace).set("visibility_level", level)
    };
    let response = browser.submit(&fields("Tide Watch", "", "0").check("visibility_level")).await;
    assert_eq!((response.status, response.location()), (303, Some("/ada/tide-watch")), "{}", response.text);
    let page = browser.get("/ada/tide-watch").await;
    assert_eq!((page.status, page.texts("[role=status]")), (200, vec!["The project was created.".to_owned()]));
    let rejected = browser.submit(&fields("Tide Watch", "", "0").check("visibility_level")).await;
    assert_eq!(rejected.status, 422);
    assert_eq!(rejected.form("form[action='/new']").value("name"), "Tide Watch");
    assert!(rejected.text.contains("has already been taken"), "{}", rejected.text);
    // A public project is not allowed in a private group, and a namespace of others is not valid.
    let own_group = own_group.to_string();
    let page = browser.submit(&fields("Tide", &own_group, "20").check("visibility_level")).await;
    assert_eq!((page.status, page.texts("#errors a")), (422, vec!["Visibility".to_owned()]));
    let page = browser.post("/new", &[("name", "Tide"), ("namespace_id", "1000000")]).await;
    assert_eq!((page.status, page.texts("#errors li")), (422, vec!["Namespace is not valid".to_owned()]));
    let page = browser.post("/new", &[("name", "Tide"), ("import_url", "file:///etc")]).await;
    assert_eq!((page.status, page.texts("#errors a")), (422, vec!["Import from".to_owned()]));
    let owned = ada.get("/projects/owned").await;
    assert_eq!(owned.ids().len(), 1);
    let preselected = browser.get(&format!("/new?namespace_id={own_group}")).await.form("form[action='/new']");
    assert_eq!(preselected.value("namespace_id"), own_group);
}

#[tokio::test]
async fn the_limit_of_projects_is_a_message_of_the_form() {
    let server = Server::start().await;
    server.user_with(UserChanges { projects_limit: Some(0), ..user_attributes("ada") }).await;
    let browser = server.sign_in("ada").await;
    let page = browser.post("/new", &[("name", "Tide")]).await;
    assert_eq!(page.status, 422, "{}", page.text);
    assert_eq!(page.texts("#errors li"), ["Namespace has reached your limit of projects, which is 0"]);
}

#[tokio::test]
async fn users_create_groups_with_the_form_if_they_may() {
    let server = Server::start().await;
    server.user("ada").await;
    let attributes = UserChanges { can_create_group: Some(false), ..user_attributes("bob") };
    server.user_with(attributes).await;
    let browser = server.sign_in("ada").await;
    let page = browser.get("/groups").await;
    assert!(page.attributes("main a", "href").contains(&"/groups/new".to_owned()));
    let form = browser.get("/groups/new").await.form("form[action='/groups/new']");
    let page = browser.submit(&form.clone().set("name", "Harbour").set("path", "no/path")).await;
    assert_eq!((page.status, page.texts("#errors a")), (422, vec!["Path".to_owned()]));
    let response = browser.submit(&form.set("name", "Harbour").set("path", "harbour")).await;
    assert_eq!((response.status, response.location()), (303, Some("/groups/harbour")), "{}", response.text);
    assert_eq!(browser.get("/groups/harbour").await.texts("[role=status]"), ["The group was created."]);
    let browser = server.sign_in("bob").await;
    let before = server.dump_database().await;
    let page = browser.get("/groups/new").await;
    assert_eq!((page.status, page.attributes("main form", "action")), (200, Vec::new()));
    assert!(!page.attributes("a", "href").contains(&"/groups/new".to_owned()));
    assert_eq!(browser.post("/groups/new", &[("name", "Mine"), ("path", "mine")]).await.status, 403);
    assert_eq!(server.dump_database().await, before);
}
