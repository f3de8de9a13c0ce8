//! Trees, files, archives and comparisons: cases that no random repository shows. `git_differential` compares the
//! results with git.

use std::time::{Duration, Instant};

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::{Value, json};

async fn set_up() -> (Server, Client, String, WorkTree) {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    (server, ada, format!("/projects/{project}/repository"), tree)
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn missing_revisions_and_paths_are_not_found() {
    let (server, ada, api, tree) = set_up().await;
    let get = async |path: &str| {
        let answer = ada.get(&format!("{api}{path}")).await;
        (answer.status, answer.body)
    };
    let not_found = |what: &str| (404, json!({ "message": format!("404 {what} Not Found") }));
    // The repository has no commits.
    assert_eq!(get("/tree").await, not_found("Tree"));
    assert_eq!(get("/archive").await, not_found("File"));
    assert_eq!(get("/blobs/main?filepath=f").await, not_found("Commit"));
    assert_eq!(get("/contributors").await, (404, json!({ "message": "404 Not Found" })));
    assert_eq!(get("/branches").await, (200, json!([])));
    assert_eq!(get("/tags").await, (200, json!([])));

    tree.commit("d/f", b"f\n", "one").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    assert_eq!(get("/tree?ref_name=none").await, not_found("Tree"));
    assert_eq!(get("/tree?path=none").await, (200, json!([])));
    assert_eq!(get("/tree?path=d/f").await, (200, json!([])), "a file is no directory");
    assert_eq!(get("/tree?path=d&page=2").await, (200, json!([])));
    assert_eq!(get("/blobs/none?filepath=d/f").await, not_found("Commit"));
    assert_eq!(get("/blobs/main?filepath=d").await, not_found("File"), "a directory is no file");
    assert_eq!(get("/blobs/main?filepath=d/f/g").await, not_found("File"));
    let missing = json!({ "message": "400 (Bad request) \"filepath\" not given" });
    assert_eq!(get("/blobs/main").await, (400, missing));
    let head = tree.head().await;
    assert_eq!(get(&format!("/raw_blobs/{head}")).await, not_found("Blob"), "a commit is no blob");
    assert_eq!(get("/compare?from=main&to=none").await, not_found("Commit"));
    assert_eq!(get("/compare?from=main").await, (400, json!({ "error": "to is missing" })));
}

#[tokio::test]
async fn revisions_are_resolved_like_git() {
    let (server, ada, api, tree) = set_up().await;
    tree.commit("f", b"1\n", "one").await;
    tree.git(["checkout", "-q", "-b", "side"]).await.ok();
    tree.commit("g", b"2\n", "two").await;
    tree.git(["checkout", "-q", "main"]).await.ok();
    tree.commit("h", b"3\n", "three").await;
    tree.git(["merge", "-q", "--no-ff", "-m", "four", "side"]).await.ok();
    tree.git(["tag", "-a", "v1", "-m", "one", "main~1"]).await.ok();
    tree.git(["tag", "-a", "v2", "-m", "a tag of a tag", "v1"]).await.ok();
    // If a branch and a tag have the same name, the tag takes precedence.
    tree.git(["branch", "v1", "main"]).await.ok();
    tree.push(&server.git_url(&ada, "ada/p"), &["--all"]).await.ok();
    tree.push(&server.git_url(&ada, "ada/p"), &["--tags"]).await.ok();
    let head = tree.head().await;
    let (short, shouted) = (head[..7].to_owned(), head.to_uppercase());
    for text in [
        "main",
        "side",
        "v1",
        "v2",
        "refs/heads/v1",
        "refs/tags/v1",
        "HEAD",
        "HEAD~1",
        "main~2",
        "main^2",
        "main^2~1",
        "HEAD^0",
        "main~",
        "main^^",
        "v1~1",
        &head,
        &short,
        &shouted,
    ] {
        let asked = format!("{text}^{{commit}}");
        let id = tree.git(["rev-parse", &asked]);
        let id = id.await.ok().line().to_owned();
        let answer = ada.get(&format!("{api}/archive.tar?sha={}", text.replace('^', "%5E"))).await;
        assert_eq!(answer.status, 200, "{text}");
        let disposition = answer.header("content-disposition").unwrap();
        assert!(disposition.ends_with(&format!("-{id}.tar\"")), "{text}: {disposition} {id}");
    }
    let spoiled = format!("{}0{}", &head[..6], if &head[7..8] == "0" { "1" } else { "0" });
    for text in [
        "none",
        "main~9",
        "main^3",
        "main:f",
        "main^{tree}",
        "@{-1}",
        "main..side",
        "-h",
        "--output=/tmp/x",
        "..",
        ".",
        "../p",
        "main\n",
        "main\0",
        "*",
        "",
        "~1",
        &head[..3],
        &spoiled,
        "0000000000000000000000000000000000000000",
    ] {
        let query = [("filepath", "f")];
        let path = format!("{api}/blobs/{}", percent_encode(text));
        let answer = ada.send(ada.request("GET", &path).query(&query)).await;
        let trimmed = text == "main\n" && answer.status == 200;
        assert!(answer.status == 404 || answer.status == 400 || trimmed, "{text:?}: {} {}", answer.status, answer.text);
        let answer = ada.send(ada.request("GET", &format!("{api}/compare")).query(&[("from", text), ("to", "main")]));
        let answer = answer.await;
        let trimmed = text == "main\n" && answer.status == 200;
        assert!(answer.status == 404 || answer.status == 400 || trimmed, "{text:?}: {} {}", answer.status, answer.text);
    }
}

/// A prefix of an id is resolved as long as it is unambiguous.
#[tokio::test]
async fn ambiguous_short_ids_are_not_resolved() {
    let (server, ada, api, tree) = set_up().await;
    // The ids of the files "4827\n" and "11742\n" begin with the same seven digits.
    for number in [4827, 11742, 1] {
        tree.commit(&format!("f{number}"), format!("{number}\n").as_bytes(), "more").await;
    }
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    let mut ids = Vec::new();
    for number in [4827, 11742, 1] {
        ids.push(tree.git(["rev-parse", &format!("main:f{number}")]).await.ok().line().to_owned());
    }
    let [one, other, alone] = &ids[..] else { unreachable!() };
    assert_eq!(one[..7], other[..7]);
    let status = async |id: &str| ada.get(&format!("{api}/raw_blobs/{id}")).await.status;
    assert_eq!(status(&alone[..7]).await, 200);
    assert_eq!(status(&alone[..6]).await, 404, "too short");
    assert_eq!(status(&one[..7]).await, 404, "ambiguous");
    for id in [&one[..20], &other[..20], one, other] {
        assert_eq!(status(id).await, 200);
    }
}

/// A commit names its encoding, and git converts it to UTF-8. So does every response that shows it.
#[tokio::test]
async fn commits_in_other_encodings_are_shown_in_utf8() {
    let (server, ada, api, tree) = set_up().await;
    let mut stream =
        b"commit refs/heads/main\nauthor L\xe9o <l\xe9o@x> 1 +0000\ncommitter L\xe9o <l\xe9o@x> 1 +0000\n".to_vec();
    stream.extend_from_slice(b"encoding ISO-8859-1\ndata 4\n\xe9t\xe9\n");
    tree.fast_import(stream).await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    let commit = ada.get(&format!("{api}/branches/main")).await.body["commit"].clone();
    assert_eq!((&commit["author_name"], &commit["message"]), (&json!("Léo"), &json!("été\n")));
    let person = ada.get(&format!("{api}/contributors")).await.body[0].clone();
    assert_eq!((&person["name"], &person["email"]), (&json!("Léo"), &commit["author_email"]));
}

fn percent_encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn archive_names_contain_project_ref_and_commit() {
    let (server, ada, api, tree) = set_up().await;
    let id = tree.commit("f", b"f\n", "one").await;
    tree.git(["branch", "feature/ünï\"code"]).await.ok();
    tree.push(&server.git_url(&ada, "ada/p"), &["--all"]).await.ok();
    for (path, name, kind) in [
        ("/archive", format!("p-main-{id}.tar.gz"), "application/octet-stream"),
        ("/archive.tgz?sha=main", format!("p-main-{id}.tar.gz"), "application/octet-stream"),
        ("/archive.tbz2", format!("p-main-{id}.tar.bz2"), "application/octet-stream"),
        ("/archive.tar", format!("p-main-{id}.tar"), "application/octet-stream"),
        ("/archive.zip", format!("p-main-{id}.zip"), "application/zip"),
        (
            "/archive?sha=feature/%C3%BCn%C3%AF%22code",
            format!("p-feature--n--code-{id}.tar.gz"),
            "application/octet-stream",
        ),
    ] {
        let answer = ada.get(&format!("{api}{path}")).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-disposition"), Some(&*format!("attachment; filename=\"{name}\"")), "{path}");
        assert_eq!(answer.header("content-type"), Some(kind));
        assert_eq!(answer.header("content-transfer-encoding"), Some("binary"));
    }
    assert_eq!(ada.get(&format!("{api}/archive.rar")).await.status, 404);
}

/// Files and directories that are too large for memory are streamed from git.
#[tokio::test]
async fn large_files_and_directories_are_streamed() {
    let (server, ada, api, tree) = set_up().await;
    let large: Vec<u8> = (0..6_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut stream = format!("blob\nmark :1\ndata {}\n", large.len()).into_bytes();
    stream.extend_from_slice(&large);
    stream.extend_from_slice(
        b"\nblob\nmark :2\ndata 2\nf\n\ncommit refs/heads/main\ncommitter A <a@b> 1 +0000\ndata 1\nm\n",
    );
    stream.extend_from_slice(b"M 100644 :1 large\n");
    for n in 0..35_000 {
        stream.extend_from_slice(format!("M 100644 :2 many/file{n:06}\n").as_bytes());
    }
    stream.extend_from_slice(b"M 100644 :2 many/below/deep/f\nM 100644 :2 many/zelow/f\nM 160000 0123456789012345678901234567890123456789 many/module\n");
    tree.fast_import(stream).await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    let get = async |path: &str| ada.request("GET", &format!("{api}{path}")).send().await.unwrap();
    let blob = tree.git(["rev-parse", "main:large"]).await.ok().line().to_owned();
    for path in ["/blobs/main?filepath=large", &format!("/raw_blobs/{blob}")] {
        let answer = get(path).await;
        assert_eq!(answer.headers()["content-length"], "6000000");
        assert!(answer.bytes().await.unwrap() == large, "{path}");
    }
    for (path, status) in
        [("many/file034999", 200), ("many/below/deep/f", 200), ("many/below", 404), ("many/file0/f", 404)]
    {
        assert_eq!(get(&format!("/blobs/main?filepath={path}")).await.status(), status, "{path}");
    }
    let page = async |query: &str| ada.get(&format!("{api}/tree?{query}")).await;
    let first = page("path=many&per_page=3").await;
    assert_eq!(names(&first.body), ["many/below", "many/zelow", "many/file000000"]);
    assert_eq!((first.header("x-total"), first.header("x-next-page")), (None, Some("2")), "not counted so far");
    let last = page("path=many&per_page=100&page=351").await;
    assert_eq!(names(&last.body), ["many/file034998", "many/file034999", "many/module"]);
    assert_eq!(last.header("x-next-page"), Some(""));
    let all = page("recursive=true&per_page=5").await;
    assert_eq!(names(&all.body), ["many", "many/below", "many/below/deep", "many/zelow", "large"]);
    let below = page("recursive=true&path=many/below").await;
    assert_eq!(names(&below.body), ["many/below/deep", "many/below/deep/f"]);
    assert_eq!(below.header("x-total"), Some("2"));
    assert_eq!(names(&page("recursive=true&per_page=100&page=351").await.body).last(), Some(&"many/module"));
}

/// Diffs in comparisons are limited in size, and the response says that they were truncated.
#[tokio::test]
async fn large_comparisons_are_truncated() {
    let (server, ada, api, tree) = set_up().await;
    tree.commit("f", b"f\n", "one").await;
    let url = server.git_url(&ada, "ada/p");
    tree.push(&url, &["main"]).await.ok();
    let compare = async |from: &str, to: &str| {
        let answer = ada.get(&format!("{api}/compare?from={from}&to={to}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body
    };
    for (branch, files, size, too_large, shown) in
        [("files", 101, 2, true, true), ("hundred", 100, 2, false, true), ("long", 1, 102_400, false, false)]
    {
        tree.git(["checkout", "-q", "-b", branch, "main"]).await.ok();
        for n in 0..files {
            std::fs::write(tree.path().join(format!("new{n}")), "x\n".repeat(size / 2)).unwrap();
        }
        tree.git(["add", "."]).await.ok();
        tree.git(["commit", "-q", "-m", branch]).await.ok();
        tree.push(&url, &[branch]).await.ok();
        let body = compare("main", branch).await;
        // The branch `long` exceeds the maximum number of lines.
        assert_eq!(body["compare_timeout"], too_large || branch == "long", "{branch}");
        let diffs = body["diffs"].as_array().unwrap();
        assert_eq!(diffs.len(), files);
        assert_eq!(!diffs[0]["diff"].as_str().unwrap().is_empty(), shown, "{branch}");
        assert_eq!(compare(branch, branch).await["compare_same_ref"], true);
    }
    // A single line of 10 MB is not shown either.
    tree.commit("line", &vec![b'x'; 10 << 20], "line").await;
    tree.push(&url, &["HEAD:line"]).await.ok();
    let body = compare("long", "line").await;
    assert_eq!((&body["diffs"][0]["diff"], &body["compare_timeout"]), (&json!(""), &json!(true)));
}

/// git is killed when the client disconnects.
#[tokio::test]
async fn git_is_killed_when_the_client_disconnects() {
    let (server, ada, api, tree) = set_up().await;
    let noise: Vec<u8> = (0..40_000_000_u64).map(|n| (n.wrapping_mul(6_364_136_223_846_793_005) >> 56) as u8).collect();
    tree.commit("noise", &noise, "noise").await;
    let id = tree.head().await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    for (path, word) in [
        ("/archive.tar", format!("p-main-{id}")),
        ("/archive.tar.bz2", format!("p-main-{id}")),
        ("/blobs/main?filepath=noise", tree.git(["rev-parse", "main:noise"]).await.ok().line().to_owned()),
    ] {
        let mut answer = ada.request("GET", &format!("{api}{path}")).send().await.unwrap();
        answer.chunk().await.unwrap().unwrap();
        assert!(is_git_running(&word), "{path}");
        drop(answer);
        let deadline = Instant::now() + Duration::from_secs(90);
        while is_git_running(&word) {
            assert!(Instant::now() < deadline, "{path}: git still works for nobody");
            tokio::task::yield_now().await;
        }
    }
}

/// Returns whether a git process with this argument is running.
fn is_git_running(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut command_lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    command_lines.any(|line| {
        let line = String::from_utf8_lossy(&line);
        line.contains("git") && line.contains(argument)
    })
}
