//! Lists of projects, compared with a simple model of visibility.

use std::collections::BTreeSet;

use holdfast_app::accounts::user::UserChanges;
use holdfast_tests::{Client, Server, user_attributes};
use serde_json::{Value, json};
use sqlx::PgConnection;

/// A few hundred rows with all relevant combinations: every visibility, archived or not, in namespaces of users and
/// groups, with every kind of membership, some expired, shared, starred, deleted.
const FIXTURE_SQL: &str = "
    insert into namespaces (kind, path, name, visibility_level, created_at, updated_at)
    select 'group', 'g' || n, 'g' || n, 20, now(), now() from generate_series(1, 20) n;
    insert into group_members (group_id, user_id, access_level, expires_at, created_at)
    select g.id, u.id, (array[10, 30, 50])[1 + floor(random() * 3)::int],
      case when random() < 0.3 then date '2026-01-01' + (random() * 3)::int end, now()
    from namespaces g cross join users u where g.kind = 'group' and random() < 0.25;
    insert into projects (namespace_id, creator_id, name, path, description, visibility_level, archived, issues_enabled,
      merge_requests_enabled, wiki_enabled, builds_enabled, snippets_enabled, container_registry_enabled,
      shared_runners_enabled, public_builds, lfs_enabled, request_access_enabled, only_allow_merge_if_build_succeeds,
      only_allow_merge_if_all_discussions_are_resolved, runners_token, created_at, updated_at, last_activity_at)
    select (select id from namespaces where n > 0 order by random() limit 1), 1, 'n' || md5(random()::text), 'p' || n,
      case when n % 7 = 0 then 'needle ' || n end, (array[0, 10, 20])[1 + floor(random() * 3)::int], random() < 0.2,
      true, true, true, random() < 0.5, true, true, true, true, true, true, false, false, '',
      date '2026-01-01' + (random() * 20)::int, date '2026-01-01' + (random() * 20)::int,
      date '2026-01-01' + (random() * 20)::int
    from generate_series(1, 300) n;
    insert into project_members (project_id, user_id, access_level, expires_at, created_at)
    select p.id, u.id, 30, case when random() < 0.3 then date '2026-01-01' + (random() * 3)::int end, now()
    from projects p cross join users u where random() < 0.05;
    insert into project_shares (project_id, group_id, access_level, expires_at, created_at)
    select p.id, g.id, 30, case when random() < 0.3 then date '2026-01-01' + (random() * 3)::int end, now()
    from projects p cross join namespaces g where g.kind = 'group' and g.id <> p.namespace_id and random() < 0.01;
    insert into stars (user_id, project_id, created_at)
    select u.id, p.id, now() from projects p cross join users u where random() < 0.2;
    insert into repositories (project_id, network_id, created_at) select id, id, created_at from projects;
    insert into jobs (id, task, subject, total, requested_at) values (1000, 'x', 'x', 1, now());
    update projects set namespace_id = null, removal_id = 1000 where random() < 0.05;
    analyze;
";

/// The model: one row for each pair of user and project.
const MODEL_SQL: &str = "
    select p.id, p.visibility_level, p.archived, p.builds_enabled, p.namespace_id, p.name, p.path,
      to_char(p.created_at, 'YYYY-MM-DD') as created_at, to_char(p.updated_at, 'YYYY-MM-DD') as updated_at,
      to_char(p.last_activity_at, 'YYYY-MM-DD') as last_activity_at,
      coalesce(p.description, '') like '%needle%' as has_needle,
      n.owner_id is not distinct from (select id from reader)
        or exists (select from group_members m where m.group_id = p.namespace_id and m.user_id = (select id from reader)
             and m.access_level = 50 and coalesce(m.expires_at > '2026-01-02', true)) as owned,
      n.owner_id is not distinct from (select id from reader)
        or exists (select from group_members m where m.group_id = p.namespace_id and m.user_id = (select id from reader)
             and coalesce(m.expires_at > '2026-01-02', true))
        or exists (select from project_members m where m.project_id = p.id and m.user_id = (select id from reader)
             and coalesce(m.expires_at > '2026-01-02', true))
        or exists (select from project_shares s join group_members m on m.group_id = s.group_id
             where s.project_id = p.id and m.user_id = (select id from reader) and coalesce(m.expires_at > '2026-01-02', true)
             and coalesce(s.expires_at > '2026-01-02', true)) as member,
      exists (select from stars s where s.project_id = p.id and s.user_id = (select id from reader)) as starred,
      array(select s.group_id from project_shares s where s.project_id = p.id
             and coalesce(s.expires_at > '2026-01-02', true)) as shared_with
    from projects p join namespaces n on n.id = p.namespace_id";

async fn model(database: &mut PgConnection, user: Option<i64>) -> Vec<Value> {
    let mut query = sqlx::QueryBuilder::<sqlx::Postgres>::new("with reader as (select ");
    query.push_bind(user).push("::bigint as id) select to_jsonb(m) from (").push(MODEL_SQL).push(") m order by id");
    query.build_query_scalar().fetch_all(database).await.unwrap()
}

/// Returns the ids of all pages of a list.
async fn list_all(client: &Client, path: &str, query: &str) -> Vec<i64> {
    let mut ids = Vec::new();
    for page in 1.. {
        let answer = client.get(&format!("{path}?per_page=7&page={page}&{query}")).await;
        assert_eq!(answer.status, 200, "{path}?{query}: {}", answer.text);
        ids.extend(answer.ids());
        if answer.header("x-next-page") == Some("") {
            assert_eq!(answer.header("x-total"), Some(&*ids.len().to_string()), "{path}?{query}");
            break;
        }
    }
    ids
}

#[tokio::test]
async fn every_list_shows_exactly_the_visible_projects() {
    let seed = std::env::var("LISTS_SEED").unwrap_or_else(|_| format!("0.{}", std::process::id()));
    println!("LISTS_SEED={seed}");
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let (eve_id, eve) = server.user_with(UserChanges { external: Some(true), ..user_attributes("eve") }).await;
    let mut database = server.database().await;
    sqlx::query("select setseed($1)").bind(seed.parse::<f64>().unwrap()).execute(&mut database).await.unwrap();
    sqlx::raw_sql(FIXTURE_SQL).execute(&mut database).await.unwrap();
    let callers = [
        (Some(ada_id.get()), &ada, 10),
        (Some(bob_id.get()), &bob, 10),
        (Some(eve_id.get()), &eve, 20),
        (Some(1), &server.admin, 10),
    ];
    let mut compared = 0;
    for (user, client, sees) in callers {
        let rows = model(&mut database, user).await;
        let is_admin = user == Some(1);
        let visible = |row: &Value| row["member"] == true || row["visibility_level"].as_i64().unwrap() >= sees;
        let mut lists: Vec<(String, Vec<&Value>)> = vec![
            ("/projects".into(), rows.iter().filter(|row| row["member"] == true).collect()),
            ("/projects/visible".into(), rows.iter().filter(|row| visible(row)).collect()),
            ("/projects/owned".into(), rows.iter().filter(|row| row["owned"] == true).collect()),
            ("/projects/starred".into(), rows.iter().filter(|row| row["starred"] == true && visible(row)).collect()),
        ];
        if is_admin {
            lists.push(("/projects/all".into(), rows.iter().collect()));
        }
        let groups: BTreeSet<i64> =
            rows.iter().filter_map(|row| row["namespace_id"].as_i64()).filter(|id| *id > 4).collect();
        for group in groups.into_iter().take(4) {
            let of_group = |row: &&Value| {
                let is_in =
                    row["namespace_id"] == group || row["shared_with"].as_array().unwrap().contains(&json!(group));
                is_in && (is_admin || visible(row))
            };
            lists.push((format!("/groups/{group}/projects"), rows.iter().filter(of_group).collect()));
        }
        for (path, rows) in lists {
            let mut expected: Vec<i64> = rows.iter().map(|row| row["id"].as_i64().unwrap()).collect();
            expected.sort_unstable();
            let mut got = list_all(client, &path, "").await;
            got.sort_unstable();
            assert_eq!(got, expected, "{path} of {user:?}, LISTS_SEED={seed}");
            compared += 1;
            for (filter, keep) in filters() {
                let expected: BTreeSet<i64> =
                    rows.iter().filter(|row| keep(row)).map(|row| row["id"].as_i64().unwrap()).collect();
                let got = list_all(client, &path, filter).await;
                assert_eq!(got.len(), expected.len(), "{path}?{filter} of {user:?}, LISTS_SEED={seed}");
                assert_eq!(BTreeSet::from_iter(got), expected, "{path}?{filter} of {user:?}, LISTS_SEED={seed}");
                compared += 1;
            }
            for key in ["id", "name", "path", "created_at", "updated_at", "last_activity_at"] {
                let mut expected = rows.clone();
                expected.sort_by_key(|row| (sort_key(row, key), row["id"].as_i64()));
                let mut expected: Vec<i64> = expected.iter().map(|row| row["id"].as_i64().unwrap()).collect();
                assert_eq!(
                    list_all(client, &path, &format!("order_by={key}&sort=asc")).await,
                    expected,
                    "{path} {key}"
                );
                expected.reverse();
                assert_eq!(list_all(client, &path, &format!("order_by={key}")).await, expected, "{path} {key}");
                compared += 2;
            }
        }
    }
    println!("{compared} lists compared");
    assert!(compared > 500, "only {compared}");
}

fn sort_key(row: &Value, key: &str) -> (Option<i64>, Option<String>) {
    (row[key].as_i64(), row[key].as_str().map(str::to_owned))
}

type Predicate = fn(&Value) -> bool;

fn filters() -> Vec<(&'static str, Predicate)> {
    vec![
        ("archived=true", |row| row["archived"] == true),
        ("archived=false", |row| row["archived"] == false),
        ("visibility=private", |row| row["visibility_level"] == 0),
        ("visibility=internal", |row| row["visibility_level"] == 10),
        ("visibility=public", |row| row["visibility_level"] == 20),
        ("visibility=public&archived=false&order_by=name", |row| {
            row["visibility_level"] == 20 && row["archived"] == false
        }),
        ("search=NEEDLE", |row| row["has_needle"] == true),
        ("search=needle&archived=true&sort=asc", |row| row["has_needle"] == true && row["archived"] == true),
        ("search=%25", |_| false),
    ]
}

#[tokio::test]
async fn group_lists_sort_ci_enabled_projects_first_on_request() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 20).await;
    let mut made = Vec::new();
    for (name, builds) in [("a", "true"), ("b", "false"), ("c", "true")] {
        let form = [("name", name), ("namespace_id", &*group.to_string()), ("builds_enabled", builds)];
        made.push(ada.post("/projects", &form).await.body["id"].as_i64().unwrap());
    }
    let [a, b, c] = made[..] else { panic!("three projects") };
    assert_eq!(ada.get("/groups/team/projects?order_by=name&sort=asc").await.ids(), [a, b, c]);
    assert_eq!(ada.get("/groups/team/projects?order_by=name&sort=asc&ci_enabled_first=true").await.ids(), [a, c, b]);
    assert_eq!(ada.get("/groups/team/projects?order_by=size").await.status, 400);
    assert_eq!(
        ada.get("/projects?visibility=secret").await.status_and_body(),
        (400, &json!({"error": "visibility does not have a valid value"}))
    );
}

/// The details of a group contain at most one page of its projects.
#[tokio::test]
async fn group_details_show_at_most_a_page_of_projects() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 20).await;
    let template = server.project_in(&ada, "p0", 20, Some(group)).await;
    sqlx::query(
        "insert into projects (namespace_id, creator_id, name, path, visibility_level, issues_enabled,
           merge_requests_enabled, wiki_enabled, builds_enabled, snippets_enabled, container_registry_enabled,
           shared_runners_enabled, public_builds, lfs_enabled, request_access_enabled,
           only_allow_merge_if_build_succeeds, only_allow_merge_if_all_discussions_are_resolved, runners_token,
           created_at, updated_at, last_activity_at)
         select namespace_id, 1, 'n' || n, 'n' || n, 20, true, true, true, true, true, true, true, true, true, true, false,
           false, '', created_at + n * interval '1 second', now(), now()
         from projects cross join generate_series(1, 149) n where id = $1",
    )
    .bind(template)
    .execute(&mut server.database().await)
    .await
    .unwrap();
    server.add_repositories().await;
    let detail = ada.get("/groups/team").await.body;
    let projects = detail["projects"].as_array().unwrap();
    assert_eq!((projects.len(), &projects[0]["name"]), (100, &json!("n149")), "the newest hundred");
    assert_eq!(list_all(&ada, "/groups/team/projects", "").await.len(), 150);
}

/// Totals beyond ten thousand are left out. This depends on the viewer alone.
#[tokio::test]
async fn totals_are_bounded_per_viewer() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    server.project(&ada, "first", 20).await;
    let mut database = server.database().await;
    let total = async |client: &Client, query: &str| {
        let answer = client.get(&format!("/projects/visible?{query}")).await;
        assert_eq!(answer.status, 200);
        answer.header("x-total").map(str::to_owned)
    };
    insert_projects(&mut database, 0).await;
    server.add_repositories().await;
    assert_eq!((total(&ada, "").await, total(&ada, "").await), (None, None));
    assert_eq!(total(&eve, "").await.as_deref(), Some("1"));
    assert_eq!(ada.get("/projects").await.header("x-total"), None);
    assert_eq!(ada.get("/projects/owned?page=600").await.header("x-next-page"), Some(""));
    insert_projects(&mut database, 20).await;
    server.add_repositories().await;
    assert_eq!((total(&eve, "").await, total(&eve, "visibility=public").await), (None, None));
    assert_eq!(total(&eve, "archived=true").await.as_deref(), Some("0"));
    assert_eq!(total(&eve, "visibility=internal").await.as_deref(), Some("0"));
    assert_eq!(total(&eve, "search=first").await.as_deref(), Some("1"));
    let last = eve.get("/projects/visible?page=501").await;
    assert_eq!((last.ids().len(), last.header("x-next-page"), last.header("x-total")), (2, Some(""), None));
}

/// Inserts ten thousand projects of this visibility into the first namespace that has one.
async fn insert_projects(database: &mut PgConnection, visibility: i16) {
    sqlx::query(
        "insert into projects (namespace_id, creator_id, name, path, visibility_level, issues_enabled,
           merge_requests_enabled, wiki_enabled, builds_enabled, snippets_enabled, container_registry_enabled,
           shared_runners_enabled, public_builds, lfs_enabled, request_access_enabled,
           only_allow_merge_if_build_succeeds, only_allow_merge_if_all_discussions_are_resolved, runners_token,
           created_at, updated_at, last_activity_at)
         select namespace_id, 1, 'v' || $1 || n, 'v' || $1 || n, $1, true, true, true, true, true, true, true, true, true,
           true, false, false, '', now(), now(), now()
         from (select namespace_id from projects order by id limit 1) p cross join generate_series(1, 10001) n",
    )
    .bind(visibility)
    .execute(database)
    .await
    .unwrap();
}
