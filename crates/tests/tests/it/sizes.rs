//! Memory exhaustion: a client that stores long texts and then requests pages of 100 of them makes the server hold
//! hundreds of megabytes for every response that is not read. So texts have a maximum size, and lists truncate texts
//! without one (commits) and those that were stored before there was one.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::json;
use sqlx::Executor;

const MAX_TEXT: usize = 64 << 10;
/// Larger than any page of the largest texts, including the other attributes.
const MAX_PAGE: usize = 14 << 20;

#[tokio::test]
async fn texts_beyond_the_maximum_size_are_rejected() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    let path = |rest: &str| format!("/projects/{project}{rest}");
    let (most, more) = ("x".repeat(MAX_TEXT), "ü".repeat(MAX_TEXT / 2) + "x");
    let (most_of_milestone, more_of_milestone) = ("x".repeat(16 << 10), "x".repeat((16 << 10) + 1));
    let create = async |rest: &str, form: &[(&str, &str)]| {
        let made = ada.post(&path(rest), form).await;
        assert_eq!(made.status, 201, "{rest}");
        made.body["id"].as_i64().unwrap_or_default()
    };
    let issue = create("/issues", &[("title", "t"), ("description", &most)]).await;
    let note = create(&format!("/issues/{issue}/notes"), &[("body", &most)]).await;
    let milestone = create("/milestones", &[("title", "m"), ("description", &most_of_milestone)]).await;
    let tag = [("tag_name", "v1"), ("ref", "main"), ("message", &*most), ("release_description", &*most)];
    create("/repository/tags", &tag).await;
    let hundred: Vec<String> = (0..101).map(|n| format!("label {n}")).collect();
    let labels = [("title", "t"), ("labels", &*hundred[..100].join(","))];
    create("/issues", &labels).await;

    let before = server.dump_database().await;
    let too_long = |field: &str, maximum: usize| json!({ "message": { field: [format!("is too long (maximum is {maximum} bytes)")] } });
    let long = [("title", "t"), ("description", &*more)];
    let refused = ada.post(&path("/issues"), &long).await;
    assert_eq!(refused.status_and_body(), (400, &too_long("description", MAX_TEXT)));
    let refused = ada.put(&path(&format!("/issues/{issue}")), &long).await;
    assert_eq!(refused.status_and_body(), (400, &too_long("description", MAX_TEXT)));
    let labels = [("title", "t"), ("labels", &*hundred.join(","))];
    let refused = ada.post(&path("/issues"), &labels).await;
    assert_eq!(refused.status_and_body(), (400, &json!({ "error": "labels is invalid" })));
    // Validation errors of a note are 404, as v3 clients expect.
    let refused = ada.post(&path(&format!("/issues/{issue}/notes")), &[("body", &more)]).await;
    assert_eq!(refused.status_and_body(), (404, &too_long("note", MAX_TEXT)));
    let refused = ada.put(&path(&format!("/issues/{issue}/notes/{note}")), &[("body", &more)]).await;
    let text = format!("Failed to save note {{:note=>[\"is too long (maximum is {MAX_TEXT} bytes)\"]}}");
    assert_eq!(refused.status_and_body(), (400, &json!({ "message": text })));
    let long = [("title", "n"), ("description", &*more_of_milestone)];
    let refused = ada.post(&path("/milestones"), &long).await;
    assert_eq!(refused.status_and_body(), (400, &too_long("description", 16 << 10)));
    let refused = ada.put(&path(&format!("/milestones/{milestone}")), &long).await;
    assert_eq!(refused.status_and_body(), (400, &too_long("description", 16 << 10)));
    let refused = ada.put(&path("/repository/tags/v1/release"), &[("description", &more)]).await;
    assert_eq!(refused.status_and_body(), (400, &too_long("description", MAX_TEXT)));
    for field in ["message", "release_description"] {
        let tag = [("tag_name", "v2"), ("ref", "main"), (field, &*more)];
        let refused = ada.post(&path("/repository/tags"), &tag).await;
        assert_eq!(refused.status_and_body(), (405, &too_long(field, MAX_TEXT)));
    }
    assert_eq!(server.dump_database().await, before);
}

/// Fetches a page of 100, checks that it is complete and not too large, and returns its first item.
async fn first_of_page(client: &Client, path: &str) -> serde_json::Value {
    let page = client.get(&format!("{path}?per_page=100")).await;
    assert_eq!(page.status, 200, "{path}: {}", &page.text[..page.text.len().min(1000)]);
    assert_eq!(page.body.as_array().unwrap().len(), 100, "{path}");
    assert_eq!(page.header("content-type"), Some("application/json"));
    assert!((1 << 20..MAX_PAGE).contains(&page.text.len()), "{path}: {} bytes", page.text.len());
    page.body[0].clone()
}

#[tokio::test]
async fn a_page_of_texts_stored_before_the_limits_is_bounded() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    let path = |rest: &str| format!("/projects/{project}{rest}");
    let milestone = ada.post(&path("/milestones"), &[("title", "m")]).await.body["id"].clone();
    let form = [("title", "t"), ("milestone_id", &*milestone.to_string())];
    let issue = ada.post(&path("/issues"), &form).await.body["id"].as_i64().unwrap();
    ada.post(&path(&format!("/issues/{issue}/notes")), &[("body", "b")]).await;
    let fill = "
        update milestones set description = repeat('m', 1000000);
        update issues set description = repeat('i', 1000000);
        insert into issues (project_id, iid, author_id, title, description, state, confidential, milestone_id, created_at,
          updated_at)
          select project_id, iid + n, author_id, title, description, state, confidential, milestone_id, created_at,
          updated_at
          from issues, generate_series(1, 99) n;
        update notes set body = repeat('n', 1000000);
        insert into notes (issue_id, author_id, body, system, created_at, updated_at)
          select issue_id, author_id, body, system, created_at, updated_at from notes, generate_series(1, 99);
        update events set data = jsonb_set(data, '{commits}', (select jsonb_agg(jsonb_build_object('id', n::text, 'message',
          repeat('c', 100000))) from generate_series(1, 20) n)) where data is not null;
        insert into events (project_id, author_id, action, data, audience, created_at)
          select project_id, author_id, action, data, audience, created_at from events, generate_series(1, 100)
          where data is not null;";
    server.database().await.execute(fill).await.unwrap();

    let listed = first_of_page(&ada, &path("/issues")).await;
    assert_eq!(listed["description"].as_str().unwrap().len(), MAX_TEXT);
    assert_eq!(listed["milestone"]["description"].as_str().unwrap().len(), 16 << 10);
    let listed = first_of_page(&ada, &path(&format!("/issues/{issue}/notes"))).await;
    assert_eq!(listed["body"].as_str().unwrap().len(), MAX_TEXT);
    let listed = first_of_page(&ada, &path("/events")).await;
    let commits = listed["data"]["commits"].as_array().unwrap();
    assert_eq!((commits.len(), commits[0]["message"].as_str().unwrap().len()), (20, 1000));

    // A single item is not truncated, and unchanged texts are not validated.
    let one = path(&format!("/issues/{issue}"));
    assert_eq!(ada.get(&one).await.body["description"].as_str().unwrap().len(), 1_000_000);
    for form in [("title", "other"), ("description", &*"i".repeat(1_000_000))] {
        let changed = ada.put(&one, &[form]).await;
        assert_eq!((changed.status, changed.body["description"].as_str().unwrap().len()), (200, 1_000_000));
    }
    let longer = "x".repeat(1_000_001);
    assert_eq!(ada.put(&one, &[("description", &*longer)]).await.status, 400);
    let one = path(&format!("/milestones/{milestone}"));
    for form in [("title", "other"), ("description", &*"m".repeat(1_000_000))] {
        let changed = ada.put(&one, &[form]).await;
        assert_eq!((changed.status, changed.body["description"].as_str().unwrap().len()), (200, 1_000_000));
    }
    assert_eq!(ada.put(&one, &[("description", &*longer)]).await.status, 400);
    assert_eq!(ada.get(&one).await.body["description"].as_str().unwrap().len(), 1_000_000, "nothing changed");
}

#[tokio::test]
async fn a_page_of_commits_with_long_messages_is_bounded() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let path = |rest: &str| format!("/projects/{project}{rest}");
    let tree = WorkTree::new().await;
    let url = server.git_url(&ada, "ada/p");
    std::fs::write(tree.path().join("message"), "c".repeat(900_000)).unwrap();
    let long_name = ("GIT_AUTHOR_NAME", &*"a".repeat(60_000));
    tree.git(["commit", "-q", "--allow-empty", "-m", "first"]).await.ok();
    tree.push(&url, &["main"]).await.ok();
    tree.git_with(&["commit", "-q", "--allow-empty", "-F", "message"], &[long_name]).await.ok();
    let mut refs = String::new();
    for n in 0..100 {
        tree.git(["tag", "-F", "message", &format!("t{n}")]).await.ok();
        refs += &format!("update refs/heads/b{n} HEAD\n");
    }
    std::fs::write(tree.path().join("refs"), refs).unwrap();
    tree.git(["-c", "alias.all=!git update-ref --stdin <refs", "all"]).await.ok();
    tree.git(["branch", "-D", "-q", "b0"]).await.ok();
    tree.push(&url, &["main", "refs/heads/b*:refs/heads/b*", "refs/tags/*:refs/tags/*"]).await.ok();

    let listed = first_of_page(&ada, &path("/repository/branches")).await;
    assert_eq!(listed["commit"]["message"].as_str().unwrap().len(), 32 << 10);
    assert_eq!(listed["commit"]["author_name"].as_str().unwrap().len(), 1 << 10);
    let listed = first_of_page(&ada, &path("/repository/tags")).await;
    assert_eq!(listed["message"].as_str().unwrap().len(), 32 << 10);
    assert_eq!(listed["commit"]["message"].as_str().unwrap().len(), 32 << 10);
    let shown = ada.get(&path("/repository/branches/b1")).await;
    assert_eq!(shown.body["commit"]["message"].as_str().unwrap().trim_end().len(), 900_000);
    let shown = ada.get(&path("/repository/tags/t1")).await;
    assert_eq!(shown.body["message"].as_str().unwrap().len(), 900_000);

    // Pushes in a feed: all commit messages of one push together have a maximum size, and short ones are not truncated.
    for n in 0..19 {
        tree.git(["commit", "-q", "--allow-empty", "-m", &"m".repeat(1000 * (n % 2) + 10)]).await.ok();
    }
    tree.git(["commit", "-q", "--allow-empty", "-F", "message"]).await.ok();
    tree.push(&url, &["main"]).await.ok();
    let feed = ada.get(&path("/events?per_page=1")).await;
    let commits = feed.body[0]["data"]["commits"].as_array().unwrap();
    let lengths: Vec<usize> = commits.iter().map(|it| it["message"].as_str().unwrap().trim_end().len()).collect();
    assert_eq!(lengths.len(), 20);
    assert!((MAX_TEXT - 100..=MAX_TEXT).contains(&lengths.iter().sum()), "{lengths:?}");
    assert_eq!(lengths[..19], [[10, 1010]; 10].concat()[..19]);
}
