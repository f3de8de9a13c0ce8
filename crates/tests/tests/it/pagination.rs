use holdfast_tests::Server;

pub async fn add_users(server: &Server, count: i32) {
    sqlx::query(
        "insert into users (username, name, email, password_hash, can_create_group, projects_limit, created_at, updated_at)
         select 'u' || n, 'n', 'u' || n || '@example.com', '', true, 0, now(), now() from generate_series(1, $1) n",
    )
    .bind(count)
    .execute(&mut server.database().await)
    .await
    .unwrap();
}

fn page_headers(response: &holdfast_tests::TestResponse) -> Vec<(&'static str, Option<&str>)> {
    ["x-page", "x-per-page", "x-next-page", "x-prev-page", "x-total", "x-total-pages"]
        .map(|name| (&name[2..], response.header(name)))
        .to_vec()
}

#[tokio::test]
async fn lists_link_to_their_other_pages() {
    let server = Server::start().await;
    add_users(&server, 24).await;
    let middle = server.admin.get("/users?per_page=10&page=2&search=u&private_token=").await;
    assert_eq!(middle.status, 401, "an empty token is a wrong one");
    let middle = server.admin.get("/users?per_page=10&page=2&search=example%40x%26y").await;
    assert_eq!(middle.ids(), [] as [i64; 0]);
    let middle = server.admin.get("/users?per_page=10&page=2&active=true").await;
    assert_eq!(middle.ids(), (6..=15).rev().collect::<Vec<i64>>());
    insta::assert_debug_snapshot!(page_headers(&middle), @r#"
    [
        (
            "page",
            Some(
                "2",
            ),
        ),
        (
            "per-page",
            Some(
                "10",
            ),
        ),
        (
            "next-page",
            Some(
                "3",
            ),
        ),
        (
            "prev-page",
            Some(
                "1",
            ),
        ),
        (
            "total",
            Some(
                "25",
            ),
        ),
        (
            "total-pages",
            Some(
                "3",
            ),
        ),
    ]
    "#);
    insta::assert_snapshot!(middle.header("link").unwrap().replace(", ", "\n"), @r#"
    <http://holdfast.test/api/v3/users?active=true&page=1&per_page=10>; rel="prev"
    <http://holdfast.test/api/v3/users?active=true&page=3&per_page=10>; rel="next"
    <http://holdfast.test/api/v3/users?active=true&page=1&per_page=10>; rel="first"
    <http://holdfast.test/api/v3/users?active=true&page=3&per_page=10>; rel="last"
    "#);
    let last = server.admin.get("/users?per_page=10&page=3").await;
    assert_eq!((last.ids().len(), last.header("x-next-page")), (5, Some("")));
    let beyond = server.admin.get("/users?per_page=10&page=9").await;
    assert_eq!(beyond.text, "[]");
    insta::assert_debug_snapshot!(page_headers(&beyond), @r#"
    [
        (
            "page",
            Some(
                "9",
            ),
        ),
        (
            "per-page",
            Some(
                "10",
            ),
        ),
        (
            "next-page",
            Some(
                "",
            ),
        ),
        (
            "prev-page",
            Some(
                "8",
            ),
        ),
        (
            "total",
            Some(
                "25",
            ),
        ),
        (
            "total-pages",
            Some(
                "3",
            ),
        ),
    ]
    "#);
}

#[tokio::test]
async fn invalid_page_parameters_give_the_first_page_and_the_maximum_is_100() {
    let server = Server::start().await;
    add_users(&server, 120).await;
    for query in ["", "?page=0", "?page=-1", "?page=x&per_page=y", "?per_page=0", "?page=99999999999999999999"] {
        let answer = server.admin.get(&format!("/users{query}")).await;
        assert_eq!((answer.ids().len(), answer.header("x-page")), (20, Some("1")), "{query}");
    }
    assert_eq!(server.admin.get("/users?per_page=1000").await.ids().len(), 100);
    let far = server.admin.get("/users?page=9223372036854775807&per_page=100").await;
    assert_eq!((far.status, far.text.as_str()), (200, "[]"));
}

#[tokio::test]
async fn links_never_repeat_a_token() {
    let server = Server::start().await;
    let token = server.admin.token();
    let answer = server.anonymous().get(&format!("/users?private_token={token}&sudo=root&per_page=1")).await;
    let link = answer.header("link").unwrap();
    assert!(!link.contains(token) && !link.contains("sudo"), "{link}");
}

#[tokio::test]
async fn totals_beyond_ten_thousand_are_left_out() {
    let server = Server::start().await;
    add_users(&server, 9_999).await;
    let exact = server.admin.get("/users").await;
    assert_eq!((exact.header("x-total"), exact.header("x-total-pages")), (Some("10000"), Some("500")));
    server.user("one-more").await;
    // The second response takes the total from the cache, without counting.
    for _ in 0..2 {
        let large = server.admin.get("/users?page=2").await;
        assert_eq!(large.ids().len(), 20);
        assert_eq!((large.header("x-total"), large.header("x-total-pages")), (None, None));
        assert_eq!(large.header("x-next-page"), Some("3"));
        assert!(!large.header("link").unwrap().contains("last"));
    }
    let end = server.admin.get("/users?page=501").await;
    assert_eq!((end.ids().len(), end.header("x-next-page")), (1, Some("")));
}
