//! The users who have access to a project: its members, those of its group and of groups that it is shared with, and the
//! owner of its namespace.

use holdfast_tests::{Client, Server};
use serde_json::{Value, json};

use crate::projects::add_member;
use crate::query_plans::{explain_everything, read_plans};

/// Returns the ids of users and their levels, from pages of this size.
async fn read_pages(client: &Client, path: &str, size: usize) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    for number in 1.. {
        let page = client.get(&format!("{path}per_page={size}&page={number}")).await;
        assert_eq!(page.status, 200, "{}", page.text);
        let rows = page.body.as_array().unwrap();
        found.extend(rows.iter().map(|row| (row["id"].as_i64().unwrap(), row["access_level"].as_i64().unwrap())));
        if rows.len() < size {
            assert_eq!(page.header("x-total"), Some(&*found.len().to_string()), "{path}");
            break;
        }
    }
    found
}

/// Each user is listed once, with the highest level, whatever the size of the pages.
#[tokio::test]
async fn users_with_several_memberships_are_listed_once() {
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    let (bob, _) = server.user("bob").await;
    let (cyd, _) = server.user("cyd").await;
    let (dan, _) = server.user("dan").await;
    let (eve, _) = server.user("eve").await;
    let [ada_id, bob, cyd, dan, eve] = [ada_id, bob, cyd, dan, eve].map(|id| id.get());
    let team = server.group(&ada, "team", 0).await;
    let first = server.group(&ada, "first", 0).await;
    let second = server.group(&ada, "second", 0).await;
    let project = server.project_in(&ada, "p", 0, Some(team)).await;
    add_member(&ada, &format!("/projects/{project}"), cyd, 10).await;
    add_member(&ada, &format!("/groups/{team}"), cyd, 20).await;
    // The shares limit both to level 30. Eve has the higher level in the second group, Dan in the first.
    for (group, dan_level, eve_level) in [(first, 40, 10), (second, 20, 40)] {
        add_member(&ada, &format!("/groups/{group}"), dan, dan_level).await;
        add_member(&ada, &format!("/groups/{group}"), eve, eve_level).await;
        let form = [("group_id", &*group.to_string()), ("group_access", "30")];
        let shared = ada.post(&format!("/projects/{project}/share"), &form).await;
        assert_eq!(shared.status, 201, "{}", shared.text);
    }
    add_member(&ada, &format!("/groups/{second}"), bob, 30).await;

    let all = [(ada_id, 50), (bob, 30), (cyd, 20), (dan, 30), (eve, 30)];
    let path = format!("/api/v4/projects/{project}/members/all");
    for size in [1, 2, 3, 20] {
        assert_eq!(read_pages(&ada, &format!("{path}?"), size).await, all, "{size}");
        let filtered = format!("{path}?skip_users[]={cyd}&");
        let others: Vec<_> = all.into_iter().filter(|(id, _)| *id != cyd).collect();
        assert_eq!(read_pages(&ada, &filtered, size).await, others, "{size}");
        let selected = format!("{path}?user_ids[]={eve}&user_ids[]={bob}&");
        assert_eq!(read_pages(&ada, &selected, size).await, [(bob, 30), (eve, 30)], "{size}");
        assert_eq!(read_pages(&ada, &format!("{path}?query=user%20da&"), size).await, [(dan, 30)], "{size}");
    }
    for (id, level) in all {
        let one = ada.get(&format!("{path}/{id}")).await;
        assert_eq!((one.status, &one.body["access_level"]), (200, &json!(level)));
    }
    let users = ada.get(&format!("/api/v4/projects/{project}/users?search=cyd")).await;
    assert_eq!((users.status, users.ids()), (200, vec![cyd]));

    // The owner of a namespace has no membership.
    let own = server.project(&ada, "own", 0).await;
    let path = format!("/api/v4/projects/{own}/members/all");
    assert_eq!(read_pages(&ada, &format!("{path}?"), 20).await, [(ada_id, 50)]);
    assert_eq!(read_pages(&ada, &format!("{path}?query=ada&"), 20).await, [(ada_id, 50)]);
    assert_eq!(read_pages(&ada, &format!("{path}?query=bob&"), 20).await, []);
    assert_eq!(ada.get(&format!("{path}/{bob}")).await.status, 404);
}

/// The total is counted up to 10,000, and a page reads no more than its rows: a project in a group with many members is not
/// read whole.
#[tokio::test]
async fn groups_with_many_members_are_not_read_whole() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 0).await;
    let other = server.group(&ada, "other", 0).await;
    let project = server.project_in(&ada, "p", 0, Some(group)).await;
    let form = [("group_id", &*other.to_string()), ("group_access", "30")];
    assert_eq!(ada.post(&format!("/projects/{project}/share"), &form).await.status, 201);
    let insert_users = "insert into users (username, name, email, password_hash, can_create_group, projects_limit,
           created_at, updated_at)
         select 'u' || n, 'n', 'u' || n || '@example.com', '', true, 0, now(), now() from generate_series(1, 25000) n";
    let insert_members = "insert into group_members (group_id, user_id, access_level, created_at)
         select g, u.id, 20, now() from users u, unnest($1::bigint[]) g where u.id > 2";
    let mut database = server.database().await;
    sqlx::query(insert_users).execute(&mut database).await.unwrap();
    let inserted = sqlx::query(insert_members).bind(vec![group, other]).execute(&mut database).await.unwrap();
    assert_eq!(inserted.rows_affected(), 50_000);
    let log_rows =
        "do $$ begin execute format('alter database %I set auto_explain.log_analyze = on', current_database()); end $$";
    for statement in ["vacuum analyze", log_rows] {
        sqlx::raw_sql(statement).execute(&mut database).await.unwrap();
    }
    let name = explain_everything(&server).await;
    // Each connection of the pool that was closed costs one request.
    for _ in 0..5 {
        ada.get("/user").await;
    }
    for path in ["members/all", "users"] {
        let page = ada.get(&format!("/api/v4/projects/{project}/{path}?per_page=2")).await;
        assert_eq!((page.status, page.ids()), (200, vec![2, 3]), "{}", page.text);
        assert_eq!((page.header("x-total"), page.header("x-next-page")), (None, Some("2")));
    }

    let mut read = Vec::new();
    for plan in read_plans(&name) {
        if plan["Query Text"].as_str().is_some_and(|text| text.contains("project_shares s cross join lateral")) {
            find_member_scans(&plan["Plan"], &mut read);
        }
    }
    assert!(read.len() >= 8, "two lists read two groups for the page and for the total: {read:?}");
    assert!(read.iter().all(|rows| *rows <= 10_001.0), "{read:?}");
    assert!(read.iter().filter(|rows| **rows <= 3.0).count() >= 4, "pages are read whole: {read:?}");
}

/// Finds how many rows each scan of memberships in groups returned.
fn find_member_scans(node: &Value, found: &mut Vec<f64>) {
    if node["Relation Name"] == "group_members" {
        found.extend(node["Actual Rows"].as_f64().zip(node["Actual Loops"].as_f64()).map(|(rows, loops)| rows * loops));
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        find_member_scans(child, found);
    }
}
