//! The administration: users, groups, projects, jobs, storage and settings.

use chrono::TimeDelta;
use holdfast_domain::ids::UserId;
use holdfast_tests::{Browser, Client, PASSWORD, PageResponse, Server};
use sqlx::Row;

use crate::projects::add_member;
use crate::ssh_keys::ED25519 as KEY;

const NEW_PASSWORD: &str = "another long password";

/// A server with the user `ada`, and the browser of an administrator.
async fn instance() -> (Server, Browser, UserId, Client) {
    let server = Server::start().await;
    let (id, ada) = server.user("ada").await;
    let root = server.sign_in("root").await;
    (server, root, id, ada)
}

fn violations(page: &PageResponse) -> Vec<String> {
    assert_eq!(page.status, 422, "{}", page.text);
    page.texts("#errors li")
}

const PAGES: [&str; 8] = [
    "/admin",
    "/admin/users",
    "/admin/users/new",
    "/admin/groups",
    "/admin/projects",
    "/admin/jobs",
    "/admin/storage",
    "/admin/settings",
];

#[tokio::test]
async fn only_administrators_who_have_confirmed_their_password_enter() {
    let (server, root, id, _) = instance().await;
    let ada = server.sign_in("ada").await;
    assert!(root.get("/projects").await.attributes("#user-menu a", "href").contains(&"/admin".to_owned()));
    assert!(!ada.get("/projects").await.attributes("#user-menu a", "href").contains(&"/admin".to_owned()));
    let own = format!("/admin/users/{id}");
    for page in PAGES.iter().copied().chain([own.as_str()]) {
        let response = root.get(page).await;
        assert_eq!(response.status, 200, "{page}: {}", response.text);
        assert_eq!(response.attributes("nav.side [aria-current]", "href").len(), 1, "{page}");
        assert_eq!(ada.get(page).await.status, 403, "{page}");
        let location = server.browser().get(page).await.location().unwrap_or_default().to_owned();
        assert!(location.starts_with("/sign_in?to="), "{page}: {location}");
    }
    server.advance(TimeDelta::minutes(16));
    for page in PAGES.iter().copied().chain([own.as_str()]) {
        let location = root.get(page).await.location().unwrap_or_default().to_owned();
        assert!(location.starts_with("/sign_in/confirm?to="), "{page}: {location}");
    }
    let response = root.post(&format!("{own}/block"), &[]).await;
    assert!(response.location().unwrap_or_default().starts_with("/sign_in/confirm"), "{}", response.status);
    assert_eq!(server.admin.get(&format!("/users/{id}")).await.body["state"], "active");
}

#[tokio::test]
async fn users_are_found_by_name_and_state() {
    let (server, root, _, _) = instance().await;
    let (eve, _) = server.user("eve").await;
    assert!(server.admin.put(&format!("/users/{eve}/block"), &[]).await.status < 300);
    let found = async |query: &str| root.get(&format!("/admin/users{query}")).await.texts("tbody a.who");
    assert_eq!(found("").await, ["User eve", "User ada", "User root"]);
    assert_eq!(found("?search=ADA").await, ["User ada"]);
    assert_eq!(found("?state=blocked").await, ["User eve"]);
    assert_eq!(found("?state=active").await, ["User ada", "User root"]);
    assert_eq!(found("?state=external").await, [""; 0]);
    assert_eq!(found("?state=nothing").await.len(), 3);
    let page = root.get("/admin/users?search=nobody&state=active").await;
    assert_eq!(page.texts(".empty h2"), ["No users match"]);
    for number in 0..21 {
        server.user(&format!("user-{number}")).await;
    }
    let page = root.get("/admin/users?search=user&state=active").await;
    let next = page.attributes("a[rel=next]", "href");
    assert_eq!(next, ["/admin/users?search=user&state=active&page=2"]);
    assert!(!root.get(&next[0]).await.texts("tbody a.who").is_empty());
}

#[tokio::test]
async fn a_user_is_created() {
    let (server, root, _, _) = instance().await;
    let form = root.get("/admin/users/new").await.form("form[action='/admin/users']");
    assert_eq!(form.value("projects_limit"), "100");
    let filled = form.set("username", "grace").set("name", "Grace").set("email", "grace@example.com");
    let filled = filled.set("password", PASSWORD);
    let before = server.dump_database().await;
    for (field, value, message) in [
        ("username", "", "Username can't be blank"),
        ("username", "ada", "Username has already been taken"),
        ("email", "ada@example.com", "Email has already been taken"),
        ("projects_limit", "many", "Limit of projects is not a number"),
        ("projects_limit", "-1", "Limit of projects must be greater than or equal to 0"),
        ("password", "", "Password can't be blank"),
        ("password", "short", "Password is too short (minimum is 8 characters)"),
    ] {
        let page = root.submit(&filled.clone().set(field, value)).await;
        assert_eq!(violations(&page), [message], "{field}");
        let kept = page.form("form[action='/admin/users']");
        assert_eq!((kept.value("name"), kept.value("password")), ("Grace", ""));
    }
    assert_eq!(server.dump_database().await, before);
    let response = root.submit(&filled.check("external").set("projects_limit", "7")).await;
    assert_eq!(response.status, 303, "{}", response.text);
    let page = root.get(response.location().unwrap()).await;
    assert_eq!(
        (page.texts("h1"), page.texts("[role=status]")),
        (vec!["Grace".into()], vec!["The user was created.".into()])
    );
    assert_eq!(server.browser().sign_in("grace", PASSWORD).await.status, 303);
    let user = server.admin.get(&response.location().unwrap().replace("/admin", "")).await.body;
    assert_eq!((&user["external"], &user["projects_limit"]), (&true.into(), &7.into()));
    // The box was checked by default.
    assert_eq!((&user["is_admin"], &user["can_create_group"]), (&false.into(), &true.into()));
}

#[tokio::test]
async fn a_user_is_edited() {
    let (server, root, id, _) = instance().await;
    let address = format!("/admin/users/{id}");
    let form = root.get(&address).await.form(&format!("form[action='{address}']"));
    assert_eq!((form.value("username"), form.value("name")), ("ada", "User ada"));
    let page = root.submit(&form.clone().set("username", "root").set("name", "Ada")).await;
    assert_eq!(violations(&page), ["Username has already been taken"]);
    assert_eq!(page.form(&format!("form[action='{address}']")).value("name"), "Ada");
    let changed = form.set("username", "ada-o").set("name", "Ada Okafor").set("email", "okafor@example.com");
    let response = root.submit(&changed.check("admin").set("projects_limit", "3")).await;
    assert_eq!((response.status, response.location()), (303, Some(address.as_str())), "{}", response.text);
    let user = server.admin.get(&format!("/users/{id}")).await.body;
    for (field, value) in [("username", "ada-o"), ("name", "Ada Okafor"), ("email", "okafor@example.com")] {
        assert_eq!(user[field], value);
    }
    assert_eq!((&user["is_admin"], &user["projects_limit"]), (&true.into(), &3.into()));
    // A form without its fields changes nothing.
    let before = server.dump_database().await;
    assert_eq!(root.post(&address, &[]).await.status, 422);
    assert_eq!(server.dump_database().await, before);
    let eve = server.user("eve").await.0;
    let browser = server.sign_in("eve").await;
    assert_eq!(browser.post(&format!("/admin/users/{eve}"), &[("admin", "1")]).await.status, 403);
    assert_eq!(root.get("/admin/users/999999").await.status, 404);
}

/// Otherwise an instance could lose its last administrator with one click.
#[tokio::test]
async fn administrators_do_not_lock_themselves_out() {
    let (server, root, _, _) = instance().await;
    let page = root.get("/admin/users/1").await;
    assert_eq!(page.attributes("main form", "action").iter().filter(|action| action.ends_with("/block")).count(), 0);
    assert!(!page.attributes("main form", "action").contains(&"/admin/users/1/delete".to_owned()));
    let form = page.form("form[action='/admin/users/1']");
    assert_eq!(root.submit(&form).await.status, 303);
    assert_eq!(root.post("/admin/users/1/block", &[]).await.status, 403);
    assert_eq!(root.post("/admin/users/1/delete", &[("confirm_username", "root")]).await.status, 403);
    let user = server.admin.get("/users/1").await.body;
    assert_eq!((&user["is_admin"], &user["state"]), (&true.into(), &"active".into()));
}

#[tokio::test]
async fn a_user_is_blocked_and_unblocked() {
    let (server, root, id, _) = instance().await;
    let ada = server.sign_in("ada").await;
    let address = format!("/admin/users/{id}");
    for (action, state) in [("block", "blocked"), ("unblock", "active")] {
        let form = root.get(&address).await.form(&format!("form[action='{address}/{action}']"));
        let response = root.submit(&form).await;
        assert_eq!((response.status, response.location()), (303, Some(address.as_str())));
        assert_eq!(server.admin.get(&format!("/users/{id}")).await.body["state"], state);
    }
    assert_eq!(ada.viewer().await, None);
    assert_eq!(server.sign_in("ada").await.post(&format!("{address}/block"), &[]).await.status, 403);
}

#[tokio::test]
async fn a_password_is_set_by_an_administrator() {
    let (server, root, id, _) = instance().await;
    let ada = server.sign_in("ada").await;
    let address = format!("/admin/users/{id}/password");
    let form = root.get(&format!("/admin/users/{id}")).await.form(&format!("form[action='{address}']"));
    let page = root.submit(&form.clone().set("password", "password1")).await;
    assert_eq!(violations(&page), ["New password is too common"]);
    assert!(!page.text.contains("password1"));
    assert_eq!(ada.viewer().await.as_deref(), Some("ada"));
    assert_eq!(root.submit(&form.set("password", NEW_PASSWORD)).await.status, 303);
    assert_eq!(ada.viewer().await, None);
    assert_eq!(server.browser().sign_in("ada", PASSWORD).await.status, 422);
    let ada = server.browser();
    assert_eq!(ada.sign_in("ada", NEW_PASSWORD).await.status, 303);
    assert_eq!(ada.post(&address, &[("password", PASSWORD)]).await.status, 403);
}

#[tokio::test]
async fn credentials_of_a_user_are_taken_away() {
    let (server, root, id, ada) = instance().await;
    let browser = server.sign_in("ada").await;
    assert_eq!(ada.post("/user/keys", &[("title", "Laptop"), ("key", KEY)]).await.status, 201);
    assert_eq!(ada.post("/user/emails", &[("email", "ada@work.example")]).await.status, 201);
    let address = format!("/admin/users/{id}");
    let eve = server.user("eve").await.0;
    for (part, label) in
        [("sessions", "Firefox"), ("keys", "Laptop"), ("emails", "ada@work.example"), ("tokens", "test")]
    {
        let page = root.get(&address).await;
        let form = page.form(&format!("form[action^='{address}/{part}/']"));
        assert!(page.text.contains(label), "{label}: {}", page.text);
        // The record of one user is not found at another one.
        let wrong = form.action.replace(&address, &format!("/admin/users/{eve}"));
        assert_eq!(root.post(&wrong, &[]).await.status, 404, "{wrong}");
        assert_eq!(server.sign_in("eve").await.submit(&form).await.status, 403);
        assert_eq!(root.submit(&form).await.status, 303, "{part}");
        assert_eq!(root.submit(&form).await.status, 404, "{part}");
    }
    assert_eq!(browser.viewer().await, None);
    assert_eq!(ada.get("/user").await.status, 401);
    let page = root.get(&address).await;
    assert_eq!(page.attributes(&format!("form[action^='{address}/keys/']"), "action"), [""; 0]);
    assert!(page.texts("tbody tr").iter().any(|row| row.contains("ended")), "{}", page.text);
}

#[tokio::test]
async fn a_user_is_deleted_after_the_username_was_typed() {
    let (server, root, id, ada) = instance().await;
    server.project(&ada, "engine", 0).await;
    let address = format!("/admin/users/{id}");
    let page = root.get(&address).await;
    assert!(page.text.contains("1 project in its namespace"), "{}", page.text);
    let form = page.form(&format!("form[action='{address}/delete']"));
    let before = server.dump_database().await;
    for wrong in ["", "ADA", "root"] {
        let page = root.submit(&form.clone().set("confirm_username", wrong)).await;
        assert_eq!(violations(&page), ["Username of the user is not the one of this user"]);
    }
    let browser = server.sign_in("ada").await;
    assert_eq!(browser.submit(&form.clone().set("confirm_username", "ada")).await.status, 403);
    let mut after = server.dump_database().await;
    for table in ["browser_sessions", "users"] {
        after[table] = before[table].clone();
    }
    assert_eq!(after, before);
    let response = root.submit(&form.set("confirm_username", "ada")).await;
    assert_eq!((response.status, response.location()), (303, Some("/admin/users")), "{}", response.text);
    assert_eq!(root.get(&address).await.status, 404);
    assert_eq!(server.admin.get(&format!("/users/{id}")).await.status, 404);
}

#[tokio::test]
async fn the_only_owner_of_a_group_is_not_deleted() {
    let (server, root, id, ada) = instance().await;
    let group = server.group(&ada, "harbour", 0).await;
    let address = format!("/admin/users/{id}");
    let page = root.get(&address).await;
    assert_eq!(page.attributes(&format!("form[action='{address}/delete']"), "action"), [""; 0]);
    assert_eq!(page.attributes(".danger-zone a", "href"), ["/groups/harbour"]);
    let response = root.post(&format!("{address}/delete"), &[("confirm_username", "ada")]).await;
    assert_eq!((response.status, response.location()), (303, Some(address.as_str())));
    let message = "The user was not deleted: there are groups that no other user owns.";
    assert_eq!(root.get(&address).await.texts("[role=status]"), [message]);
    assert_eq!(server.admin.get(&format!("/users/{id}")).await.status, 200);
    let eve = server.user("eve").await.0;
    add_member(&ada, &format!("/groups/{group}"), eve.get(), 50).await;
    let form = root.get(&address).await.form(&format!("form[action='{address}/delete']"));
    assert_eq!(root.submit(&form.set("confirm_username", "ada")).await.status, 303);
}

#[tokio::test]
async fn all_groups_and_projects_are_listed() {
    let (server, root, id, ada) = instance().await;
    let group = server.group(&ada, "harbour", 0).await;
    let project = server.project_in(&ada, "tidewatch", 0, Some(group)).await;
    server.project(&ada, "engine", 10).await;
    assert!(ada.post(&format!("/projects/{project}/archive"), &[]).await.status < 300);
    let page = root.get("/admin/groups").await;
    assert_eq!(page.texts("tbody a.who"), ["harbour"]);
    assert!(page.attributes("tbody a", "href").contains(&format!("/admin/users/{id}")));
    assert_eq!(root.get("/admin/groups?search=nothing").await.texts(".empty h2"), ["No groups match"]);
    let found = async |query: &str| {
        let mut found = root.get(&format!("/admin/projects{query}")).await.texts("tbody a.who");
        found.sort();
        found
    };
    assert_eq!(found("").await, ["ada/engine", "harbour/tidewatch"]);
    assert_eq!(found("?search=tide").await, ["harbour/tidewatch"]);
    assert_eq!(found("?visibility=internal").await, ["ada/engine"]);
    assert_eq!(found("?archived=yes").await, ["harbour/tidewatch"]);
    assert_eq!(found("?archived=no").await, ["ada/engine"]);
    let links = root.get("/admin/projects?search=tide").await.attributes("tbody a", "href");
    for link in ["/harbour/tidewatch", "/groups/harbour", "/harbour/tidewatch/settings/general"] {
        assert!(links.contains(&link.to_owned()), "{links:?}");
        assert_eq!(root.get(link).await.status, 200, "{link}");
    }
}

#[tokio::test]
async fn the_maintenance_of_a_repository_is_requested() {
    let (server, root, _, ada) = instance().await;
    let project = server.project(&ada, "engine", 0).await;
    server.push_first(&ada, "ada/engine").await;
    server.run_jobs().await;
    let address = format!("/admin/projects/{project}/maintain");
    let form = root.get("/admin/projects").await.form(&format!("form[action='{address}']"));
    let count = async || {
        let query = "select count(*) from graphile_worker.jobs where key like 'maintain-%'";
        sqlx::query_scalar::<_, i64>(query).fetch_one(&mut server.database().await).await.unwrap()
    };
    assert_eq!(server.sign_in("ada").await.submit(&form).await.status, 403);
    assert_eq!(count().await, 0);
    for _ in 0..2 {
        let response = root.submit(&form).await;
        assert_eq!((response.status, response.location()), (303, Some("/admin/projects")));
        assert_eq!(count().await, 1);
    }
    server.run_jobs().await;
    assert_eq!(count().await, 0);
    assert_eq!(root.post("/admin/projects/999999/maintain", &[]).await.status, 404);
}

#[tokio::test]
async fn failed_jobs_are_shown_and_retried() {
    let (server, root, _, ada) = instance().await;
    let project = server.project(&ada, "engine", 0).await;
    assert_eq!(root.get("/admin/jobs").await.texts(".empty h2"), ["No jobs"]);
    assert_eq!(root.get("/admin").await.texts(".head .state"), ["nothing needs attention"]);
    assert!(ada.delete(&format!("/projects/{project}")).await.status < 300);
    let mut database = server.database().await;
    let row = sqlx::query("select id from jobs").fetch_one(&mut database).await.unwrap();
    let job: i64 = row.get(0);
    sqlx::query("update graphile_worker._private_jobs set attempts = max_attempts, last_error = 'the <disk> is full'")
        .execute(&mut database)
        .await
        .unwrap();
    let page = root.get("/admin/jobs").await;
    assert_eq!(page.texts("tbody .state"), ["failed"]);
    assert!(page.texts("tbody tr")[0].contains("the <disk> is full"), "{}", page.text);
    assert!(page.texts("tbody tr")[0].contains("project ada/engine"), "{}", page.text);
    let overview = root.get("/admin").await;
    assert_eq!(overview.texts("[aria-labelledby=attention] .title"), ["1 job failed"]);
    let form = page.form(&format!("form[action='/admin/jobs/{job}/retry']"));
    assert_eq!(server.sign_in("ada").await.submit(&form).await.status, 403);
    assert_eq!(root.submit(&form).await.status, 303);
    assert_eq!(root.get("/admin/jobs").await.texts("[role=status]"), ["The job will run again now."]);
    server.run_jobs().await;
    let page = root.get("/admin/jobs").await;
    assert_eq!(page.texts("tbody .state"), ["finished"]);
    assert_eq!(page.attributes("tbody form", "action"), [""; 0]);
    // The job has finished since the page with the form was loaded.
    assert_eq!(root.submit(&form).await.status, 303);
    let message = "The job has finished or does not exist any more.";
    assert_eq!(root.get("/admin/jobs").await.texts("[role=status]"), [message]);
}

#[tokio::test]
async fn the_storage_of_a_small_instance_is_exact() {
    let (server, root, _, ada) = instance().await;
    let project = server.project(&ada, "engine", 0).await;
    let kinds = ["Packs", "Uploads", "Traces", "Artifacts"];
    let rows = async || {
        let page = root.get("/admin/storage").await;
        assert_eq!(page.status, 200, "{}", page.text);
        (page.texts("[aria-labelledby=stored] tbody td.nums"), page.texts("[aria-labelledby=stored] tbody .state"))
    };
    let (numbers, precision) = rows().await;
    assert_eq!((numbers[0].as_str(), numbers[2].as_str()), ("0", "0"));
    assert_eq!(precision, ["exact"; 4]);
    server.push_first(&ada, "ada/engine").await;
    crate::uploads::upload(&ada, project, "a.txt", b"hello").await;
    let (numbers, _) = rows().await;
    assert_eq!(numbers.len(), 2 * kinds.len());
    assert_ne!(numbers[0], "0");
    assert_eq!((numbers[2].as_str(), numbers[3].as_str()), ("1", "5 bytes"));
    let page = root.get("/admin/storage").await;
    assert!(page.texts("[aria-labelledby=large-packs] a.who").contains(&"ada/engine".to_owned()));
    assert!(page.texts("[aria-labelledby=unreferenced] p")[0].starts_with("There are none."));
}

#[tokio::test]
async fn settings_are_shown_with_their_source_and_without_secrets() {
    let (_server, root, _, _) = instance().await;
    let page = root.get("/admin/settings").await;
    assert_eq!(page.texts("h2"), ["[accounts]", "[database]", "[encryption]"]);
    let cells = page.texts("tbody td");
    assert_eq!(cells[..3], ["projects_limit", "100", "file"]);
    assert_eq!(cells[3..], ["url", "set", "environment", "key", "not set", "default"]);
}

#[tokio::test]
async fn the_overview_has_figures_and_the_events_of_a_day() {
    let (server, root, _, ada) = instance().await;
    server.project(&ada, "engine", 0).await;
    let page = root.get("/admin").await;
    let figures = page.texts("dl.facts dd");
    assert_eq!(figures[..3], ["2", "0", "1"]);
    let sentence = page.attributes("svg.plot", "aria-label").remove(0);
    assert!(sentence.contains("in the last 24 hours"), "{sentence}");
    let numbers = |page: &PageResponse| {
        let cells = page.texts("details tbody td.nums");
        cells.iter().map(|cell| cell.parse::<i64>().unwrap()).collect::<Vec<_>>()
    };
    let hours = numbers(&page);
    assert_eq!(hours.len(), 24);
    assert!(hours[23] > 0 && hours[..23].iter().all(|events| *events == 0), "{hours:?}");
    server.advance(TimeDelta::hours(2));
    let root = server.sign_in("root").await;
    let later = numbers(&root.get("/admin").await);
    assert_eq!((later[21], later[23]), (hours[23], 0));
    server.advance(TimeDelta::hours(24));
    let root = server.sign_in("root").await;
    assert!(numbers(&root.get("/admin").await).iter().all(|events| *events == 0));
}
