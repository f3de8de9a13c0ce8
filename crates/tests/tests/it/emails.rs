use holdfast_tests::Server;
use serde_json::json;

#[tokio::test]
async fn an_address_belongs_to_one_user_whether_primary_or_not() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("eve").await;
    let made = ada.post("/user/emails", &[("email", " Work@Example.com ")]).await;
    assert_eq!(made.status, 201);
    assert_eq!(made.body["email"], "work@example.com");
    let taken = json!({"message": {"email": ["has already been taken"]}});
    for address in ["work@example.com", "EVE@example.com", "ada@example.com"] {
        assert_eq!(ada.post("/user/emails", &[("email", address)]).await.both(), (400, &taken), "{address}");
        assert_eq!(server.admin.post("/users/3/emails", &[("email", address)]).await.status, 404, "{address}");
    }
    let invalid = json!({"message": {"email": ["is invalid"]}});
    assert_eq!(ada.post("/user/emails", &[("email", "no address")]).await.both(), (400, &invalid));
    assert_eq!(ada.get("/user/emails").await.body, json!([made.body]));
}

#[tokio::test]
async fn addresses_of_others_and_the_primary_one_are_out_of_reach() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let id = ada.post("/user/emails", &[("email", "work@example.com")]).await.body["id"].as_i64().unwrap();
    assert_eq!(eve.get(&format!("/user/emails/{id}")).await.status, 404);
    assert_eq!(eve.delete(&format!("/user/emails/{id}")).await.both(), (200, &json!(null)));
    assert_eq!(server.admin.delete(&format!("/users/3/emails/{id}")).await.status, 404);
    // Primary addresses have numbers in the same sequence; none of them can be read or removed here.
    for number in 1..id {
        assert_eq!(ada.get(&format!("/user/emails/{number}")).await.status, 404);
        assert_eq!(ada.delete(&format!("/user/emails/{number}")).await.both(), (200, &json!(null)));
    }
    assert_eq!(ada.get(&format!("/user/emails/{id}")).await.status, 200);
    assert_eq!(ada.get("/user").await.body["email"], "ada@example.com");
}

/// A change of the primary address meets the removal of the very address: whoever comes second, one address stays.
#[tokio::test]
async fn a_user_always_has_a_primary_address() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    for round in 0..10 {
        let address = format!("second{round}@example.com");
        let id = ada.post("/user/emails", &[("email", &address)]).await.body["id"].as_i64().unwrap();
        let path = format!("/user/emails/{id}");
        let form = [("email", address.as_str())];
        let (removed, changed) = tokio::join!(ada.delete(&path), server.admin.put("/users/2", &form));
        assert_eq!((removed.status, changed.status), (200, 200));
        let primary: Vec<String> = sqlx::query_scalar("select email from emails where user_id = 2 and is_primary")
            .fetch_all(&mut server.database().await)
            .await
            .unwrap();
        assert_eq!(primary, [address.as_str()]);
        assert_eq!(ada.get("/user").await.body["email"], address);
    }
}
