//! When a session of a browser ends without the user signing out.

use std::net::{IpAddr, Ipv4Addr};

use chrono::TimeDelta;
use holdfast_app::Actor;
use holdfast_app::accounts::browser_session::{self, SessionClient};
use holdfast_app::accounts::user::{self, ChangePassword};
use holdfast_tests::{Browser, PASSWORD, Server};

use super::sessions::count_sessions;

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const NEW_PASSWORD: &str = "another horse battery";

/// Signs ada in with "stay signed in".
async fn sign_in_remembered(server: &Server) -> Browser {
    let browser = server.browser();
    let form = browser.sign_in_form("/sign_in").await.set("login", "ada").set("password", PASSWORD).check("stay");
    assert_eq!(browser.submit(&form).await.status, 303);
    browser
}

#[tokio::test]
async fn a_session_ends_twelve_hours_after_its_last_use() {
    let server = Server::start().await;
    server.user("ada").await;
    let browser = server.sign_in("ada").await;
    for _ in 0..3 {
        server.advance(TimeDelta::hours(12) - TimeDelta::seconds(1));
        assert_eq!(browser.viewer().await.as_deref(), Some("ada"));
    }
    server.advance(TimeDelta::hours(12));
    let response = browser.get("/profile").await;
    assert_eq!((response.status, response.location()), (303, Some("/sign_in?to=%2Fprofile")));
    assert_eq!(browser.cookie("holdfast"), None);
}

#[tokio::test]
async fn a_remembered_session_lasts_thirty_days_however_it_is_used() {
    let server = Server::start().await;
    server.user("ada").await;
    let browser = sign_in_remembered(&server).await;
    for _ in 0..2 {
        server.advance(TimeDelta::days(15) - TimeDelta::seconds(1));
        assert_eq!(browser.viewer().await.as_deref(), Some("ada"));
    }
    server.advance(TimeDelta::seconds(2));
    assert_eq!(browser.viewer().await, None);
}

/// An attacker has signed in with a stolen password, and the victim or an administrator sets a new one.
#[tokio::test]
async fn a_new_password_ends_browser_sessions() {
    let server = Server::start().await;
    let (id, _) = server.user("ada").await;
    server.user("bob").await;
    let bob = server.sign_in("bob").await;
    let browsers = [server.sign_in("ada").await, sign_in_remembered(&server).await];
    // A rejected password keeps the sessions.
    assert_eq!(server.admin.put(&format!("/users/{id}"), &[("password", "password1")]).await.status, 400);
    assert_eq!(browsers[0].viewer().await.as_deref(), Some("ada"));
    assert_eq!(server.admin.put(&format!("/users/{id}"), &[("password", NEW_PASSWORD)]).await.status, 200);
    for browser in &browsers {
        assert_eq!(browser.viewer().await, None);
    }
    assert_eq!((bob.viewer().await.as_deref(), count_sessions(&server).await), (Some("bob"), 1));
    assert_eq!(server.browser().sign_in("ada", PASSWORD).await.status, 422);
    let browser = server.browser();
    assert_eq!(browser.sign_in("ada", NEW_PASSWORD).await.status, 303);
    user::reset_password(&server.app, &Actor::Operator, id, PASSWORD).await.unwrap();
    assert_eq!((browser.viewer().await, count_sessions(&server).await), (None, 1));
}

#[tokio::test]
async fn users_who_change_their_password_stay_signed_in_here_only() {
    let server = Server::start().await;
    server.user("ada").await;
    let (here, elsewhere) = (server.sign_in("ada").await, server.sign_in("ada").await);
    let secret = here.cookie("holdfast").unwrap();
    let found = browser_session::authenticate(&server.app, &secret, None, ADDRESS).await.unwrap();
    let (actor, session) = found.unwrap();
    let change =
        |current_password| ChangePassword { current_password, new_password: NEW_PASSWORD, session: Some(session.id) };
    assert!(user::change_own_password(&server.app, &actor, change("wrong password")).await.is_err());
    assert_eq!(elsewhere.viewer().await.as_deref(), Some("ada"));
    user::change_own_password(&server.app, &actor, change(PASSWORD)).await.unwrap();
    assert_eq!(here.viewer().await.as_deref(), Some("ada"));
    assert_eq!((elsewhere.viewer().await, count_sessions(&server).await), (None, 1));
}

/// During a rolling upgrade, a node that does not know browser sessions sets a password and deletes no session.
#[tokio::test]
async fn a_password_that_an_older_node_sets_ends_browser_sessions() {
    let server = Server::start().await;
    let (id, _) = server.user("ada").await;
    server.user("bob").await;
    let browser = server.sign_in("ada").await;
    let statement = "update users set password_hash = (select password_hash from users where username = 'bob') \
                     where id = $1";
    sqlx::query(statement).bind(id.get()).execute(&mut server.database().await).await.unwrap();
    assert_eq!((browser.viewer().await, count_sessions(&server).await), (None, 1));
}

#[tokio::test]
async fn blocked_users_are_signed_out_of_pages_at_once() {
    let server = Server::start().await;
    let (id, _) = server.user("ada").await;
    let browser = server.sign_in("ada").await;
    let other_node = browser.for_node(&server.another_node().await);
    assert_eq!(other_node.viewer().await.as_deref(), Some("ada"));
    let copy = browser.copy();
    assert!(server.admin.put(&format!("/users/{id}/block"), &[]).await.status < 300);
    assert_eq!((browser.viewer().await, count_sessions(&server).await), (None, 0));
    let page = server.browser().sign_in("ada", PASSWORD).await;
    assert_eq!(page.status, 422);
    // The sessions do not return with the account.
    assert!(server.admin.put(&format!("/users/{id}/unblock"), &[]).await.status < 300);
    assert_eq!((copy.viewer().await, count_sessions(&server).await), (None, 0));
}

#[tokio::test]
async fn deleted_users_are_signed_out_of_pages() {
    let server = Server::start().await;
    let (id, _) = server.user("ada").await;
    let browser = server.sign_in("ada").await;
    assert!(server.admin.delete(&format!("/users/{id}")).await.status < 300);
    server.run_jobs().await;
    assert_eq!((browser.viewer().await, count_sessions(&server).await), (None, 0));
}

#[tokio::test]
async fn only_the_fifty_newest_sessions_of_a_user_are_kept() {
    let server = Server::start().await;
    server.user("ada").await;
    server.user("bob").await;
    let bob = server.sign_in("bob").await;
    let client = SessionClient { address: ADDRESS, agent: "test" };
    let mut secrets = Vec::new();
    for number in 0..52 {
        let created = browser_session::create(&server.app, "ada", PASSWORD, number % 2 == 0, client).await;
        secrets.push(created.unwrap().0);
    }
    assert_eq!(count_sessions(&server).await, 51);
    for (number, secret) in secrets.iter().enumerate() {
        let found = browser_session::authenticate(&server.app, secret, None, ADDRESS).await.unwrap();
        assert_eq!(found.is_some(), number >= 2, "{number}");
    }
    assert_eq!(bob.viewer().await.as_deref(), Some("bob"));
}
