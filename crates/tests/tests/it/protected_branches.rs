//! Protected branches: the API shows the rules that apply to pushes.

use holdfast_tests::{Server, WorkTree};
use serde_json::{Value, json};

#[tokio::test]
async fn push_access_follows_the_protection_rules() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let project = server.project(&ada, "p", 0).await;
    crate::projects::add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
    let tree = WorkTree::new().await;
    tree.commit("f", b"0\n", "zero").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main", "main:refs/heads/a/b"]).await.ok();
    let branch = format!("/projects/{project}/repository/branches/a%2Fb");
    let flags = |body: &Value| {
        ["protected", "developers_can_push", "developers_can_merge"].map(|name| body[name].as_bool().unwrap())
    };
    let url = server.git_url(&bob, "ada/p");
    let mut number = 0;
    let mut bob_pushes = async || {
        number += 1;
        tree.commit("f", format!("{number}\n").as_bytes(), "next").await;
        tree.push(&url, &["main:a/b"]).await.is_success
    };
    assert_eq!(flags(&ada.get(&branch).await.body), [false, false, false]);
    assert!(bob_pushes().await);
    for (form, expected, may_push) in [
        (&[][..], [true, false, false], false),
        (&[("developers_can_push", "true")], [true, true, false], true),
        // A missing parameter means false in every request.
        (&[("developers_can_merge", "1")], [true, false, true], false),
        (&[("developers_can_push", "yes"), ("developers_can_merge", "on")], [true, true, true], true),
        (&[], [true, false, false], false),
    ] {
        let answer = ada.put(&format!("{branch}/protect"), form).await;
        assert_eq!((answer.status, flags(&answer.body)), (200, expected), "{form:?}");
        assert_eq!(flags(&ada.get(&branch).await.body), expected);
        assert_eq!(bob_pushes().await, may_push, "{form:?}");
    }
    assert_eq!(
        ada.delete(&branch).await.status_and_body(),
        (400, &json!({ "message": "Protected branch cant be removed" }))
    );
    for _ in 0..2 {
        let answer = ada.put(&format!("{branch}/unprotect"), &[]).await;
        assert_eq!((answer.status, flags(&answer.body)), (200, [false, false, false]));
    }
    assert!(bob_pushes().await);
    // A wildcard rule remains when the rule of this branch is deleted.
    sqlx::query("insert into protected_branches (project_id, name, push_level, merge_level, created_at) values ($1, 'a/*', 40, 30, now())")
        .bind(project)
        .execute(&mut server.database().await)
        .await
        .unwrap();
    assert_eq!(flags(&ada.put(&format!("{branch}/unprotect"), &[]).await.body), [true, false, true]);
    assert!(!bob_pushes().await);
    for verb in ["protect", "unprotect"] {
        let missing = ada.put(&format!("/projects/{project}/repository/branches/none/{verb}"), &[]).await;
        assert_eq!(missing.status_and_body(), (404, &json!({ "message": "404 Branch Not Found" })));
        assert_eq!(bob.put(&format!("{branch}/{verb}"), &[]).await.status, 403);
    }
}

/// Slashes in names need no encoding, as v3 scripts send them.
#[tokio::test]
async fn branch_and_tag_names_with_slashes_need_no_encoding() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    server.push_first(&ada, "ada/p").await;
    let api = format!("/projects/{project}/repository");
    for name in ["a/b", "a/c/protect"] {
        ada.post(&format!("{api}/branches"), &[("branch_name", name), ("ref", "main")]).await;
        ada.post(&format!("{api}/tags"), &[("tag_name", name), ("ref", "main")]).await;
        for path in [format!("branches/{name}"), format!("tags/{name}"), format!("blobs/{name}?filepath=README.md")] {
            let answer = ada.get(&format!("{api}/{path}")).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        }
        assert_eq!(ada.put(&format!("{api}/branches/{name}/protect"), &[]).await.body["name"], name);
        assert_eq!(ada.put(&format!("{api}/branches/{name}/unprotect"), &[]).await.body["protected"], false);
        assert_eq!(ada.post(&format!("{api}/tags/{name}/release"), &[("description", "d")]).await.status, 201);
        assert_eq!(ada.delete(&format!("{api}/tags/{name}")).await.body["tag_name"], name);
        assert_eq!(ada.delete(&format!("{api}/branches/{name}")).await.body["branch_name"], name);
    }
}
