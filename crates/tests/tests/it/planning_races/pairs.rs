//! Conflicting concurrent requests: one of them deletes or hides what the others use.

use holdfast_tests::Client;

use super::RaceFixture;
use crate::issue_counters::assert_consistent;
use crate::projects::add_member;

type Request = (Client, &'static str, String, Vec<(&'static str, String)>);

/// Sends requests concurrently, and checks that none of them is a server error.
async fn run_concurrently(requests: Vec<Request>) {
    let send = |(client, method, path, form): Request| {
        tokio::spawn(async move {
            let answer = client.send(client.request(method, &path).form(&form)).await;
            assert!(
                [200, 201, 400, 404].contains(&answer.status),
                "{method} {path}: {} {}",
                answer.status,
                answer.text
            );
        })
    };
    for task in requests.into_iter().map(send).collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

/// Notes are added to an issue while it becomes confidential: their events must be confidential as well.
#[tokio::test(flavor = "multi_thread")]
async fn notes_become_confidential_with_their_issue() {
    let fixture = RaceFixture::new().await;
    for _ in 0..30 {
        let issues = format!("/projects/{}/issues", fixture.projects[0]);
        let issue = fixture.clients[0].post(&issues, &[("title", "t")]).await.body["id"].clone();
        let request = |(number, client): (usize, &Client)| -> Request {
            match number {
                4 => (client.clone(), "PUT", format!("{issues}/{issue}"), vec![("confidential", "true".into())]),
                _ => (client.clone(), "POST", format!("{issues}/{issue}/notes"), vec![("body", "b".into())]),
            }
        };
        run_concurrently(fixture.clients.iter().take(8).enumerate().map(request).collect()).await;
    }
    assert_consistent(&mut fixture.server.database().await).await;
}

/// Creates an issue with notes, and returns its path and theirs.
async fn create_discussion(client: &Client, project: i64) -> (String, Vec<String>) {
    let path = format!("/projects/{project}/issues");
    let issue = client.post(&path, &[("title", "t"), ("labels", "l1")]).await.body["id"].clone();
    let path = format!("{path}/{issue}");
    let mut notes = Vec::new();
    for _ in 0..6 {
        let note = client.post(&format!("{path}/notes"), &[("body", "b")]).await.body["id"].clone();
        notes.push(format!("{path}/notes/{note}"));
    }
    (path, notes)
}

/// An issue and its notes are deleted while other requests update them.
#[tokio::test(flavor = "multi_thread")]
async fn concurrently_deleted_issues_leave_no_rows() {
    let fixture = RaceFixture::new().await;
    for round in 0..40 {
        let [here, there] = fixture.projects;
        let (issue, notes) = create_discussion(&fixture.clients[0], here).await;
        let mut clients = fixture.clients.iter().cycle().skip(round).cloned();
        let mut request = |method, path: String, form: &[(&'static str, &str)]| -> Request {
            let form = form.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            (clients.next().unwrap(), method, path, form)
        };
        let mut requests = vec![request("PUT", issue.clone(), &[("confidential", "true")])];
        requests.extend(notes.into_iter().map(|note| request("DELETE", note, &[])));
        requests.push(request("POST", format!("{issue}/notes"), &[("body", "late")]));
        requests.push(request("DELETE", issue.clone(), &[]));
        if round % 2 == 0 {
            requests.insert(0, request("POST", format!("{issue}/move"), &[("to_project_id", &there.to_string())]));
        }
        run_concurrently(requests).await;
    }
    assert_consistent(&mut fixture.server.database().await).await;
}

/// After a user is deleted, no row names the user as author, although concurrent requests change and move the user's
/// issues.
#[tokio::test(flavor = "multi_thread")]
async fn a_concurrently_deleted_user_authors_nothing_afterwards() {
    let fixture = RaceFixture::new().await;
    let mut database = fixture.server.database().await;
    for round in 0..6 {
        let (leaver, client) = fixture.server.user(&format!("leaver{round}")).await;
        add_member(&fixture.clients[0], "/groups/team", leaver.get(), 30).await;
        let mut requests: Vec<Request> = Vec::new();
        for (number, author) in [&client, &fixture.clients[0], &client, &fixture.clients[0]].into_iter().enumerate() {
            let [here, there] = if number < 2 { fixture.projects } else { [fixture.projects[1], fixture.projects[0]] };
            let (issue, _) = create_discussion(author, here).await;
            client.put(&issue, &[("assignee_id", &*leaver.to_string())]).await;
            let mut request = |method, path: String, form: &[(&'static str, &str)]| {
                let client = fixture.clients[requests.len() % fixture.clients.len()].clone();
                let form = form.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
                requests.push((client, method, path, form));
            };
            for _ in 0..3 {
                let note = client.post(&format!("{issue}/notes"), &[("body", "b")]).await.body["id"].clone();
                request("DELETE", format!("{issue}/notes/{note}"), &[]);
                request("POST", format!("{issue}/notes"), &[("body", "late")]);
            }
            request("PUT", issue.clone(), &[("confidential", "true")]);
            request("POST", format!("{issue}/move"), &[("to_project_id", &there.to_string())]);
            request("PUT", issue.clone(), &[("state_event", "reopen")]);
        }
        assert_eq!(fixture.server.admin.delete(&format!("/users/{leaver}")).await.status, 200);
        tokio::join!(fixture.server.run_jobs(), run_concurrently(requests));
        assert_consistent(&mut database).await;
        for left in [
            "select id from issues where author_id = $1",
            "select id from notes where author_id = $1",
            "select id from events where author_id = $1",
        ] {
            let left: Vec<i64> = sqlx::query_scalar(left).bind(leaver.get()).fetch_all(&mut database).await.unwrap();
            assert!(left.is_empty(), "{left:?}");
        }
    }
}
