//! Mass assignment (Gogs GHSA-4565-r4x7-hg8j, GHSA-268j-37xf-pp52): undeclared attributes in a request, such as
//! columns, counters, owners and flags, have no effect.

use std::collections::BTreeSet;

use holdfast_http::Route;
use holdfast_tests::{Server, TestResponse, database};
use serde_json::{Value, json};

use super::fixtures::AccessFixture;
use super::table::{Entry, ROLES};
use super::{all_entries, all_routes, route_name};
use crate::projects::add_member;

/// Names of columns, of response attributes, and of parameters of other routes.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("id", "424242"),
    ("iid", "424242"),
    ("project_id", "1"),
    ("user_id", "1"),
    ("owner_id", "1"),
    ("creator_id", "1"),
    ("author_id", "1"),
    ("assignee_id", "1"),
    ("namespace_id", "1"),
    ("group_id", "1"),
    ("runner_id", "1"),
    ("pipeline_id", "424242"),
    ("build_id", "424242"),
    ("issue_id", "424242"),
    ("note_id", "424242"),
    ("hook_id", "424242"),
    ("label_id", "424242"),
    ("milestone_id", "424242"),
    ("moved_to_id", "424242"),
    ("forked_from_id", "1"),
    ("network_id", "1"),
    ("job_id", "424242"),
    ("owner", "root"),
    ("owner[id]", "1"),
    ("author[id]", "1"),
    ("project[namespace_id]", "1"),
    ("namespace[id]", "1"),
    ("user[admin]", "true"),
    ("username", "canary-username"),
    ("email", "canary@example.com"),
    ("star_count", "4242"),
    ("forks_count", "4242"),
    ("open_issues_count", "4242"),
    ("notes_count", "4242"),
    ("projects_limit", "4242"),
    ("generation", "4242"),
    ("runners_token", "canary-runners-token"),
    ("token", "canary-token"),
    ("token_digest", "canary-digest"),
    ("digest", "canary-digest"),
    ("sealed_token", "canary-sealed"),
    ("password", "canary-password"),
    ("password_hash", "canary-hash"),
    ("fingerprint", "canary-fingerprint"),
    ("public_id", "4a4a4a4a-4a4a-4a4a-4a4a-4a4a4a4a4a4a"),
    ("scopes", "api,sudo"),
    ("created_at", "1999-01-01T00:00:00Z"),
    ("updated_at", "1999-01-01T00:00:00Z"),
    ("last_activity_at", "1999-01-01T00:00:00Z"),
    ("last_used", "1999-01-01T00:00:00Z"),
    ("contacted_at", "1999-01-01T00:00:00Z"),
    ("confirmed_at", "1999-01-01T00:00:00Z"),
    ("started_at", "1999-01-01T00:00:00Z"),
    ("finished_at", "1999-01-01T00:00:00Z"),
    ("failing_since", "1999-01-01T00:00:00Z"),
    ("paused_at", "1999-01-01T00:00:00Z"),
    ("expires_at", "2999-01-01"),
    ("admin", "true"),
    ("is_admin", "true"),
    ("external", "false"),
    ("can_create_group", "true"),
    ("shared", "true"),
    ("is_shared", "true"),
    ("active", "false"),
    ("locked", "true"),
    ("archived", "true"),
    ("system", "true"),
    ("confidential", "true"),
    ("is_primary", "true"),
    ("protected", "false"),
    ("developers_can_push", "true"),
    ("public", "true"),
    ("visibility", "public"),
    ("visibility_level", "20"),
    ("max_visibility_level", "20"),
    ("access_level", "50"),
    ("kind", "user"),
    ("state", "closed"),
    ("status", "success"),
    ("via", "canary-via"),
    ("default_branch", "topic"),
    ("path", "canary-path"),
];

/// Returns the attributes that neither the route declares nor the entry sends.
fn undeclared(route: &Route, entry: &Entry) -> Vec<(&'static str, &'static str)> {
    let outer = |name: &str| name.split('[').next().unwrap_or_default().to_owned();
    let is_known = |name: &str| {
        route.params.iter().any(|param| param.name == outer(name)) || entry.form.iter().any(|(it, _)| *it == name)
    };
    ATTRIBUTES.iter().filter(|(name, _)| !is_known(name)).copied().collect()
}

/// Returns whether `seen` differs from `first` in a value that is the same in `first` and `second`.
fn differs(first: &Value, second: &Value, seen: &Value) -> bool {
    match (first, second, seen) {
        (Value::Object(first), Value::Object(second), Value::Object(seen)) => {
            first.len() != seen.len()
                || first.iter().any(|(key, value)| {
                    let (second, seen) = (second.get(key), seen.get(key));
                    second.zip(seen).is_none_or(|(second, seen)| differs(value, second, seen))
                })
        }
        (Value::Array(first), Value::Array(second), Value::Array(seen)) => {
            first.len() != seen.len()
                || second.len() != seen.len()
                || first.iter().zip(second).zip(seen).any(|((first, second), seen)| differs(first, second, seen))
        }
        _ => first == second && first != seen,
    }
}

/// Returns the tables that differ, with their rows.
fn different_tables(first: &Value, second: &Value, seen: &Value) -> Vec<String> {
    let tables = first.as_object().unwrap().iter();
    let different = tables.filter(|(table, rows)| differs(rows, &second[table.as_str()], &seen[table.as_str()]));
    different.map(|(table, rows)| format!("{table}:\n  {rows}\n  {}", seen[table.as_str()])).collect()
}

/// Sends a request, and returns the response and the contents of the database after it.
async fn effect(
    fixture: &mut AccessFixture,
    sequences: &str,
    entry: &Entry,
    role: &str,
    more: &[(&str, &str)],
) -> (TestResponse, Value) {
    use sqlx::Executor;
    let answer = fixture.send_with(entry, role, more).await;
    let contents = database::dump(&mut fixture.database).await;
    fixture.restore().await;
    let statement = sqlx::QueryBuilder::<sqlx::Postgres>::new(sequences);
    fixture.database.execute(statement.into_sql()).await.unwrap();
    (answer, contents)
}

/// Sends every request that changes something, as the highest role below administrator that may send it, with and
/// without the attributes, and compares responses and database. The request is sent twice without them first, to find
/// the values that the server generates anew each time.
#[tokio::test]
async fn undeclared_attributes_are_ignored() {
    let server = Server::start().await;
    let mut fixture = AccessFixture::new(&server).await;
    // Sequences are reset, so that new rows get the same ids each time.
    let sequences: String = sqlx::query_scalar(
        "select string_agg(format('select setval(%L, %s, %L)', schemaname || '.' || sequencename,
           coalesce(last_value, start_value), last_value is not null), ';')
         from pg_sequences where schemaname = 'public'",
    )
    .fetch_one(&mut fixture.database)
    .await
    .unwrap();
    let routes = all_routes();
    let (mut wrong, mut uncovered) = (Vec::new(), BTreeSet::new());
    let mut count = 0;
    for route in routes.iter().filter(|route| ["POST", "PUT", "PATCH"].contains(&route.method.as_str())) {
        let find = |role: &str| {
            let place = ROLES.iter().position(|it| *it == role).unwrap();
            let succeeds = |entry: &&Entry| entry.expected.split(' ').nth(place).unwrap().starts_with('2');
            all_entries()
                .filter(|entry| entry.route == route_name(route))
                .find(succeeds)
                .map(|entry| (entry, role.to_owned()))
        };
        let Some((entry, role)) = ["owner", "ordinary", "administrator"].into_iter().find_map(find) else {
            uncovered.insert(route_name(route));
            continue;
        };
        let more = undeclared(route, entry);
        assert!(more.len() > 60, "{}: {}", entry.route, more.len());
        // The request with more attributes is between the others: a value that follows the clock and is the same in both of
        // them is the same in it, too.
        let (first, after_first) = effect(&mut fixture, &sequences, entry, &role, &[]).await;
        let (seen, after) = effect(&mut fixture, &sequences, entry, &role, &more).await;
        let (second, after_second) = effect(&mut fixture, &sequences, entry, &role, &[]).await;
        count += 1;
        let place = format!("{} as {role}", entry.route);
        assert_eq!(first.status, second.status, "{place}: {}", second.text);
        if seen.status != first.status || differs(&first.body, &second.body, &seen.body) {
            wrong.push(format!("{place}: {} {}\ninstead of {} {}", seen.status, seen.text, first.status, first.text));
        }
        for table in different_tables(&after_first, &after_second, &after) {
            wrong.push(format!("{place}: {table}"));
        }
        if seen.text.contains("canary") || after.to_string().contains("canary") {
            wrong.push(format!("{place}: an attribute was taken: {}", seen.text));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} routes:\n{}", wrong.len(), wrong.join("\n"));
    // No entry of the table signs in successfully.
    // These change nothing in the fixture.
    let unchanged = [
        "POST /session",
        "POST /api/v4/projects/:id/labels/:label_id/unsubscribe",
        "POST /api/v4/projects/:id/unstar",
        "POST /api/v4/todos/:id/mark_as_done",
        "PUT /api/v4/projects/:id/merge_requests/:merge_request_iid/discussions/:discussion_id/notes/:note_id",
    ];
    let unchanged = unchanged.map(str::to_owned);
    assert_eq!(uncovered, BTreeSet::from(unchanged));
    println!("{count} routes");
}

/// Sends declared attributes as users who are not authorized to set them: creation time, owner, and labels.
#[tokio::test]
async fn restricted_attributes_are_accepted_only_from_authorized_users() {
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    let (guest_id, guest) = server.user("guest").await;
    let (developer_id, developer) = server.user("developer").await;
    let project = server.project(&ada, "p", 0).await;
    let path = format!("/projects/{project}");
    add_member(&ada, &path, guest_id.get(), 10).await;
    add_member(&ada, &path, developer_id.get(), 30).await;
    assert_eq!(ada.post(&format!("{path}/milestones"), &[("title", "m")]).await.status, 201);
    assert_eq!(ada.post(&format!("{path}/labels"), &[("name", "bug"), ("color", "#123456")]).await.status, 200);
    let (ada_id, old) = (ada_id.to_string(), "1999-01-01T00:00:00.000Z");
    let managed = [("labels", "bug"), ("milestone_id", "1"), ("assignee_id", &*ada_id)];
    let create = [&[("title", "t"), ("created_at", old)][..], &managed].concat();
    let update = [&[("title", "u"), ("updated_at", old)][..], &managed].concat();
    for (client, manages, owns) in [(&guest, false, false), (&developer, true, false), (&ada, true, true)] {
        let made = client.post(&format!("{path}/issues"), &create).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let one = format!("{path}/issues/{}", made.body["id"]);
        let changed = client.put(&one, &update).await;
        assert_eq!(changed.status, 200, "{}", changed.text);
        for issue in [&made.body, &changed.body] {
            assert_eq!(issue["labels"], if manages { json!(["bug"]) } else { json!([]) }, "{issue}");
            assert_eq!(issue["milestone"].is_object(), manages, "{issue}");
            assert_eq!(issue["assignee"].is_object(), manages, "{issue}");
            assert_eq!(issue["created_at"] == old, owns, "{issue}");
        }
        assert_eq!(changed.body["updated_at"] == old, owns, "{}", changed.text);
        let note = client.post(&format!("{one}/notes"), &[("body", "b"), ("created_at", old)]).await;
        assert_eq!((note.status, note.body["created_at"] == old), (201, owns), "{}", note.text);
    }
    // A namespace may be chosen only by users who can create projects in it.
    let namespace = ada.get(&path).await.body["namespace"]["id"].to_string();
    let before = server.dump_database().await;
    let unknown = guest.post("/projects", &[("name", "mine"), ("namespace_id", "424242")]).await;
    let refused = guest.post("/projects", &[("name", "mine"), ("namespace_id", &namespace)]).await;
    assert!(refused.status >= 400, "{}", refused.text);
    assert_eq!(refused.status_and_body(), unknown.status_and_body());
    assert_eq!(server.dump_database().await, before);
}
