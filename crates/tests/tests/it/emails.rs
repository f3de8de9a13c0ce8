use holdfast_tests::{Client, PASSWORD, Server};
use serde_json::json;

#[tokio::test]
async fn an_address_that_is_primary_somewhere_or_ones_own_is_taken() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("eve").await;
    let made = ada.post("/user/emails", &[("email", " Work@Example.com ")]).await;
    assert_eq!(made.status, 201);
    assert_eq!(made.body["email"], "work@example.com");
    let taken = json!({"message": {"email": ["has already been taken"]}});
    for address in ["work@example.com", "EVE@example.com", "ada@example.com"] {
        assert_eq!(ada.post("/user/emails", &[("email", address)]).await.both(), (400, &taken), "{address}");
        assert_eq!(server.admin.post("/users/2/emails", &[("email", address)]).await.status, 404, "{address}");
    }
    let invalid = json!({"message": {"email": ["is invalid"]}});
    assert_eq!(ada.post("/user/emails", &[("email", "no address")]).await.both(), (400, &invalid));
    assert_eq!(ada.get("/user/emails").await.body, json!([made.body]));
}

/// Nobody confirms addresses. A user claims the address of somebody who is to come, and the administrator cannot make the
/// account; or asks for addresses one by one, and learns from the answers which are known.
#[tokio::test]
async fn a_claimed_address_keeps_nobody_from_it_and_tells_nothing() {
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
    // Signing in with the address reaches the account that has it.
    let signed_in = server.anonymous().post("/session", &[("login", "ceo@corp.example"), ("password", PASSWORD)]).await;
    assert_eq!(signed_in.body["username"], "ceo");
    // A primary address is another's only once; the claim does not become one.
    assert_eq!(server.admin.put("/users/3", &[("email", "ceo@corp.example")]).await.status, 404);
    assert_eq!(eve.get("/user").await.body["email"], "eve@example.com");
    // And an address that another user has claimed can become a primary one as well.
    assert_eq!(claim(&eve, "next@corp.example").await, 201);
    assert_eq!(server.admin.put("/users/2", &[("email", "next@corp.example")]).await.status, 200);
    assert_eq!(ada.get("/user").await.body["email"], "next@corp.example");
    assert_eq!(server.admin.post("/users/2/emails", &[("email", "ceo@corp.example")]).await.status, 404);
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
