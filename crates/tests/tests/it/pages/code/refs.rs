//! Branches, tags and releases.

use super::{Fixture, assert_refused};

#[tokio::test]
async fn developers_create_and_delete_branches() {
    let fixture = Fixture::new().await;
    let eve = fixture.server.sign_in("eve").await;
    let page = eve.get("/ada/tide/branches").await;
    let form = page.form("form[action='/ada/tide/branches']");
    assert_eq!(form.value("from"), "main");
    let created = eve.submit(&form.clone().set("name", "feature/x")).await;
    assert_eq!((created.status, created.location()), (303, Some("/ada/tide/branches")));
    assert_eq!(fixture.branch_names().await, ["feature/x", "main", "topic/a"]);
    // What is rejected keeps what was entered.
    for (name, from, reason) in [
        ("feature/x", "main", "already exists"),
        ("a..b", "main", "invalid"),
        ("new", "missing", "Invalid reference name"),
        ("", "main", "invalid"),
    ] {
        let rejected = eve.submit(&form.clone().set("name", name).set("from", from)).await;
        assert_eq!(rejected.status, 422, "{name}");
        assert!(rejected.texts(".flash.bad").concat().contains(reason), "{name}: {:?}", rejected.texts(".flash.bad"));
        assert_eq!(rejected.form("details[open] form[action='/ada/tide/branches']").value("name"), name);
    }
    // Neither the default branch, which is protected, nor a branch that does not exist can be deleted.
    for name in ["main", "missing", ""] {
        assert_refused(&fixture.server, &eve, "/ada/tide/branches/delete", &[("name", name)], 422).await;
    }
    let page = eve.get("/ada/tide/branches").await;
    let deletable = page.attributes("form[action='/ada/tide/branches/delete'] input[name='name']", "value");
    assert_eq!(deletable, ["feature/x", "topic/a"]);
    assert!(page.attributes("form[action$='/protect']", "action").is_empty());
    let deleted = eve.submit(&page.form("form[action='/ada/tide/branches/delete']")).await;
    assert_eq!(deleted.status, 303);
    assert_eq!(fixture.branch_names().await, ["main", "topic/a"]);
    for action in ["protect", "unprotect"] {
        let path = format!("/ada/tide/branches/{action}");
        assert_refused(&fixture.server, &eve, &path, &[("name", "topic/a")], 403).await;
    }
    let bo = fixture.server.sign_in("bo").await;
    let page = bo.get("/ada/tide/branches").await;
    assert!(page.attributes("main form", "action").is_empty(), "{}", page.text);
    assert_refused(&fixture.server, &bo, "/ada/tide/branches", &[("name", "x"), ("from", "main")], 403).await;
    assert_refused(&fixture.server, &bo, "/ada/tide/branches/delete", &[("name", "topic/a")], 403).await;
    assert_refused(&fixture.server, &bo, "/ada/tide/branches/delete_merged", &[], 403).await;
}

#[tokio::test]
async fn branches_lead_to_the_form_that_proposes_them() {
    let fixture = Fixture::new().await;
    let link = "a[aria-label='New merge request from topic/a']";
    let eve = fixture.server.sign_in("eve").await;
    let page = eve.get("/ada/tide/branches").await;
    let urls = page.attributes("a[title='New merge request']", "href");
    assert_eq!(urls, page.attributes(link, "href"), "the default branch is proposed to nobody");
    let form = eve.get(&urls[0]).await.form("form.form");
    assert_eq!((form.value("source"), form.value("target")), ("topic/a", "main"));
    // Bo may not write code.
    let bo = fixture.server.sign_in("bo").await;
    assert!(bo.get("/ada/tide/branches").await.attributes(link, "href").is_empty());
}

#[tokio::test]
async fn masters_protect_branches_and_delete_merged_ones() {
    let fixture = Fixture::new().await;
    let ada = fixture.server.sign_in("ada").await;
    let protected = async || {
        let branch = fixture.api("/repository/branches/topic%2Fa").await;
        (branch["protected"].as_bool().unwrap(), branch["developers_can_push"].as_bool().unwrap())
    };
    let page = ada.get("/ada/tide/branches").await;
    let forms = page.forms();
    let is_protect = |form: &&holdfast_tests::PageForm| form.action.ends_with("/protect");
    let form = forms.iter().filter(is_protect).find(|form| form.value("name") == "topic/a").unwrap();
    assert_eq!(ada.submit(&form.clone().check("developers_can_push")).await.status, 303);
    assert_eq!(protected().await, (true, true));
    let page = ada.get("/ada/tide/branches").await;
    assert_eq!(page.texts(".state").iter().filter(|text| text.as_str() == "protected").count(), 2);
    assert_refused(&fixture.server, &ada, "/ada/tide/branches/delete", &[("name", "topic/a")], 422).await;
    assert_eq!(ada.post("/ada/tide/branches/unprotect", &[("name", "topic/a")]).await.status, 303);
    assert_eq!(protected().await, (false, false));
    // A branch behind the default branch is merged.
    let url = fixture.server.git_url(&fixture.ada, "ada/tide");
    fixture.tree.push(&url, &["main~1:refs/heads/old"]).await.ok();
    let page = ada.get("/ada/tide/branches").await;
    assert_eq!(ada.submit(&page.form("form[action$='/delete_merged']")).await.status, 303);
    fixture.server.run_jobs().await;
    assert_eq!(fixture.branch_names().await, ["main", "topic/a"]);
}

#[tokio::test]
async fn tags_are_created_with_release_notes_and_deleted_by_masters() {
    let fixture = Fixture::new().await;
    let eve = fixture.server.sign_in("eve").await;
    let form = eve.get("/ada/tide/tags").await.form("form[action='/ada/tide/tags']");
    let filled =
        form.clone().set("name", "v1/a").set("message", "The first").set("release_description", "Notes *here*");
    let created = eve.submit(&filled).await;
    assert_eq!((created.status, created.location()), (303, Some("/ada/tide/tags/v1/a")));
    let tag = fixture.api("/repository/tags/v1%2Fa").await;
    assert_eq!(tag["message"], "The first");
    assert_eq!(tag["release"]["description"], "Notes *here*");
    let page = eve.get("/ada/tide/tags/v1/a").await;
    assert!(page.text.contains("The first") && page.texts(".md").concat().contains("Notes"), "{}", page.text);
    assert!(page.attributes("a", "href").contains(&"/ada/tide/archive/v1/a.zip".to_owned()));
    assert!(page.attributes("a", "href").contains(&"/ada/tide/tree/v1/a".to_owned()));
    let listed = eve.get("/ada/tide/tags").await;
    assert!(listed.attributes("a.title", "href").contains(&"/ada/tide/tags/v1/a".to_owned()));
    for (name, target, reason) in
        [("v1/a", "main", "already exists"), ("x y", "main", "invalid"), ("v2", "missing", "is invalid")]
    {
        let rejected = eve.submit(&form.clone().set("name", name).set("target", target)).await;
        assert_eq!(rejected.status, 422, "{name}");
        assert!(rejected.texts(".flash.bad").concat().contains(reason), "{name}: {}", rejected.text);
        assert_eq!(rejected.form("details[open] form[action='/ada/tide/tags']").value("target"), target);
    }
    // Developers create tags, and only masters change them.
    assert!(page.attributes("form[action$='/delete_tag']", "action").is_empty());
    assert_refused(&fixture.server, &eve, "/ada/tide/delete_tag", &[("name", "v1/a")], 403).await;
    let ada = fixture.server.sign_in("ada").await;
    assert_refused(&fixture.server, &ada, "/ada/tide/delete_tag", &[("name", "missing")], 422).await;
    let deleted = ada.submit(&ada.get("/ada/tide/tags/v1/a").await.form("form[action$='/delete_tag']")).await;
    assert_eq!((deleted.status, deleted.location()), (303, Some("/ada/tide/tags")));
    assert_eq!(fixture.tag_names().await, Vec::<String>::new());
    assert_eq!(ada.get("/ada/tide/tags/v1/a").await.status, 404);
}

#[tokio::test]
async fn release_notes_are_written_and_changed() {
    let fixture = Fixture::new().await;
    fixture.tree.git(["tag", "v1"]).await.ok();
    fixture.tree.push(&fixture.server.git_url(&fixture.ada, "ada/tide"), &["v1"]).await.ok();
    let eve = fixture.server.sign_in("eve").await;
    let page = eve.get("/ada/tide/tags/v1").await;
    assert!(page.texts(".folded").iter().any(|text| text.contains("no release notes")));
    for text in ["First notes", "Better notes"] {
        let form = eve.get("/ada/tide/tags/v1").await.form("form[action='/ada/tide/releases']");
        let saved = eve.submit(&form.set("description", text)).await;
        assert_eq!((saved.status, saved.location()), (303, Some("/ada/tide/tags/v1")));
        assert_eq!(fixture.api("/repository/tags/v1").await["release"]["description"], text);
    }
    let form = eve.get("/ada/tide/tags/v1").await.form("form[action='/ada/tide/releases']");
    assert_eq!(form.value("description"), "Better notes");
    let rejected = eve.submit(&form.set("description", " ")).await;
    assert_eq!(rejected.status, 422);
    assert!(rejected.texts(".wrong-why").concat().contains("can't be blank"), "{}", rejected.text);
    assert_eq!(fixture.api("/repository/tags/v1").await["release"]["description"], "Better notes");
    let form = [("tag", "missing"), ("description", "x")];
    assert_refused(&fixture.server, &eve, "/ada/tide/releases", &form, 422).await;
    let bo = fixture.server.sign_in("bo").await;
    assert!(bo.get("/ada/tide/tags/v1").await.attributes("main form", "action").is_empty());
    assert_refused(&fixture.server, &bo, "/ada/tide/releases", &[("tag", "v1"), ("description", "x")], 403).await;
    // The home page leads to the newest release.
    let home = bo.get("/ada/tide").await;
    assert!(home.attributes(".rail a", "href").contains(&"/ada/tide/tags/v1".to_owned()));
}
