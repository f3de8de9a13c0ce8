//! Checks all responses of the access table for contents that they must not have and headers that they must have.

use std::collections::BTreeSet;

use holdfast_tests::{Server, database};

use super::fixtures::AccessFixture;
use super::table::ROLES;
use super::{all_entries, all_routes, route_name};
use crate::responses::assert_protected;

/// With the registration token of a project, anybody can register a runner and gets the project's builds with all their
/// variables. Only those who manage the project see it, and only in the response for a single project: lists never
/// contain it.
#[tokio::test]
async fn registration_tokens_are_shown_only_to_masters_and_in_no_list() {
    let server = Server::start().await;
    let mut fixture = AccessFixture::new(&server).await;
    let tokens: Vec<String> = sqlx::query_scalar(
        "select runners_token from projects union all select token from runner_registration where token <> ''",
    )
    .fetch_all(&mut fixture.database)
    .await
    .unwrap();
    assert!(tokens.len() >= 5 && tokens.iter().all(|token| token.len() >= 16), "{}", tokens.len());
    let before = database::dump(&mut fixture.database).await;
    let (mut wrong, mut shown, mut count) = (Vec::new(), BTreeSet::new(), 0);
    for entry in all_entries() {
        let reads = entry.route.starts_with("GET ");
        for (role, expected) in ROLES.iter().zip(entry.expected.split(' ')) {
            // Changes are sent only as the highest role that may not see the token.
            if !reads && *role != "developer" {
                continue;
            }
            let answer = fixture.send(entry, role).await;
            count += 1;
            assert_protected(&format!("{} {} as {role}", entry.route, entry.path), &answer.headers);
            if tokens.iter().any(|token| answer.text.contains(token)) {
                shown.insert(format!("{} as {role}", entry.route));
            }
            if answer.text.contains("runners_token") && !tokens.iter().any(|token| answer.text.contains(token)) {
                // The request created a project that the current user owns.
                let is_own = [
                    "POST /projects",
                    "POST /projects/fork/:id",
                    "POST /api/v4/projects",
                    "POST /api/v4/projects/:id/fork",
                ]
                .contains(&entry.route);
                assert!(is_own, "{} {} as {role}: {}", entry.route, entry.path, answer.text);
            }
            if answer.status.to_string() != expected {
                wrong
                    .push(format!("{} {} as {role}: {} instead of {expected}", entry.route, entry.path, answer.status));
            }
            if !reads && answer.status < 400 || entry.route == "GET /hooks/:id" {
                fixture.restore().await;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let routes = ["GET /projects/:id", "GET /api/v4/projects/:id"];
    let allowed = routes.map(|route| ["master", "owner", "administrator"].map(|role| format!("{route} as {role}")));
    assert_eq!(shown, allowed.into_iter().flatten().collect());
    fixture.restore().await;
    assert_eq!(database::dump(&mut fixture.database).await, before);
    let covered: BTreeSet<&str> = all_entries().map(|entry| entry.route).collect();
    assert!(all_routes().iter().all(|route| covered.contains(route_name(route).as_str())));
    println!("{count} responses");
}
