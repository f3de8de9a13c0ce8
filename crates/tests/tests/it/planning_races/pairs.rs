//! Requests that get in each other's way: one of them takes away, or hides, what the others are at.

use holdfast_tests::Client;

use super::World;
use crate::planning_counts::assert_whole;
use crate::projects::add;

type Request = (Client, &'static str, String, Vec<(&'static str, String)>);

/// None of them fails, whoever comes first.
async fn at_once(requests: Vec<Request>) {
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

/// An issue becomes confidential while it is spoken about: so does all that is said.
#[tokio::test(flavor = "multi_thread")]
async fn comments_are_told_to_whom_the_issue_is() {
    let world = World::new().await;
    for _ in 0..30 {
        let issues = format!("/projects/{}/issues", world.projects[0]);
        let issue = world.clients[0].post(&issues, &[("title", "t")]).await.body["id"].clone();
        let request = |(number, client): (usize, &Client)| -> Request {
            match number {
                4 => (client.clone(), "PUT", format!("{issues}/{issue}"), vec![("confidential", "true".into())]),
                _ => (client.clone(), "POST", format!("{issues}/{issue}/notes"), vec![("body", "b".into())]),
            }
        };
        at_once(world.clients.iter().take(8).enumerate().map(request).collect()).await;
    }
    assert_whole(&mut world.server.database().await).await;
}

/// An issue of that project with comments; its path and theirs.
async fn discussed(client: &Client, project: i64) -> (String, Vec<String>) {
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

/// An issue and its comments are deleted beneath those who are at them.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_meanwhile_takes_everything_along() {
    let world = World::new().await;
    for round in 0..40 {
        let [here, there] = world.projects;
        let (issue, notes) = discussed(&world.clients[0], here).await;
        let mut clients = world.clients.iter().cycle().skip(round).cloned();
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
        at_once(requests).await;
    }
    assert_whole(&mut world.server.database().await).await;
}

/// Nothing names a user who is deleted as its author afterwards, though others are at it meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_goes_with_everything_meanwhile() {
    let world = World::new().await;
    let mut database = world.server.database().await;
    for round in 0..6 {
        let (leaver, client) = world.server.user(&format!("leaver{round}")).await;
        add(&world.clients[0], "/groups/team", leaver.get(), 30).await;
        let mut requests: Vec<Request> = Vec::new();
        for (number, author) in [&client, &world.clients[0], &client, &world.clients[0]].into_iter().enumerate() {
            let [here, there] = if number < 2 { world.projects } else { [world.projects[1], world.projects[0]] };
            let (issue, _) = discussed(author, here).await;
            client.put(&issue, &[("assignee_id", &*leaver.to_string())]).await;
            let mut request = |method, path: String, form: &[(&'static str, &str)]| {
                let client = world.clients[requests.len() % world.clients.len()].clone();
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
        assert_eq!(world.server.admin.delete(&format!("/users/{leaver}")).await.status, 200);
        tokio::join!(world.server.work(), at_once(requests));
        assert_whole(&mut database).await;
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
