//! The variables, the triggers and the job token allow list in the settings of a project.

use chrono::TimeDelta;
use holdfast_tests::PageResponse;

use crate::pipelines::{CiFixture, SIMPLE};

const VARIABLES: &str = "/ada/p/settings/variables";
const TRIGGERS: &str = "/ada/p/settings/triggers";
const JOB_TOKEN: &str = "/ada/p/settings/job_token";

/// Returns the messages of a rejected form.
fn violations(page: &PageResponse) -> Vec<String> {
    assert_eq!(page.status, 422, "{}", page.text);
    page.texts("#errors li")
}

/// Creates a fixture whose project has the developer `dev` and the master `max`.
async fn fixture_with_members() -> CiFixture {
    let fixture = CiFixture::with_file(SIMPLE).await;
    fixture.add_member("dev", "30").await;
    fixture.add_member("max", "40").await;
    fixture.server.user("eve").await;
    fixture
}

/// Fails if a developer or a stranger gets one of these pages or performs one of these actions.
async fn assert_masters_only(fixture: &CiFixture, pages: &[&str], actions: &[&str]) {
    for (name, status) in [("dev", 403), ("eve", 404)] {
        let browser = fixture.server.sign_in(name).await;
        let before = fixture.server.dump_database().await;
        for page in pages {
            assert_eq!(browser.get(page).await.status, status, "{page} as {name}");
        }
        for action in actions {
            let form = [("key", "MINE"), ("value", "x"), ("description", "mine"), ("source", "ada/p")];
            assert_eq!(browser.post(action, &form).await.status, status, "{action} as {name}");
        }
        assert_eq!(fixture.server.dump_database().await, before, "{name}");
    }
}

#[tokio::test]
async fn variables_are_created_changed_and_deleted() {
    let fixture = fixture_with_members().await;
    let max = fixture.server.sign_in("max").await;
    let page = max.get(VARIABLES).await;
    assert_eq!(page.texts(".empty h2"), ["No variables yet"]);
    let form = page.form(&format!("form[action='{VARIABLES}']"));
    let response = max.submit(&form.clone().set("key", "DEPLOY_KEY").set("value", "first line\r\nsecond line")).await;
    assert_eq!((response.status, response.location()), (303, Some(VARIABLES)), "{}", response.text);
    let page = max.get(VARIABLES).await;
    assert_eq!(page.texts("[role=status]"), ["The variable was created."]);
    assert_eq!(page.texts("tbody code"), ["DEPLOY_KEY"]);
    assert!(page.texts("tbody tr")[0].contains("masked") && !page.text.contains("first line"), "{}", page.text);
    let stored = async || fixture.ada.get(&fixture.path("/variables/DEPLOY_KEY")).await;
    assert_eq!(stored().await.body["value"], "first line\nsecond line");

    // A rejected form keeps what was entered.
    let page = max.submit(&form.clone().set("key", "DEPLOY_KEY").set("value", "another")).await;
    assert_eq!(violations(&page), ["Key has already been taken"]);
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert_eq!(page.form(&format!("form[action='{VARIABLES}']")).value("value"), "another");
    assert_eq!(violations(&max.submit(&form.clone().set("key", "")).await), ["Key can't be blank"]);
    let page = max.submit(&form.set("key", "no-dash")).await;
    assert_eq!(violations(&page), ["Key can contain only letters, digits and '_'."]);

    let one = format!("{VARIABLES}/DEPLOY_KEY");
    let link = max.get(VARIABLES).await.attributes("tbody a", "href");
    assert_eq!(link, [one.as_str()]);
    let page = max.get(&one).await;
    assert_eq!((page.status, page.header("cache-control")), (200, Some("no-store")));
    let form = page.form(&format!("form[action='{one}']"));
    assert_eq!(form.value("value"), "first line\nsecond line");
    assert_eq!(max.submit(&form.clone().set("value", "short")).await.location(), Some(VARIABLES));
    assert_eq!(stored().await.body["value"], "short");
    assert!(max.get(VARIABLES).await.texts("tbody tr")[0].contains("too short to be masked"));
    let page = max.submit(&form.set("value", &"x".repeat(40_000))).await;
    assert_eq!(violations(&page), ["Value is too long (maximum is 32768 characters)"]);
    // A form without its field leaves the value.
    assert_eq!(max.post(&one, &[]).await.status, 303);
    assert_eq!(stored().await.body["value"], "short");

    let delete = format!("{one}/delete");
    assert_masters_only(&fixture, &[VARIABLES, &one], &[VARIABLES, &one, &delete]).await;
    let form = max.get(&one).await.form(&format!("form[action='{delete}']"));
    assert_eq!(max.submit(&form).await.location(), Some(VARIABLES));
    assert_eq!(stored().await.status, 404);
    assert_eq!((max.submit(&form).await.status, max.get(&one).await.status), (404, 404));
}

/// A stolen cookie must not be enough to read the secrets of a project.
#[tokio::test]
async fn values_and_tokens_are_shown_only_after_a_recent_confirmation() {
    let fixture = fixture_with_members().await;
    let created = fixture.ada.post(&fixture.path("/variables"), &[("key", "KEY"), ("value", "secret value")]).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let trigger = fixture.ada.post(&fixture.path("/triggers"), &[]).await.body;
    let ada = fixture.server.sign_in("ada").await;
    fixture.server.advance(TimeDelta::hours(1));
    let trigger_page = format!("{TRIGGERS}/{}", trigger["id"]);
    for path in ["/ada/p/settings/runners/token", &format!("{VARIABLES}/KEY"), &trigger_page, TRIGGERS] {
        let response = ada.get(path).await;
        let location = response.location().unwrap_or_default();
        assert!(response.status == 303 && location.starts_with("/sign_in/confirm?to="), "{path}: {location}");
    }
    for path in [VARIABLES, "/ada/p/settings/runners"] {
        let page = ada.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        for secret in ["secret value", trigger["token"].as_str().unwrap()] {
            assert!(!page.text.contains(secret), "{path}: {}", page.text);
        }
    }
}

#[tokio::test]
async fn triggers_are_created_used_renamed_and_deleted() {
    let fixture = fixture_with_members().await;
    let ada = fixture.server.sign_in("ada").await;
    let page = ada.get(TRIGGERS).await;
    assert_eq!(page.texts(".empty h2"), ["No triggers yet"]);
    let form = page.form(&format!("form[action='{TRIGGERS}']"));
    let page = ada.submit(&form.clone().set("description", "Nightly")).await;
    assert_eq!((page.status, page.header("cache-control")), (200, Some("no-store")), "{}", page.text);
    let token = page.texts("#new-trigger .copy code").remove(0);
    let command = page.texts("#command").remove(0);
    let url = format!("http://holdfast.test/api/v4/projects/{}/trigger/pipeline", fixture.project);
    for part in [format!("'token={token}'"), "'ref=main'".to_owned(), format!("'{url}'")] {
        assert!(command.contains(&part), "{part}: {command}");
    }
    let page = ada.get(TRIGGERS).await;
    assert!(!page.text.contains(&token));
    let row = page.texts("tbody tr").remove(0);
    for part in ["Nightly", &token[..4], "never"] {
        assert!(row.contains(part), "{part}: {row}");
    }
    let path = format!("/api/v4/projects/{}/trigger/pipeline", fixture.project);
    let fired = fixture.server.anonymous().post(&path, &[("token", &token), ("ref", "main")]).await;
    assert_eq!(fired.status, 201, "{}", fired.text);
    assert!(ada.get(TRIGGERS).await.texts("tbody tr")[0].contains("just now"));
    let page = ada.submit(&form.set("description", &"x".repeat(300))).await;
    assert_eq!(violations(&page), ["Description is too long (maximum is 255 characters)"]);

    // Only the owner sees the token again.
    let one = ada.get(TRIGGERS).await.attributes("tbody td.tight a", "href").remove(0);
    let page = ada.get(&one).await;
    assert_eq!((page.texts("dd .copy code"), page.header("cache-control")), (vec![token.clone()], Some("no-store")));
    assert_eq!(page.texts("#command"), [command.as_str()]);
    let max = fixture.server.sign_in("max").await;
    let page = max.get(&one).await;
    assert!(!page.text.contains(&token), "{}", page.text);
    assert!(page.texts("#command")[0].contains("'token=TOKEN'"), "{}", page.text);
    let form = page.form(&format!("form[action='{one}']"));
    assert_eq!(form.value("description"), "Nightly");
    assert_eq!(max.submit(&form.set("description", "Weekly")).await.location(), Some(TRIGGERS));
    assert_eq!(fixture.ada.get(&fixture.path("/triggers")).await.body[0]["description"], "Weekly");

    let delete = format!("{one}/delete");
    assert_masters_only(&fixture, &[TRIGGERS, &one], &[TRIGGERS, &one, &delete]).await;
    let form = max.get(&one).await.form(&format!("form[action='{delete}']"));
    assert_eq!(max.submit(&form).await.location(), Some(TRIGGERS));
    assert_eq!((max.submit(&form).await.status, max.get(&one).await.status), (404, 404));
    assert_eq!(fixture.ada.get(&fixture.path("/triggers")).await.ids(), [0; 0]);
}

/// A trigger of one project is not changed through another.
#[tokio::test]
async fn triggers_of_another_project_are_not_found() {
    let fixture = fixture_with_members().await;
    let trigger = fixture.ada.post(&fixture.path("/triggers"), &[]).await.body["id"].clone();
    let (_, eve_client) = fixture.server.user("mallory").await;
    fixture.server.project(&eve_client, "own", 0).await;
    let mallory = fixture.server.sign_in("mallory").await;
    let before = fixture.server.dump_database().await;
    let one = format!("/mallory/own/settings/triggers/{trigger}");
    assert_eq!(mallory.get(&one).await.status, 404);
    for action in ["", "/delete"] {
        assert_eq!(mallory.post(&format!("{one}{action}"), &[("description", "mine")]).await.status, 404, "{action}");
    }
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn projects_are_added_to_the_job_token_allow_list_and_removed() {
    let fixture = fixture_with_members().await;
    let other = fixture.server.project(&fixture.ada, "other", 0).await;
    let (_, eve) = fixture.server.user("mallory").await;
    fixture.server.project(&eve, "secret", 0).await;
    let ada = fixture.server.sign_in("ada").await;
    let page = ada.get(JOB_TOKEN).await;
    assert_eq!(page.texts(".empty h2"), ["No other projects"]);
    let form = page.form(&format!("form[action='{JOB_TOKEN}']"));
    let response = ada.submit(&form.clone().set("source", " ada/other ")).await;
    assert_eq!((response.status, response.location()), (303, Some(JOB_TOKEN)), "{}", response.text);
    let listed = async || fixture.ada.get(&fixture.path("/job_token_scope/allowlist")).await;
    assert_eq!(listed().await.ids(), [other]);
    let hidden = "Project does not exist, or you do not have access to it";
    for (source, message) in [
        ("", "Project is not a path such as harbour/tidewatch"),
        ("ada", "Project is not a path such as harbour/tidewatch"),
        ("mallory/secret", hidden),
        ("mallory/absent", hidden),
        ("ada/other", "Project is on the list already"),
        ("ada/p", "Project was not accepted: Builds always read their own project"),
    ] {
        let page = ada.submit(&form.clone().set("source", source)).await;
        assert_eq!(violations(&page), [message], "{source}");
        assert_eq!(page.form(&format!("form[action='{JOB_TOKEN}']")).value("source"), source);
    }
    assert_eq!(ada.get(JOB_TOKEN).await.attributes("tbody a", "href"), ["/ada/other"]);
    // Another master does not see the name of a project that is hidden.
    let max = fixture.server.sign_in("max").await;
    let page = max.get(JOB_TOKEN).await;
    assert_eq!(page.attributes("tbody a", "href"), [""; 0]);
    assert!(page.texts("tbody tr")[0].starts_with(&format!("Project {other}")), "{}", page.text);
    let delete = format!("{JOB_TOKEN}/{other}/delete");
    assert_masters_only(&fixture, &[JOB_TOKEN], &[JOB_TOKEN, &delete]).await;
    let form = page.form(&format!("form[action='{delete}']"));
    assert_eq!(max.submit(&form).await.location(), Some(JOB_TOKEN));
    assert_eq!(listed().await.ids(), [0; 0]);
    assert_eq!(max.submit(&form).await.status, 404);
}
