//! The commands by which operators inspect repositories and restore refs.

use holdfast_app::Actor;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::inspection;
use holdfast_app::repository::refs::ref_restore;
use holdfast_app::{Error, Resource};
use holdfast_tests::{Server, Setup, WorkTree};

fn project(namespace: &str) -> ProjectRef {
    ProjectRef::Path { namespace: namespace.into(), project: "p".into() }
}

#[tokio::test]
async fn a_repository_is_shown_with_its_fork_network() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    assert_eq!(bob.post("/projects/fork/ada%2Fp", &[("namespace", "bob")]).await.status, 201);
    let (cloned, tree) = WorkTree::clone(&server.git_url(&bob, "bob/p"), &[]).await;
    cloned.ok();
    tree.commit("own", b"own\n", "own").await;
    tree.push(&server.git_url(&bob, "bob/p"), &["main", "main:refs/tags/t", "main:refs/notes/n"]).await.ok();
    let about = inspection::show(&server.app, &Actor::Operator, &project("bob")).await.unwrap();
    assert_eq!((about.network_size, about.members.as_slice()), (2, &["ada/p".to_owned(), "bob/p".into()][..]));
    assert_eq!((about.branches, about.tags, about.other_refs), (1, 1, 1));
    assert_eq!((about.packs, about.shared_packs, about.inline_packs), (2, 1, 2));
    assert!(about.own_bytes > 0 && about.shared_bytes > 0);
    assert_eq!(about.head.as_deref(), Some("refs/heads/main"));
    assert!(matches!(
        inspection::show(&server.app, &Actor::Operator, &project("eve")).await,
        Err(Error::NotFound(Resource::Project))
    ));
    assert!(inspection::show(&server.app, &Actor::Anonymous(None), &project("bob")).await.is_err());
}

#[tokio::test]
async fn damage_is_found_regardless_of_the_local_cache() {
    let mut setup = Setup::default();
    setup.settings.git.inline_pack_bytes = 0;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 0).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    for text in ["one", "two"] {
        tree.commit("f", text.as_bytes(), text).await;
        tree.push(&url, &["main"]).await.ok();
    }
    let check = async |quick| inspection::check(&server.app, &Actor::Operator, &project("ada"), quick).await.unwrap();
    for quick in [false, true] {
        let sound = check(quick).await;
        assert_eq!((sound.packs, sound.refs), (2, 1));
        assert!(sound.findings.errors.is_empty(), "{:?}", sound.findings);
    }
    let mut keys = sqlx::query_scalar::<_, String>("select object_key from packs order by id");
    keys = keys.persistent(false);
    let keys: Vec<String> = keys.fetch_all(&mut server.database().await).await.unwrap();
    let path = server.directory.path().join(&keys[0]);
    let whole = std::fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[30] ^= 1;
    std::fs::write(&path, flipped).unwrap();
    assert!(!check(false).await.findings.errors.is_empty());
    std::fs::write(&path, &whole[..40]).unwrap();
    assert!(check(false).await.findings.errors[0].contains("has fewer"));
    std::fs::remove_file(&path).unwrap();
    let errors = check(true).await.findings.errors;
    assert!(errors[0].starts_with(&format!("{} is missing in the object store (pack ", keys[0])), "{errors:?}");
    assert!(errors.iter().all(|line| !line.starts_with("error: ")), "{errors:?}");
    std::fs::write(&path, whole).unwrap();
    assert!(check(false).await.findings.errors.is_empty());
}

#[tokio::test]
async fn operators_restore_refs_without_an_account() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let id = server.project(&ada, "p", 0).await;
    let first = server.push_first(&ada, "ada/p").await;
    let (cloned, tree) = WorkTree::clone(&server.git_url(&ada, "ada/p"), &[]).await;
    cloned.ok();
    let second = tree.commit("f", b"2\n", "two").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main", "main:topic"]).await.ok();
    let at = async |branch: &str| {
        let path = format!("/projects/{id}/repository/branches/{branch}");
        ada.get(&path).await.body["commit"]["id"].as_str().unwrap_or_default().to_owned()
    };
    // The default branch is protected, which does not apply to the operator.
    let done = ref_restore::restore_last(&server.app, &Actor::Operator, &project("ada"), "main").await.unwrap();
    assert_eq!((done.target.to_string(), at("main").await), (first.clone(), first));
    let there = ref_restore::restore_branch(&server.app, &Actor::Operator, &project("ada"), "topic").await;
    assert!(matches!(there, Err(Error::Conflict(text)) if text.starts_with("topic already exists")));
    ada.delete(&format!("/projects/{id}/repository/branches/topic")).await;
    ref_restore::restore_branch(&server.app, &Actor::Operator, &project("ada"), "topic").await.unwrap();
    assert_eq!(at("topic").await, second);
    let never = ref_restore::restore_branch(&server.app, &Actor::Operator, &project("ada"), "never").await;
    assert!(matches!(never, Err(Error::NotFound(Resource::Record))));
    let log = ada.get(&format!("/projects/{id}/repository/ref_log")).await.body;
    assert_eq!((&log[0]["via"], &log[0]["user"]), (&"cli".into(), &serde_json::Value::Null));
}
