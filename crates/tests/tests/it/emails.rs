use holdfast_tests::{Client, PASSWORD, Server};
use serde_json::json;

#[tokio::test]
async fn primary_and_own_addresses_are_already_taken() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("eve").await;
    let made = ada.post("/user/emails", &[("email", " Work@Example.com ")]).await;
    assert_eq!(made.status, 201);
    assert_eq!(made.body["email"], "work@example.com");
    let taken = json!({"message": {"email": ["has already been taken"]}});
    for address in ["work@example.com", "EVE@example.com", "ada@example.com"] {
        assert_eq!(ada.post("/user/emails", &[("email", address)]).await.status_and_body(), (400, &taken), "{address}");
        assert_eq!(server.admin.post("/users/2/emails", &[("email", address)]).await.status, 404, "{address}");
    }
    let invalid = json!({"message": {"email": ["is invalid"]}});
    assert_eq!(ada.post("/user/emails", &[("email", "no address")]).await.status_and_body(), (400, &invalid));
    assert_eq!(ada.get("/user/emails").await.body, json!([made.body]));
}

/// Addresses are not confirmed. A user could claim the address of a future user, so that the administrator cannot
/// create the account; or probe addresses and learn from the responses which ones are known.
#[tokio::test]
async fn claimed_addresses_stay_available_and_reveal_nothing() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let claim = async |client: &Client, address: &str| client.post("/user/emails", &[("email", address)]).await.status;
    assert_eq!(claim(&eve, "ceo@corp.example").await, 201);
    assert_eq!(claim(&ada, "ceo@corp.example").await, 201, "as an address that nobody has");
    let form =
        |username| [("username", username), ("email", "CEO@corp.example"), ("name", "C"), ("password", PASSWORD)];
    let made = server.admin.post("/users", &form("ceo")).await;
    assert_eq!((made.status, &made.body["email"]), (201, &json!("ceo@corp.example")));
    assert_eq!(server.admin.post("/users", &form("second")).await.status, 409);
    // Signing in with the address uses the account that has it as primary address.
    let signed_in = server.anonymous().post("/session", &[("login", "ceo@corp.example"), ("password", PASSWORD)]).await;
    assert_eq!(signed_in.body["username"], "ceo");
    // A primary address is unique among primary addresses, and the claim does not become one.
    assert_eq!(server.admin.put("/users/3", &[("email", "ceo@corp.example")]).await.status, 404);
    assert_eq!(eve.get("/user").await.body["email"], "eve@example.com");
    // An address that another user has claimed can become a primary one as well.
    assert_eq!(claim(&eve, "next@corp.example").await, 201);
    assert_eq!(server.admin.put("/users/2", &[("email", "next@corp.example")]).await.status, 200);
    assert_eq!(ada.get("/user").await.body["email"], "next@corp.example");
    assert_eq!(server.admin.post("/users/2/emails", &[("email", "ceo@corp.example")]).await.status, 404);
}

#[tokio::test]
async fn foreign_and_primary_addresses_cannot_be_read_or_deleted() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let id = ada.post("/user/emails", &[("email", "work@example.com")]).await.body["id"].as_i64().unwrap();
    assert_eq!(eve.get(&format!("/user/emails/{id}")).await.status, 404);
    assert_eq!(eve.delete(&format!("/user/emails/{id}")).await.status_and_body(), (200, &json!(null)));
    assert_eq!(server.admin.delete(&format!("/users/3/emails/{id}")).await.status, 404);
    // Primary addresses have ids from the same sequence; none of them can be read or deleted here.
    for number in 1..id {
        assert_eq!(ada.get(&format!("/user/emails/{number}")).await.status, 404);
        assert_eq!(ada.delete(&format!("/user/emails/{number}")).await.status_and_body(), (200, &json!(null)));
    }
    assert_eq!(ada.get(&format!("/user/emails/{id}")).await.status, 200);
    assert_eq!(ada.get("/user").await.body["email"], "ada@example.com");
}

/// A change of the primary address races with the deletion of that address: in either order, the user keeps an address.
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
