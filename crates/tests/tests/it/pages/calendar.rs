//! The calendar of activity on the page of a user.

use holdfast_tests::{Client, Server};

async fn create_issue(client: &Client, project: i64) {
    let created = client.post(&format!("/projects/{project}/issues"), &[("title", "It leaks")]).await;
    assert_eq!(created.status, 201, "{}", created.text);
}

/// The calendar counts the events that the feed of the user lists for the same viewer.
#[tokio::test]
async fn the_calendar_counts_the_events_that_the_viewer_may_see() {
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let public = server.project(&ada, "open", 20).await;
    let private = server.project(&ada, "closed", 0).await;
    for project in [public, public, private] {
        create_issue(&ada, project).await;
    }
    let mut counts = Vec::new();
    for (role, client) in [("ada", &ada), ("eve", &eve), ("root", &server.admin)] {
        let listed = client.get(&format!("/users/{ada_id}/events")).await;
        let count = listed.body.as_array().map_or(0, Vec::len);
        let page = server.sign_in(role).await.get("/ada").await;
        let expected = format!("{count} events on 1 day since ");
        assert!(page.texts("#calendar p")[0].starts_with(&expected), "{role}: {expected}: {}", page.text);
        assert!(page.attributes("#calendar svg[role='img']", "aria-label")[0].starts_with(&expected), "{}", page.text);
        assert_eq!(page.texts("#calendar tbody td:last-child"), [count.to_string()], "{role}");
        counts.push(count);
    }
    assert!(counts[1] > 1 && counts[0] > counts[1] && counts[2] == counts[0], "{counts:?}");
    let page = server.sign_in("ada").await.get("/eve").await;
    assert_eq!(page.texts("#calendar p"), ["No activity that you can see in the last year."]);
}
