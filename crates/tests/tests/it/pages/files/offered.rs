//! Which files and which viewers are offered the forms that change files.

use super::{Files, form, lines};
use crate::projects::add_member;

#[tokio::test]
async fn what_is_no_short_text_has_no_editor() {
    let files = Files::new().await;
    let ada = files.browser("ada").await;
    files.add("large.txt", "x\n".repeat(300_000).as_bytes()).await;
    files.add("binary", &[0xff, 0xfe, 0]).await;
    for (path, text) in [("large.txt", "is too large"), ("binary", "is not a text")] {
        let blob = ada.get(&format!("/ada/tide/blob/main/{path}")).await;
        assert!(blob.attributes("a[href*='/edit/']", "href").is_empty(), "{path}");
        let page = ada.get(&format!("/ada/tide/edit/main/{path}")).await;
        assert_eq!(page.status, 200);
        assert!(page.texts(".empty")[0].contains(text), "{path}: {}", page.text);
        assert!(page.attributes("main form", "action").is_empty());
        assert_eq!(page.attributes(".empty a", "href"), [format!("/ada/tide/upload/main/{path}")]);
    }
    std::os::unix::fs::symlink("README.md", files.tree.path().join("link")).unwrap();
    files.tree.git(["add", "link"]).await.ok();
    files.tree.git(["commit", "-q", "-m", "Add a link"]).await.ok();
    files.push(&["main"]).await;
    let blob = ada.get("/ada/tide/blob/main/link").await;
    assert_eq!(blob.attributes("#change a, a[href*='/edit/']", "href"), ["/ada/tide/delete/main/link"]);
    for page in ["edit", "upload"] {
        let page = ada.get(&format!("/ada/tide/{page}/main/link")).await;
        assert_eq!((page.status, page.attributes("main form", "action").len()), (200, 0), "{}", page.text);
    }
    let edit = form(&ada, "/ada/tide/edit/main/README.md").await;
    let rejected = files.assert_rejected(&ada, &edit.set("content", &"x".repeat(512_001)), 422).await;
    assert_eq!(rejected.texts("#content-error").len(), 1);
}

#[tokio::test]
async fn only_those_who_may_write_are_offered_forms() {
    let files = Files::new().await;
    let forms = "main a[href*='/edit/'], main a[href*='/new/'], main a[href*='/delete/'], main a[href*='/upload/']";
    let pages = ["/ada/tide", "/ada/tide/tree/main", "/ada/tide/blob/main/README.md"];
    let rob = files.browser("rob").await;
    for browser in [&files.server.browser(), &rob, &files.browser("bo").await] {
        for page in pages {
            assert!(browser.get(page).await.attributes(forms, "href").is_empty(), "{page}");
        }
    }
    let before = files.server.dump_database().await;
    for path in ["edit/main/README.md", "new/main", "upload/main", "delete/main/README.md"] {
        let path = format!("/ada/tide/{path}");
        assert_eq!(rob.get(&path).await.status, 403, "{path}");
        let fields = [("path", "x"), ("content", "x"), ("branch", "x"), ("commit_message", "x")];
        assert_eq!(rob.post(&path, &fields).await.status, 403, "{path}");
        assert_eq!(rob.post(&path, &[&fields[..], &[("preview", "true")]].concat()).await.status, 403, "{path}");
        assert_eq!(files.server.browser().post(&path, &fields).await.location(), Some("/sign_in"));
    }
    assert_eq!(files.server.dump_database().await, before);
    // Bo may change a fork.
    let blob = files.browser("bo").await.get("/ada/tide/blob/main/README.md").await;
    assert_eq!(blob.attributes("main a[href='/ada/tide/fork']", "href").len(), 1, "{}", blob.text);

    // Only a branch gets commits.
    let ada = files.browser("ada").await;
    for page in ["tree/v1", "blob/v1/README.md", "tree/refs/tags/v1"] {
        assert!(ada.get(&format!("/ada/tide/{page}")).await.attributes(forms, "href").is_empty(), "{page}");
    }
    let commit = files.tree.head().await;
    for page in ["tree", "blob"] {
        let path = if page == "blob" { "/README.md" } else { "" };
        assert!(ada.get(&format!("/ada/tide/{page}/{commit}{path}")).await.attributes(forms, "href").is_empty());
    }
    assert_eq!(ada.get("/ada/tide/tree/refs/heads/main").await.attributes(forms, "href").len(), 2);
    // Nothing is offered in an archived project.
    let archive = files.ada.post(&format!("/projects/{}/archive", files.project), &[]).await;
    assert_eq!(archive.status, 201, "{}", archive.text);
    for page in pages {
        assert!(ada.get(page).await.attributes(forms, "href").is_empty(), "{page}");
    }
    assert_eq!(ada.get("/ada/tide/edit/main/README.md").await.status, 403);
}

#[tokio::test]
async fn the_first_file_creates_the_first_branch() {
    let files = Files::new().await;
    let project = files.server.project(&files.ada, "empty", 20).await;
    let (id, _) = files.server.user("emil").await;
    add_member(&files.ada, &format!("/projects/{project}"), id.get(), 30).await;
    let (ada, emil) = (files.browser("ada").await, files.browser("emil").await);
    // The first branch becomes the default one, which is protected.
    assert!(emil.get("/ada/empty").await.attributes("a[href*='/new/']", "href").is_empty());
    let page = emil.get("/ada/empty/new/main").await;
    assert_eq!((page.status, page.attributes("main form", "action").len()), (200, 0), "{}", page.text);
    let before = files.server.dump_database().await;
    let refused = emil.post("/ada/empty/new/main", &[("path", "a"), ("branch", "main")]).await;
    assert_eq!(refused.status, 422);
    assert_eq!(files.server.dump_database().await, before);

    let offered = ada.get("/ada/empty").await.attributes("a[href*='/new/']", "href");
    assert_eq!(offered, ["/ada/empty/new/main"]);
    let create = form(&ada, &offered[0]).await.set("path", "README.md").set("content", "# Empty\r\n");
    let fields = ["path", "content", "branch"].map(|name| (name, create.value(name)));
    let preview = ada.post(&create.action, &[&fields[..], &[("preview", "true")]].concat()).await;
    assert_eq!((preview.status, lines(&preview, "add")), (200, vec!["# Empty".to_owned()]), "{}", preview.text);
    assert_eq!(files.server.dump_database().await, before);
    let committed = ada.submit(&create.set("branch", "trunk")).await;
    assert_eq!(committed.location(), Some("/ada/empty/blob/trunk/README.md"), "{}", committed.text);
    assert_eq!(ada.get("/ada/empty/raw/trunk/README.md").await.text, "# Empty\n");
    assert_eq!(files.branches().await, ["main", "topic"]);
}
