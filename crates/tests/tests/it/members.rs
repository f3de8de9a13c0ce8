use chrono::TimeDelta;
use holdfast_tests::Server;
use serde_json::json;

#[tokio::test]
async fn owners_manage_members() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    server.user("cy").await;
    let group = server.group(&ada, "team", 0).await;
    let members = format!("/groups/{group}/members");
    let added = ada.post(&members, &[("user_id", "3"), ("access_level", "40")]).await;
    assert_eq!((added.status, &added.body["username"], &added.body["access_level"]), (201, &json!("bob"), &json!(40)));
    assert_eq!(bob.get(&format!("{members}/3")).await.body, added.body);

    // Short of an owner nobody manages members.
    let before = server.contents().await;
    assert_eq!(bob.post(&members, &[("user_id", "4"), ("access_level", "10")]).await.status, 403);
    assert_eq!(bob.put(&format!("{members}/3"), &[("access_level", "50")]).await.status, 403);
    assert_eq!(bob.delete(&format!("{members}/2")).await.status, 403);
    let again = ada.post(&members, &[("user_id", "3"), ("access_level", "10")]).await;
    assert_eq!(again.both(), (409, &json!({"message": "Member already exists"})));
    let unknown = ada.post(&members, &[("user_id", "4"), ("access_level", "35")]).await;
    assert_eq!(unknown.both(), (422, &json!({"message": "Access level is not known"})));
    assert_eq!(ada.post(&members, &[("user_id", "99"), ("access_level", "10")]).await.status, 404);
    let absent = ada.delete(&format!("{members}/4")).await;
    assert_eq!(absent.both(), (404, &json!({"message": "404 Member: user_id:4 Not Found"})));
    assert_eq!(server.contents().await, before);

    assert_eq!(ada.put(&format!("{members}/3"), &[("access_level", "10")]).await.body["access_level"], 10);
    assert_eq!(ada.get(&format!("{members}?query=BO")).await.ids(), [3]);
    // Everybody may leave.
    assert_eq!(bob.delete(&format!("{members}/3")).await.status, 200);
    assert_eq!(bob.get(&members).await.status, 404);
}

#[tokio::test]
async fn the_last_owner_stays() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("bob").await;
    let group = server.group(&ada, "team", 0).await;
    let own = format!("/groups/{group}/members/2");
    let before = server.contents().await;
    assert_eq!(ada.delete(&own).await.status, 403);
    assert_eq!(ada.put(&own, &[("access_level", "40")]).await.status, 403);
    assert_eq!(ada.put(&own, &[("access_level", "50"), ("expires_at", "2026-02-01")]).await.status, 403);
    assert_eq!(server.admin.delete(&own).await.status, 403);
    assert_eq!(server.contents().await, before);
    // An owner for a while is none to rely on.
    let other = [("user_id", "3"), ("access_level", "50"), ("expires_at", "2026-02-01")];
    assert_eq!(ada.post(&format!("/groups/{group}/members"), &other).await.status, 201);
    assert_eq!(ada.put(&own, &[("access_level", "50"), ("expires_at", "2026-03-01")]).await.status, 403);
    assert_eq!(server.admin.delete("/users/2").await.status, 409);
    let other = format!("/groups/{group}/members/3");
    // What is not given stays; what is given empty goes.
    assert_eq!(ada.put(&other, &[("access_level", "50")]).await.body["expires_at"], "2026-02-01");
    assert_eq!(ada.put(&other, &[("access_level", "50"), ("expires_at", "")]).await.body["expires_at"], json!(null));
    assert_eq!(ada.delete(&own).await.status, 200);
}

/// Two owners who leave at the same moment must not both succeed.
#[tokio::test]
async fn of_two_owners_leaving_at_once_one_stays() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    for round in 0..10 {
        let group = server.group(&ada, &format!("team{round}"), 20).await;
        let members = format!("/groups/{group}/members");
        ada.post(&members, &[("user_id", "3"), ("access_level", "50")]).await;
        let (a, b) = (format!("{members}/2"), format!("{members}/3"));
        let (a, b) = tokio::join!(ada.delete(&a), bob.delete(&b));
        let mut statuses = [a.status, b.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 403]);
        assert_eq!(server.admin.get(&members).await.ids().len(), 1);
    }
}

#[tokio::test]
async fn a_membership_ends_on_its_day() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let group = server.group(&ada, "team", 0).await;
    let members = format!("/groups/{group}/members");
    let form = [("user_id", "3"), ("access_level", "30"), ("expires_at", "2026-01-05")];
    assert_eq!(ada.post(&members, &form).await.body["expires_at"], "2026-01-05");
    assert_eq!(bob.get("/groups").await.ids(), [group]);
    server.advance(TimeDelta::days(3));
    assert_eq!(bob.get(&members).await.status, 404);
    assert_eq!(bob.get("/groups").await.ids(), [] as [i64; 0]);
    assert_eq!(ada.get(&members).await.ids(), [2]);
    // He can be taken in again.
    assert_eq!(ada.post(&members, &[("user_id", "3"), ("access_level", "10")]).await.status, 201);
    let past = ada.put(&format!("{members}/3"), &[("access_level", "10"), ("expires_at", "2026-01-05")]).await;
    assert_eq!(past.status, 400);
}
