//! The import of a repository on the home page of its project.

use holdfast_tests::{Client, Server};

const SOURCE: &str = "https://git.example.com/tide.git";
const CANCEL: &str = "form[action='/ada/tide/import/cancel']";

/// Creates an empty public project whose import has not begun.
async fn create_import(ada: &Client) {
    let form = [("name", "tide"), ("import_url", SOURCE), ("visibility_level", "20")];
    let created = ada.post("/projects", &form).await;
    assert_eq!(created.status, 201, "{}", created.text);
}

#[tokio::test]
async fn a_running_import_is_shown_and_canceled() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("eve").await;
    create_import(&ada).await;
    let (owner, stranger) = (server.sign_in("ada").await, server.sign_in("eve").await);
    for browser in [&owner, &stranger] {
        let page = browser.get("/ada/tide").await;
        assert_eq!(page.texts("#import"), ["The repository is being imported"], "{}", page.text);
        assert_eq!(page.attributes("progress", "value"), ["0"]);
        assert!(!page.text.contains("git push"), "a push would make the import fail: {}", page.text);
    }
    assert!(stranger.get("/ada/tide").await.texts(CANCEL).is_empty());
    assert_eq!(stranger.post("/ada/tide/import/cancel", &[]).await.status, 403);
    assert_eq!(owner.get("/ada/tide").await.texts("#import").len(), 1);

    let canceled = owner.submit(&owner.get("/ada/tide").await.form(CANCEL)).await;
    assert_eq!((canceled.status, canceled.location()), (303, Some("/ada/tide")));
    let page = owner.get("/ada/tide").await;
    assert_eq!(page.texts("[role=status]"), ["The import was canceled."]);
    assert_eq!(page.texts("#empty-repository"), ["The repository is empty"]);
    let state = ada.get("/projects/ada%2Ftide/import").await;
    assert_eq!(state.body["phase"], "canceled", "{}", state.text);

    owner.post("/ada/tide/import/cancel", &[]).await;
    assert_eq!(owner.get("/ada/tide").await.texts("[role=status]"), ["No import is running."]);
}

#[tokio::test]
async fn a_failed_import_shows_its_reason_to_those_who_may_change_the_project() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("eve").await;
    create_import(&ada).await;
    sqlx::query("update imports set phase = 'failed', error = 'the host refused', finished_at = now()")
        .execute(&mut server.database().await)
        .await
        .unwrap();
    let page = server.sign_in("ada").await.get("/ada/tide").await;
    assert!(page.texts("[role=status]")[0].starts_with("The import failed: the host refused."), "{}", page.text);
    assert_eq!(page.texts("#empty-repository"), ["The repository is empty"]);
    let page = server.sign_in("eve").await.get("/ada/tide").await;
    assert!(!page.text.contains("the host refused"), "{}", page.text);
}
