//! The runners in the settings of a project, and in the administration.

use holdfast_tests::{PageResponse, Server};
use reqwest::Method;
use serde_json::json;

use crate::pipelines::{CiFixture, Runner, SIMPLE};

const RUNNERS: &str = "/ada/p/settings/runners";

/// Creates a fixture whose project has the developer `dev` and the master `max`.
async fn fixture_with_members() -> CiFixture {
    let fixture = CiFixture::with_file(SIMPLE).await;
    fixture.add_member("dev", "30").await;
    fixture.add_member("max", "40").await;
    fixture.server.user("eve").await;
    fixture
}

/// Returns the texts of the rows of a section.
fn rows(page: &PageResponse, section: &str) -> Vec<String> {
    assert_eq!(page.status, 200, "{}", page.text);
    page.texts(&format!("section[aria-labelledby='{section}'] tbody tr"))
}

async fn instance_token(server: &Server) -> String {
    let query = "select token from runner_registration";
    sqlx::query_scalar(query).fetch_one(&mut server.database().await).await.unwrap()
}

#[tokio::test]
async fn masters_see_the_state_of_runners_and_pause_them() {
    let fixture = fixture_with_members().await;
    let runner = Runner::register_for(&fixture, json!({ "description": "Builder" })).await;
    Runner::register_shared(&fixture.server, json!({ "description": "Everybody's" })).await;
    let max = fixture.server.sign_in("max").await;
    let page = max.get(RUNNERS).await;
    let row = rows(&page, "assigned").remove(0);
    assert!(row.contains("Builder") && row.contains("never online"), "{row}");
    assert!(rows(&page, "shared")[0].contains("Everybody's"), "{}", page.text);
    let job = runner.claim().await;
    let page = max.get(RUNNERS).await;
    let row = rows(&page, "assigned").remove(0);
    assert!(row.contains("online") && row.contains("just now"), "{row}");
    let build = format!("/ada/p/builds/{}", job.id);
    assert!(page.attributes("tbody a", "href").contains(&build), "{}", page.text);

    let api = format!("/runners/{}", runner.id);
    for (action, is_active, state) in [("pause", false, "paused"), ("resume", true, "online")] {
        let form = max.get(RUNNERS).await.form(&format!("form[action='{RUNNERS}/{}/{action}']", runner.id));
        assert_eq!(max.submit(&form).await.location(), Some(RUNNERS));
        assert_eq!(fixture.ada.get(&api).await.body["active"], is_active);
        assert!(rows(&max.get(RUNNERS).await, "assigned")[0].contains(state), "{state}");
    }
    fixture.update_setting("shared_runners_enabled", "false").await;
    let page = max.get(RUNNERS).await;
    assert_eq!(rows(&page, "shared"), [""; 0]);
    // The runner is the only one of the project, and belongs to no other.
    assert_eq!(page.attributes("form[action$='/disable']", "action"), [""; 0]);

    for (name, status) in [("dev", 403), ("eve", 404)] {
        let browser = fixture.server.sign_in(name).await;
        let before = fixture.server.dump_database().await;
        let one = format!("{RUNNERS}/{}", runner.id);
        for page in [RUNNERS, &one, &format!("{RUNNERS}/token")] {
            assert_eq!(browser.get(page).await.status, status, "{page} as {name}");
        }
        for action in ["", "/pause", "/resume", "/enable", "/disable", "/delete"] {
            let response = browser.post(&format!("{one}{action}"), &[("run_untagged", "1")]).await;
            assert_eq!(response.status, status, "{action} as {name}");
        }
        assert_eq!(fixture.server.dump_database().await, before, "{name}");
    }
}

#[tokio::test]
async fn masters_edit_and_delete_runners() {
    let fixture = fixture_with_members().await;
    let runner = fixture.runner().await;
    let max = fixture.server.sign_in("max").await;
    let one = format!("{RUNNERS}/{}", runner.id);
    let form = max.get(&one).await.form(&format!("form[action='{one}']"));
    let changed = form.set("description", "Harbor").set("tags_list", "linux, docker").check("locked");
    assert_eq!(max.submit(&changed).await.location(), Some(RUNNERS));
    let api = format!("/runners/{}", runner.id);
    let found = fixture.ada.get(&api).await.body;
    let expected = json!(["Harbor", ["docker", "linux"], true, true, true]);
    let fields = ["description", "tag_list", "active", "run_untagged", "locked"].map(|name| found[name].clone());
    assert_eq!(json!(fields), expected);
    // Boxes that are not checked are not sent.
    let rejected = max.post(&one, &[("description", "Idle"), ("tags_list", " , ")]).await;
    let message = "Tags can not be empty when runner is not allowed to pick untagged jobs";
    assert_eq!((rejected.status, rejected.texts("#errors li")), (422, vec![message.to_owned()]), "{}", rejected.text);
    assert_eq!(rejected.form(&format!("form[action='{one}']")).value("description"), "Idle");
    let found = fixture.ada.get(&api).await.body;
    assert_eq!((&found["description"], &found["active"]), (&json!("Harbor"), &json!(true)));
    let delete = max.get(&one).await.form(&format!("form[action='{one}/delete']"));
    assert_eq!(max.submit(&delete).await.location(), Some(RUNNERS));
    assert_eq!(runner.call(Method::POST, "/runners/verify", json!({ "token": runner.token })).await.status, 403);
    assert_eq!((max.submit(&delete).await.status, max.get(&one).await.status), (404, 404));
}

#[tokio::test]
async fn runners_are_enabled_and_disabled_for_a_project() {
    let fixture = fixture_with_members().await;
    fixture.server.project(&fixture.ada, "other", 0).await;
    let runner = Runner::register_for(&fixture, json!({ "description": "Builder" })).await;
    let locked = Runner::register_for(&fixture, json!({ "description": "Locked", "locked": true })).await;
    let ada = fixture.server.sign_in("ada").await;
    let others = "/ada/other/settings/runners";
    let page = ada.get(others).await;
    assert_eq!(rows(&page, "assigned"), [""; 0]);
    assert_eq!(page.attributes("form[action$='/enable']", "action"), [format!("{others}/{}/enable", runner.id)]);
    // A runner is changed through its own projects alone.
    let before = fixture.server.dump_database().await;
    assert_eq!(ada.get(&format!("{others}/{}", runner.id)).await.status, 404);
    for action in ["", "/pause", "/delete", "/disable"] {
        let response = ada.post(&format!("{others}/{}{action}", runner.id), &[("run_untagged", "1")]).await;
        assert_eq!(response.status, 404, "{action}");
    }
    assert_eq!(ada.post(&format!("{others}/{}/enable", locked.id), &[]).await.status, 403);
    // The only project of a runner cannot disable it.
    assert_eq!(ada.post(&format!("{RUNNERS}/{}/disable", runner.id), &[]).await.status, 403);
    assert_eq!(fixture.server.dump_database().await, before);
    // A master of one project alone is offered no runners, and cannot use the other project.
    let max = fixture.server.sign_in("max").await;
    assert_eq!(rows(&max.get(RUNNERS).await, "available"), [""; 0]);

    let enable = page.form("form[action$='/enable']");
    for _ in 0..2 {
        assert_eq!(ada.submit(&enable).await.location(), Some(others));
    }
    assert_eq!(rows(&ada.get(others).await, "assigned").len(), 1);
    // Only administrators delete a runner of several projects.
    let one = format!("{RUNNERS}/{}", runner.id);
    let page = ada.get(&one).await;
    assert_eq!(page.attributes("form[action$='/delete']", "action"), [""; 0]);
    assert!(page.text.contains("assigned to 2 projects"), "{}", page.text);
    assert_eq!(ada.post(&format!("{one}/delete"), &[]).await.status, 403);
    let disable = ada.get(others).await.form("form[action$='/disable']");
    assert_eq!(ada.submit(&disable).await.location(), Some(others));
    assert_eq!(rows(&ada.get(others).await, "assigned"), [""; 0]);
    assert_eq!(ada.submit(&disable).await.status, 404);
}

#[tokio::test]
async fn the_registration_token_of_a_project_is_shown_on_a_page_of_its_own() {
    let fixture = fixture_with_members().await;
    let token = fixture.ada.get(&fixture.path("")).await.body["runners_token"].as_str().unwrap().to_owned();
    let max = fixture.server.sign_in("max").await;
    let page = max.get(RUNNERS).await;
    assert!(!page.text.contains(&token) && page.text.contains("--url http://holdfast.test"), "{}", page.text);
    let link = format!("{RUNNERS}/token");
    assert!(page.attributes("main a", "href").contains(&link), "{}", page.text);
    let page = max.get(&link).await;
    assert_eq!((page.status, page.header("cache-control")), (200, Some("no-store")));
    assert_eq!(page.texts(".copy code"), [token.as_str()]);
    let command = format!("holdfast runner register --url http://holdfast.test --registration-token {token}");
    assert_eq!(page.texts("#command"), [command]);
}

#[tokio::test]
async fn administrators_manage_all_runners() {
    let fixture = fixture_with_members().await;
    let own = Runner::register_for(&fixture, json!({ "description": "Own" })).await;
    let shared = Runner::register_shared(&fixture.server, json!({ "description": "Shared" })).await;
    let paused = Runner::register_shared(&fixture.server, json!({ "description": "Resting", "paused": true })).await;
    own.claim().await;
    let root = fixture.server.sign_in("root").await;
    let names = async |query: &str| root.get(&format!("/admin/runners{query}")).await.texts("tbody td:first-child");
    for (query, expected) in [
        ("", vec!["Own", "Shared", "Resting"]),
        ("?state=online", vec!["Own"]),
        ("?state=never", vec!["Shared", "Resting"]),
        ("?state=paused", vec!["Resting"]),
        ("?state=shared", vec!["Shared", "Resting"]),
        ("?state=offline", vec![]),
        ("?state=stale", vec![]),
        ("?state=nothing", vec!["Own", "Shared", "Resting"]),
    ] {
        assert_eq!(names(query).await, expected, "{query}");
    }
    let page = root.get("/admin/runners").await;
    assert!(page.texts("tbody tr")[0].contains("ada/p: one"), "{}", page.text);
    for (action, runner, is_active) in [("pause", &own, false), ("resume", &paused, true)] {
        let form = page.form(&format!("form[action='/admin/runners/{}/{action}']", runner.id));
        assert_eq!(root.submit(&form).await.location(), Some("/admin/runners"));
        let found = fixture.server.admin.get(&format!("/runners/{}", runner.id)).await.body;
        assert_eq!(found["active"], is_active);
    }
    let one = format!("/admin/runners/{}", own.id);
    let page = root.get(&one).await;
    assert!(page.attributes("main a", "href").contains(&"/ada/p".to_owned()), "{}", page.text);
    let form = page.form(&format!("form[action='{one}']"));
    assert_eq!(root.submit(&form.set("description", "Harbor")).await.location(), Some("/admin/runners"));
    let rejected = root.post(&one, &[("description", "Idle")]).await;
    assert_eq!((rejected.status, rejected.texts("#errors li").len()), (422, 1), "{}", rejected.text);
    assert_eq!(names("").await, ["Harbor", "Shared", "Resting"]);

    // The manager of a runner is no administrator.
    for name in ["ada", "eve"] {
        let browser = fixture.server.sign_in(name).await;
        let before = fixture.server.dump_database().await;
        for page in ["/admin/runners", &one, "/admin/runners/token"] {
            assert_eq!(browser.get(page).await.status, 403, "{page} as {name}");
        }
        for action in ["/admin/runners/token", &one, &format!("{one}/pause"), &format!("{one}/delete")] {
            assert_eq!(browser.post(action, &[("run_untagged", "1")]).await.status, 403, "{action} as {name}");
        }
        assert_eq!(fixture.server.dump_database().await, before, "{name}");
    }
    for runner in [&own, &shared] {
        let one = format!("/admin/runners/{}", runner.id);
        let form = root.get(&one).await.form(&format!("form[action='{one}/delete']"));
        assert_eq!(root.submit(&form).await.location(), Some("/admin/runners"));
        assert_eq!(root.submit(&form).await.status, 404);
    }
    assert_eq!(names("").await, ["Resting"]);
}

#[tokio::test]
async fn administrators_see_and_reset_the_registration_token() {
    let server = Server::start().await;
    let root = server.sign_in("root").await;
    let token = instance_token(&server).await;
    let page = root.get("/admin/runners").await;
    assert!(!page.text.contains(&token), "{}", page.text);
    let link = page.attributes("main .btns a", "href").remove(0);
    let page = root.get(&link).await;
    assert_eq!((page.texts(".copy code"), page.header("cache-control")), (vec![token.clone()], Some("no-store")));
    assert!(page.texts("#command")[0].ends_with(&token), "{}", page.text);
    let reset = page.form("form[action='/admin/runners/token']");
    assert_eq!(root.submit(&reset).await.location(), Some("/admin/runners/token"));
    let new = instance_token(&server).await;
    assert_ne!(new, token);
    assert_eq!(root.get("/admin/runners/token").await.texts(".copy code"), [new.as_str()]);
}
