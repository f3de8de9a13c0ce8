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

    // Only owners manage members.
    let before = server.dump_database().await;
    assert_eq!(bob.post(&members, &[("user_id", "4"), ("access_level", "10")]).await.status, 403);
    assert_eq!(bob.put(&format!("{members}/3"), &[("access_level", "50")]).await.status, 403);
    assert_eq!(bob.delete(&format!("{members}/2")).await.status, 403);
    let again = ada.post(&members, &[("user_id", "3"), ("access_level", "10")]).await;
    assert_eq!(again.status_and_body(), (409, &json!({"message": "Member already exists"})));
    let unknown = ada.post(&members, &[("user_id", "4"), ("access_level", "35")]).await;
    assert_eq!(unknown.status_and_body(), (422, &json!({"message": "Access level is not known"})));
    assert_eq!(ada.post(&members, &[("user_id", "99"), ("access_level", "10")]).await.status, 404);
    let absent = ada.delete(&format!("{members}/4")).await;
    assert_eq!(absent.status_and_body(), (404, &json!({"message": "404 Member: user_id:4 Not Found"})));
    assert_eq!(server.dump_database().await, before);

    assert_eq!(ada.put(&format!("{members}/3"), &[("access_level", "10")]).await.body["access_level"], 10);
    assert_eq!(ada.get(&format!("{members}?query=BO")).await.ids(), [3]);
    // Every member may leave.
    assert_eq!(bob.delete(&format!("{members}/3")).await.status, 200);
    assert_eq!(bob.get(&members).await.status, 404);
}

#[tokio::test]
async fn the_last_owner_cannot_leave_or_be_demoted() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("bob").await;
    let group = server.group(&ada, "team", 0).await;
    let own = format!("/groups/{group}/members/2");
    let before = server.dump_database().await;
    assert_eq!(ada.delete(&own).await.status, 403);
    assert_eq!(ada.put(&own, &[("access_level", "40")]).await.status, 403);
    assert_eq!(ada.put(&own, &[("access_level", "50"), ("expires_at", "2026-02-01")]).await.status, 403);
    assert_eq!(server.admin.delete(&own).await.status, 403);
    assert_eq!(server.dump_database().await, before);
    // An owner whose membership expires does not count as the remaining owner.
    let other = [("user_id", "3"), ("access_level", "50"), ("expires_at", "2026-02-01")];
    assert_eq!(ada.post(&format!("/groups/{group}/members"), &other).await.status, 201);
    assert_eq!(ada.put(&own, &[("access_level", "50"), ("expires_at", "2026-03-01")]).await.status, 403);
    assert_eq!(server.admin.delete("/users/2").await.status, 409);
    let other = format!("/groups/{group}/members/3");
    // A missing parameter keeps the expiry date; an empty one removes it.
    assert_eq!(ada.put(&other, &[("access_level", "50")]).await.body["expires_at"], "2026-02-01");
    assert_eq!(ada.put(&other, &[("access_level", "50"), ("expires_at", "")]).await.body["expires_at"], json!(null));
    assert_eq!(ada.delete(&own).await.status, 200);
}

/// Two owners who leave concurrently must not both succeed.
#[tokio::test]
async fn one_of_two_owners_leaving_concurrently_stays() {
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
async fn memberships_end_on_their_expiry_date() {
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
    // The former member can be added again.
    assert_eq!(ada.post(&members, &[("user_id", "3"), ("access_level", "10")]).await.status, 201);
    let past = ada.put(&format!("{members}/3"), &[("access_level", "10"), ("expires_at", "2026-01-05")]).await;
    assert_eq!(past.status, 400);
    for outside_of_the_calendar in ["-200000-01-05", "+200000-01-05", "0000-01-05"] {
        let form = [("access_level", "10"), ("expires_at", outside_of_the_calendar)];
        assert_eq!(ada.put(&format!("{members}/3"), &form).await.status, 400, "{outside_of_the_calendar}");
    }
}
