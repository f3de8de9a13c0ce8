//! Contributors, activity, stars and forks.

use super::{Fixture, assert_refused};

#[tokio::test]
async fn contributors_and_activity_are_shown() {
    let fixture = Fixture::new().await;
    let ada = fixture.server.sign_in("ada").await;
    let home = ada.get("/ada/tide").await;
    let links = home.attributes(".rail a", "href");
    for path in ["/ada/tide/contributors", "/ada/tide/activity", "/ada/tide/forks"] {
        assert!(links.contains(&path.to_owned()), "{path}: {links:?}");
    }
    let contributors = ada.get("/ada/tide/contributors").await;
    assert_eq!(contributors.texts("tbody td:nth-child(2)"), ["3"], "{}", contributors.text);
    fixture.ada.post(&format!("/projects/{}/issues", fixture.project), &[("title", "It leaks")]).await;
    let activity = ada.get("/ada/tide/activity").await;
    let events = activity.texts(".rows .what");
    let has = |parts: &[&str]| events.iter().any(|event| parts.iter().all(|part| event.contains(part)));
    assert!(has(&["ada", "opened issue", "It leaks"]), "{events:?}");
    assert!(has(&["created branch", "topic/a"]), "{events:?}");
    assert!(has(&["created the project"]), "{events:?}");
    assert_eq!(activity.texts("h2.day"), ["2 Jan 2026"]);
    let links = activity.attributes("main a", "href");
    for path in ["/ada/tide/issues/1", "/ada/tide/tree/topic/a"] {
        assert!(links.contains(&path.to_owned()), "{path}: {links:?}");
    }
    // A project without commits has neither.
    fixture.server.project(&fixture.ada, "empty", 20).await;
    let page = ada.get("/ada/empty/contributors").await;
    assert_eq!((page.status, page.texts(".empty h2")), (200, vec!["No contributors yet".to_owned()]));
}

/// The activity shows pushes only to those who may read the code, and confidential issues only to members.
#[tokio::test]
async fn activity_hides_what_the_viewer_may_not_see() {
    let fixture = Fixture::new().await;
    let form = [("title", "A secret leak"), ("confidential", "true")];
    fixture.ada.post(&format!("/projects/{}/issues", fixture.project), &form).await;
    let eve = fixture.server.sign_in("eve").await;
    assert!(eve.get("/ada/tide/activity").await.text.contains("A secret leak"));
    for browser in [fixture.server.browser(), fixture.server.sign_in("bo").await] {
        let page = browser.get("/ada/tide/activity").await;
        assert!(page.status == 200 && !page.text.contains("A secret leak"));
    }
}

#[tokio::test]
async fn projects_are_starred_and_forked() {
    let fixture = Fixture::new().await;
    let bo = fixture.server.sign_in("bo").await;
    let star_count = async || fixture.api("").await["star_count"].as_i64().unwrap();
    let home = bo.get("/ada/tide").await;
    let starred = bo.submit(&home.form("form[action='/ada/tide/star']")).await;
    assert_eq!((starred.status, starred.location(), star_count().await), (303, Some("/ada/tide"), 1));
    let home = bo.get("/ada/tide").await;
    assert!(home.attributes("form[action='/ada/tide/star']", "action").is_empty());
    let removed = bo.submit(&home.form("form[action='/ada/tide/unstar']")).await;
    assert_eq!((removed.status, star_count().await), (303, 0));
    assert!(home.attributes("a", "href").contains(&"/ada/tide/fork".to_owned()));
    let form = bo.get("/ada/tide/fork").await.form("form[action='/ada/tide/fork']");
    let forked = bo.submit(&form).await;
    assert_eq!((forked.status, forked.location()), (303, Some("/bo/tide")), "{}", forked.text);
    assert_eq!(bo.get("/bo/tide/blob/main/README.md").await.status, 200);
    // A second one has the same path, and another namespace is not offered.
    let rejected = bo.submit(&form).await;
    assert!(rejected.status == 422 && rejected.texts(".flash.bad").concat().contains("taken"), "{}", rejected.text);
    let namespaces = fixture.ada.get("/namespaces").await.body;
    let of_ada = namespaces[0]["id"].as_i64().unwrap().to_string();
    assert_refused(&fixture.server, &bo, "/ada/tide/fork", &[("namespace_id", &of_ada)], 422).await;
    let forks = fixture.server.browser().get("/ada/tide/forks").await;
    assert_eq!(forks.attributes("main a.title", "href"), ["/bo/tide"]);
    // A private fork is listed to its members alone.
    let fork = fixture.server.admin.get("/projects/bo%2Ftide").await.body["id"].as_i64().unwrap();
    let changed = fixture.server.admin.put(&format!("/projects/{fork}"), &[("visibility_level", "0")]).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    assert_eq!(fixture.server.browser().get("/ada/tide/forks").await.texts(".empty h2"), ["No forks"]);
    assert_eq!(bo.get("/ada/tide/forks").await.attributes("main a.title", "href"), ["/bo/tide"]);
    // An anonymous viewer is asked to sign in.
    let anonymous = fixture.server.browser();
    let home = anonymous.get("/ada/tide").await;
    assert!(home.attributes("main form[method='post']", "action").is_empty());
    let redirect = anonymous.get("/ada/tide/fork").await;
    assert_eq!((redirect.status, redirect.location()), (303, Some("/sign_in?to=%2Fada%2Ftide%2Ffork")));
}
