//! Storage of trigger tokens, and the variables that a trigger can set.

use holdfast_tests::{Server, Setup};
use serde_json::json;

use super::{CiFixture, SIMPLE};

async fn trigger(fixture: &CiFixture, token: &str) -> u16 {
    let form = [("ref", "main"), ("token", token)];
    fixture.server.anonymous().post(&fixture.path("/trigger/builds"), &form).await.status
}

/// Inserts a trigger as a node of the previous version does.
async fn insert_plaintext(fixture: &CiFixture, token: &str) {
    let statement = "insert into triggers (project_id, owner_id, token, created_at, updated_at)
         select 1, owner_id, $1, now(), now() from namespaces n join projects p on p.namespace_id = n.id where p.id = 1";
    sqlx::query(statement).bind(token).execute(&mut fixture.server.database().await).await.unwrap();
}

async fn read_column(fixture: &CiFixture, column: &str) -> Vec<Option<String>> {
    let query = format!("select {column} from triggers order by id");
    let mut query = sqlx::QueryBuilder::<sqlx::Postgres>::new(query);
    query.build_query_scalar().fetch_all(&mut fixture.server.database().await).await.unwrap()
}

#[tokio::test]
async fn the_owner_sees_a_token_again_and_the_database_stores_its_digest() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let made = fixture.ada.post(&fixture.path("/triggers"), &[]).await.body;
    let token = made["token"].as_str().unwrap();
    assert_eq!(fixture.ada.get(&fixture.path("/triggers")).await.body, json!([made]));
    let digest = format!("encode(sha256('{token}'), 'hex')");
    assert_eq!(read_column(&fixture, "encode(token_digest, 'hex')").await, read_column(&fixture, &digest).await);
    assert_eq!(read_column(&fixture, "token").await, read_column(&fixture, &digest).await);
    // The stored value is not accepted as a token.
    let stored = read_column(&fixture, "token").await.remove(0).unwrap();
    assert_eq!(trigger(&fixture, &stored).await, 404);
    assert_eq!(fixture.ada.get(&fixture.path(&format!("/triggers/{stored}"))).await.status, 404);
    assert_eq!(trigger(&fixture, token).await, 201);
    // An encrypted token that was copied to another trigger is not shown there.
    let other = fixture.ada.post(&fixture.path("/triggers"), &[]).await.body;
    let copy = "update triggers t set encrypted_token = s.encrypted_token from triggers s where s.id < t.id";
    sqlx::query(copy).execute(&mut fixture.server.database().await).await.unwrap();
    let listed = fixture.ada.get(&fixture.path("/triggers")).await.body;
    assert_eq!(listed[0], fixture.ada.get(&fixture.path(&format!("/triggers/{token}"))).await.body);
    assert_eq!(listed[1]["token"], other["token"].as_str().unwrap()[..4]);
}

#[tokio::test]
async fn without_a_key_the_owner_sees_a_token_once() {
    let mut setup = Setup::default();
    setup.settings.encryption_key = None;
    let fixture = CiFixture::on_server(Server::start_with(setup).await, SIMPLE).await;
    let made = fixture.ada.post(&fixture.path("/triggers"), &[]).await;
    let token = made.body["token"].as_str().unwrap();
    assert_eq!((made.status, token.len()), (201, 30));
    assert_eq!(fixture.ada.get(&fixture.path("/triggers")).await.body[0]["token"], token[..4]);
    // A user who names the token already knows it.
    assert_eq!(
        fixture.ada.get(&fixture.path(&format!("/triggers/{token}"))).await.status_and_body(),
        (200, &made.body)
    );
    assert_eq!(trigger(&fixture, token).await, 201);
    assert_eq!(fixture.ada.delete(&fixture.path(&format!("/triggers/{token}"))).await.status, 200);
}

/// A rolling upgrade: nodes of the previous version find triggers only by a token in the clear, and go on writing such.
/// These work on all nodes, and are converted after a day.
#[tokio::test]
async fn cleartext_tokens_of_older_nodes_work_and_are_replaced_after_a_day() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (_, max) = fixture.add_member("max", "40").await;
    let clear = "0123456789abcdef0123456789abcd";
    insert_plaintext(&fixture, clear).await;
    assert_eq!(trigger(&fixture, clear).await, 201);
    let shown = async |token: &str| {
        let path = fixture.path("/triggers");
        assert_eq!(fixture.ada.get(&path).await.body[0]["token"], *token);
        assert_eq!(max.get(&path).await.body[0]["token"], token[..4]);
        assert_eq!(fixture.ada.get(&format!("{path}/{token}")).await.body["token"], *token);
    };
    shown(clear).await;
    fixture.server.sweep_builds().await;
    assert_eq!(read_column(&fixture, "token").await, [Some(clear.to_owned())], "older nodes may still run");

    fixture.server.end_upgrade(11).await;
    fixture.server.sweep_builds().await;
    assert!(!fixture.server.dump_database().await.to_string().contains(clear));
    shown(clear).await;
    assert_eq!(trigger(&fixture, clear).await, 201);
}

/// A client that has the token of a trigger, but may not push, sets variables such as `BASH_ENV` to make a script run
/// other commands.
#[tokio::test]
async fn triggers_cannot_set_reserved_variables() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let made = fixture.ada.post(&fixture.path("/triggers"), &[]).await.body;
    let token = made["token"].as_str().unwrap();
    let before = fixture.server.dump_database().await;
    for name in
        ["BASH_ENV", "ENV", "LD_PRELOAD", "http_proxy", "HTTPS_PROXY", "GIT_SSH_COMMAND", "CI_JOB_TOKEN", "PATH"]
    {
        let variable = format!("variables[{name}]");
        let form = [("ref", "main"), ("token", token), ("variables[GOOD]", "1"), (&variable, "x")];
        let refused = fixture.server.anonymous().post(&fixture.path("/trigger/builds"), &form).await;
        let text = format!("A trigger cannot set the variable {name}");
        assert_eq!(refused.status_and_body(), (400, &json!({ "message": text })));
    }
    assert_eq!(fixture.server.dump_database().await, before);
    // Without a valid token, variable names are not checked.
    let form = [("ref", "main"), ("token", "wrong"), ("variables[ENV]", "x")];
    assert_eq!(fixture.server.anonymous().post(&fixture.path("/trigger/builds"), &form).await.status, 404);
    // Masters may configure a proxy for their project.
    let form = [("key", "http_proxy"), ("value", "http://proxy.example")];
    assert_eq!(fixture.ada.post(&fixture.path("/variables"), &form).await.status, 201);
    let form = [("ref", "main"), ("token", token), ("variables[GIT_DEPTH]", "5"), ("variables[DEPLOY_TO]", "here")];
    assert_eq!(fixture.server.anonymous().post(&fixture.path("/trigger/builds"), &form).await.status, 201);
}
