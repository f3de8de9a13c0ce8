//! The first run: an instance without users, and the creation of its first administrator in the browser.

use chrono::TimeDelta;
use holdfast_app::accounts::setup;
use holdfast_app::{Actor, Error};
use holdfast_tests::{Browser, PASSWORD, PageForm, Server, Setup, database, log};

const WRONG_CODE: &str = "Setup code is wrong or has expired";

/// Starts a server, and deletes the user that every test server has.
async fn empty_server(setup: Setup) -> Server {
    let server = Server::start_with(setup).await;
    sqlx::query("truncate users cascade").execute(&mut server.database().await).await.unwrap();
    server
}

async fn create_code(server: &Server) -> String {
    setup::create_code(&server.app, &Actor::Operator).await.unwrap()
}

async fn count_users(server: &Server) -> i64 {
    let query = "select count(*) from users where not ghost";
    sqlx::query_scalar(query).fetch_one(&mut server.database().await).await.unwrap()
}

/// Returns the filled form of the page.
async fn form(browser: &Browser, username: &str, code: &str) -> PageForm {
    let form = browser.get("/setup").await.form("form[action='/setup']");
    let form = form.set("setup_code", code).set("username", username).set("name", "Ada Okafor");
    let form = form.set("email", &format!("{username}@example.com"));
    form.set("password", PASSWORD).set("repeated_password", PASSWORD)
}

#[tokio::test]
async fn an_operator_is_led_from_an_empty_instance_to_the_first_push() {
    let server = empty_server(Setup::default()).await;
    let code = create_code(&server).await;
    let browser = server.browser();
    for page in ["/", "/sign_in"] {
        let response = browser.get(page).await;
        assert_eq!((response.status, response.location()), (303, Some("/setup")), "{page}");
    }
    let page = browser.get("/setup").await;
    assert_eq!((page.status, page.texts("h1")), (200, vec!["Set up Holdfast".to_owned()]));
    // The form says where the code is, and does not contain it.
    assert!(page.text.contains("holdfast admin setup-code") && !page.text.contains(&code));
    let response = browser.submit(&form(&browser, "ada", &code).await).await;
    assert_eq!((response.status, response.location()), (303, Some("/new")), "{}", response.text);
    let page = browser.get("/new").await;
    assert_eq!(page.texts("[role=status]"), ["Your account was created. Create the first project now."]);
    assert_eq!(browser.viewer().await.as_deref(), Some("ada"));
    let response = browser.submit(&page.form("form[action='/new']").set("name", "tide").set("path", "tide")).await;
    assert_eq!((response.status, response.location()), (303, Some("/ada/tide")), "{}", response.text);
    let home = browser.get("/ada/tide").await;
    assert!(home.text.contains("git push --set-upstream origin"), "{}", home.text);
    // The user is an administrator who has just entered the password.
    assert_eq!(browser.get("/admin").await.status, 200);
    let anonymous = server.browser();
    assert_eq!(anonymous.get("/").await.location(), Some("/projects"));
    assert_eq!(anonymous.get("/sign_in").await.status, 200);
    assert_eq!(anonymous.sign_in("ada", PASSWORD).await.status, 303);
}

#[tokio::test]
async fn the_page_is_gone_once_there_is_a_user() {
    let server = empty_server(Setup::default()).await;
    let (code, other_code) = (create_code(&server).await, create_code(&server).await);
    let browser = server.browser();
    // Another node has seen that there is no user.
    let elsewhere = server.browser().for_node(&server.another_node().await);
    let late_form = form(&elsewhere, "eve", &other_code).await;
    assert_eq!(browser.submit(&form(&browser, "ada", &code).await).await.status, 303);
    let before = server.dump_database().await;
    for other in [&elsewhere, &server.browser(), &browser] {
        assert_eq!(other.get("/setup").await.status, 404);
        assert_eq!(other.submit(&late_form).await.status, 404);
    }
    let mut after = server.dump_database().await;
    after["browser_sessions"] = before["browser_sessions"].clone();
    assert_eq!(after, before);
    assert_eq!(after["setup_codes"], serde_json::json!([]));
    assert!(matches!(setup::create_code(&server.app, &Actor::Operator).await, Err(Error::Conflict(_))));
}

/// Whoever finds the page of an exposed instance first must not become its administrator.
#[tokio::test]
async fn nobody_creates_the_first_user_without_the_code() {
    let server = empty_server(Setup::default()).await;
    let code = create_code(&server).await;
    let dump = server.dump_database().await;
    assert_eq!(database::tables_containing(&dump, &code), [""; 0]);
    assert!(!log::captured().contains(&code));
    let browser = server.browser();
    for wrong in ["", "wrong", &code[1..], &code.to_uppercase()] {
        let page = browser.submit(&form(&browser, "eve", wrong).await).await;
        assert_eq!((page.status, page.texts("#errors li")), (422, vec![WRONG_CODE.to_owned()]), "{wrong}");
        let kept = page.form("form[action='/setup']");
        assert_eq!((kept.value("username"), kept.value("email")), ("eve", "eve@example.com"));
        assert_eq!((kept.value("setup_code"), kept.value("password")), ("", ""));
    }
    assert_eq!((count_users(&server).await, browser.viewer().await), (0, None));
    server.advance(TimeDelta::hours(25));
    let page = browser.submit(&form(&browser, "eve", &code).await).await;
    assert_eq!((page.status, page.texts("#errors li")), (422, vec![WRONG_CODE.to_owned()]));
    assert_eq!(server.dump_database().await, dump);
    // The operator gets another one, which replaces the expired one.
    let code = create_code(&server).await;
    assert_eq!(server.dump_database().await["setup_codes"].as_array().map(Vec::len), Some(1));
    assert_eq!(browser.submit(&form(&browser, "ada", &format!(" {code} ")).await).await.status, 303);
    assert_eq!(count_users(&server).await, 1);
}

#[tokio::test]
async fn a_rejected_form_keeps_the_code_valid() {
    let server = empty_server(Setup::default()).await;
    let code = create_code(&server).await;
    let browser = server.browser();
    let filled = form(&browser, "ada", &code).await;
    for (field, value, message) in [
        ("repeated_password", "another", "Password again is not the same as the password"),
        ("username", "admin", "Username admin is a reserved name"),
        ("username", "setup", "Username setup is a reserved name"),
        ("name", "", "Name can't be blank"),
        ("email", "no address", "Email is invalid"),
    ] {
        let page = browser.submit(&filled.clone().set(field, value)).await;
        assert_eq!((page.status, page.texts("#errors li")), (422, vec![message.to_owned()]), "{field}");
    }
    let short = filled.clone().set("password", "short").set("repeated_password", "short");
    let page = browser.submit(&short).await;
    assert_eq!(page.texts("#errors li"), ["Password is too short (minimum is 8 characters)"]);
    assert_eq!(browser.post("/setup", &[("setup_code", &code)]).await.status, 422);
    assert_eq!(count_users(&server).await, 0);
    assert_eq!(browser.submit(&filled).await.status, 303);
}

/// Two operators at once, at two nodes: one of them creates the first user, and the other one nothing.
#[tokio::test]
async fn only_one_of_two_concurrent_setups_succeeds() {
    let server = empty_server(Setup::default()).await;
    let (first_code, second_code) = (create_code(&server).await, create_code(&server).await);
    let (first, second) = (server.browser(), server.browser().for_node(&server.another_node().await));
    let (first_form, second_form) =
        (form(&first, "ada", &first_code).await, form(&second, "grace", &second_code).await);
    let (one, two) = tokio::join!(first.submit(&first_form), second.submit(&second_form));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 404]);
    assert_eq!(count_users(&server).await, 1);
    let viewers = [first.viewer().await, second.viewer().await];
    assert_eq!(viewers.iter().flatten().count(), 1, "{viewers:?}");
}

#[tokio::test]
async fn guesses_of_the_code_are_throttled_as_sign_ins_are() {
    let mut setup = Setup::default();
    setup.settings.sign_ins_per_minute = 3;
    let server = empty_server(setup).await;
    let code = create_code(&server).await;
    let browser = server.browser();
    let guess = form(&browser, "eve", "wrong").await;
    let mut last = browser.submit(&guess).await;
    for _ in 0..50 {
        if last.status == 429 {
            break;
        }
        assert_eq!(last.status, 422);
        last = browser.submit(&guess).await;
    }
    assert_eq!(last.status, 429);
    assert!(last.header("retry-after").is_some());
    assert!(last.texts("#errors li")[0].starts_with("Setup code was entered too often"), "{}", last.text);
    assert_eq!(browser.submit(&guess.set("setup_code", &code)).await.status, 429);
    assert_eq!(count_users(&server).await, 0);
}

#[tokio::test]
async fn the_api_of_an_empty_instance_leads_nowhere() {
    let server = empty_server(Setup::default()).await;
    create_code(&server).await;
    let anonymous = server.anonymous();
    assert_eq!(anonymous.get("/projects").await.status, 401);
    assert_eq!(anonymous.post("/users", &[("username", "eve"), ("admin", "true")]).await.status, 401);
    assert_eq!(anonymous.post("/session", &[("login", "root"), ("password", PASSWORD)]).await.status, 401);
    assert_eq!(anonymous.post("/setup", &[("username", "eve")]).await.status, 404);
    assert_eq!(count_users(&server).await, 0);
}
