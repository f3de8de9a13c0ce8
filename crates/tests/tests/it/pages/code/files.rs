//! Archives, the search for files, last commits, and commits of lines.

use std::time::Duration;

use holdfast_tests::{Browser, Server, WorkTree};
use sha2::{Digest, Sha256};

use super::Fixture;

#[tokio::test]
async fn archives_are_offered_and_have_the_files_of_the_revision() {
    let fixture = Fixture::new().await;
    let browser = fixture.server.browser();
    let home = browser.get("/ada/tide").await;
    let offered = home.attributes("#clone a[download]", "href");
    let expected = ["zip", "tar.gz", "tar.bz2"].map(|format| format!("/ada/tide/archive/main.{format}"));
    assert_eq!(offered, expected);
    let tree = browser.get("/ada/tide/tree/topic/a").await;
    assert!(
        tree.attributes("#download a", "href").contains(&"/ada/tide/archive/topic/a.zip".to_owned()),
        "{}",
        tree.text
    );
    for path in offered.iter().map(String::as_str).chain(["/ada/tide/archive/topic/a.tar"]) {
        let response = browser.get(path).await;
        assert_eq!(response.status, 200, "{path}");
        let disposition = response.header("content-disposition").unwrap();
        assert!(disposition.starts_with("attachment; filename=\"tide-"), "{disposition}");
        assert_eq!(response.header("content-security-policy"), Some("sandbox; default-src 'none'"), "{path}");
        assert_eq!(response.header("content-encoding"), None, "{path}");
    }
    let tar = browser.get("/ada/tide/archive/main.tar").await;
    assert!(tar.text.contains("src/main.rs") && tar.text.contains("two();"));
    let tar = browser.get(&format!("/ada/tide/archive/{}.tar", fixture.first)).await;
    assert!(tar.text.contains("one();") && !tar.text.contains("README.md"));
    for missing in ["main", "main.rar", "missing.zip", ".zip"] {
        assert_eq!(browser.get(&format!("/ada/tide/archive/{missing}")).await.status, 404, "{missing}");
    }
}

/// A page about a file at a commit is not rendered again for a browser that has it. The tag depends on everything that
/// the page shows, and is compared after the permission has been checked.
#[tokio::test]
async fn files_that_the_browser_has_are_not_sent_again() {
    let fixture = Fixture::new().await;
    let (server, ada) = (&fixture.server, fixture.server.sign_in("ada").await);
    let url = server.git_url(&fixture.ada, "ada/tide");
    // A text without a syntax: highlighting can fail on a busy machine, and the page is not final then.
    let first = fixture.tree.commit("notes.txt", b"one\n", "Add notes").await;
    fixture.tree.push(&url, &["main"]).await.ok();
    let get = async |browser: &Browser, path: &str, tag: &str| {
        browser.send(browser.request("GET", path).header("if-none-match", tag)).await
    };
    // The first page may have been sent before all its lines were highlighted. Its tag is then a digest of the page.
    let final_tag = async |browser: &Browser, path: &str| {
        let poll = async {
            loop {
                let page = browser.get(path).await;
                let tag = page.header("etag").unwrap().to_owned();
                let digest: String =
                    Sha256::digest(&page.text)[..16].iter().map(|byte| format!("{byte:02x}")).collect();
                if tag != format!("W/\"{digest}\"") {
                    assert_eq!(get(browser, path, &tag).await.status, 304, "{path}");
                    return tag;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), poll).await.expect("the page is never complete")
    };
    let permanent = format!("/ada/tide/blob/{first}/notes.txt");
    for path in [permanent.as_str(), "/ada/tide/blob/main/notes.txt", "/ada/tide/blame/main/notes.txt"] {
        let tag = final_tag(&ada, path).await;
        let unchanged = get(&ada, path, &tag).await;
        assert_eq!((unchanged.text.as_str(), unchanged.header("etag")), ("", Some(tag.as_str())), "{path}");
        for other in [server.browser(), server.sign_in("eve").await] {
            assert_eq!(get(&other, path, &tag).await.status, 200, "{path}");
        }
    }
    let raw = "/ada/tide/raw/main/notes.txt";
    let (tag, raw_tag) = (final_tag(&ada, "/ada/tide/blob/main/notes.txt").await, final_tag(&ada, raw).await);
    let permanent_tag = final_tag(&ada, &permanent).await;
    // A new commit changes what the branch shows, but not what the commit shows.
    fixture.tree.commit("notes.txt", b"three\n", "Change it again").await;
    fixture.tree.push(&url, &["main"]).await.ok();
    assert!(get(&ada, "/ada/tide/blob/main/notes.txt", &tag).await.text.contains("three"));
    assert!(get(&ada, raw, &raw_tag).await.text.contains("three"));
    assert_eq!(get(&ada, &permanent, &permanent_tag).await.status, 304);
    // The frame of the page has the name of the project.
    let path = format!("/projects/{}", fixture.project);
    assert_eq!(fixture.ada.put(&path, &[("name", "Tides")]).await.status, 200);
    assert!(get(&ada, &permanent, &permanent_tag).await.text.contains("Tides"));
    // What was stored keeps its headers.
    let unchanged = get(&ada, raw, &final_tag(&ada, raw).await).await;
    assert_eq!(unchanged.header("content-security-policy"), Some("sandbox; default-src 'none'"));
    // A tag does not show what is hidden.
    let eve = server.sign_in("eve").await;
    let tag = final_tag(&eve, &permanent).await;
    assert_eq!(fixture.ada.put(&path, &[("visibility_level", "0")]).await.status, 200);
    let members = fixture.api("/members").await;
    let member = members.as_array().unwrap().iter().find(|member| member["username"] == "eve").unwrap();
    let member = format!("{path}/members/{}", member["id"]);
    assert_eq!(get(&eve, &permanent, &final_tag(&eve, &permanent).await).await.status, 304);
    assert_eq!(fixture.ada.delete(&member).await.status, 200);
    for tag in [tag.as_str(), "*"] {
        assert_eq!(get(&eve, &permanent, tag).await.status, 404);
    }
}

#[tokio::test]
async fn an_empty_repository_is_filled_over_http_or_ssh() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "new", 20).await;
    let page = server.sign_in("ada").await.get("/ada/new").await;
    let addresses = page.texts(".copy code");
    assert!(addresses[0].starts_with("http") && addresses[0].ends_with("/ada/new.git"), "{addresses:?}");
    assert!(addresses[1].contains('@') && addresses[1].ends_with("ada/new.git"), "{addresses:?}");
    assert!(page.texts(".commands").iter().all(|text| text.contains(&addresses[0])), "{}", page.text);
    assert_eq!(page.texts("main a[href='/profile/keys']"), ["Add an SSH key"]);
    assert!(server.browser().get("/ada/new").await.attributes("a[href='/profile/keys']", "href").is_empty());
}

#[tokio::test]
async fn files_are_found_by_parts_of_their_paths() {
    let fixture = Fixture::new().await;
    let browser = fixture.server.browser();
    let home = browser.get("/ada/tide").await;
    assert!(home.attributes("a", "href").contains(&"/ada/tide/find/main".to_owned()));
    let page = browser.get("/ada/tide/find/main").await;
    assert_eq!(page.texts(".found-file"), ["README.md", "src/main.rs"]);
    assert_eq!(page.attributes("[autofocus]", "name"), ["path"]);
    let found = browser.submit(&page.form("form[role='search']").set("path", "M")).await;
    assert_eq!(found.texts(".found-file"), ["README.md", "src/main.rs"]);
    assert_eq!(found.attributes("a.found-file", "href")[1], "/ada/tide/blob/main/src/main.rs");
    // The only file that matches is opened.
    let found = browser.submit(&page.form("form[role='search']").set("path", "MAIN src")).await;
    assert_eq!((found.status, found.location()), (303, Some("/ada/tide/blob/main/src/main.rs")));
    let found = browser.get("/ada/tide/find/main?path=nothing").await;
    assert_eq!((found.status, found.texts(".empty h2")), (200, vec!["No files match".to_owned()]));
    let first = browser.get(&format!("/ada/tide/find/{}", fixture.first)).await;
    assert_eq!(first.texts(".found-file"), ["src/main.rs"]);
    assert_eq!(browser.get("/ada/tide/find/missing").await.status, 404);
}

#[tokio::test]
async fn pages_lead_to_other_branches_and_tags() {
    let fixture = Fixture::new().await;
    fixture.tree.git(["tag", "v1", &fixture.first]).await.ok();
    fixture.tree.push(&fixture.server.git_url(&fixture.ada, "ada/tide"), &["v1"]).await.ok();
    let browser = fixture.server.browser();
    for (path, expected) in [
        ("", "tree/v1"),
        ("/tree/main", "tree/v1"),
        ("/tree/topic/a/src", "tree/v1/src"),
        ("/blob/main/src/main.rs", "blob/v1/src/main.rs"),
        ("/blame/main/src/main.rs", "blame/v1/src/main.rs"),
        ("/commits/main", "commits/v1"),
        ("/commits/topic/a/src", "commits/v1/src"),
    ] {
        let page = browser.get(&format!("/ada/tide{path}")).await;
        assert_eq!(page.attributes("button[popovertarget='switch']", "type"), ["button"], "{path}");
        let links = page.attributes("#switch a", "href");
        let default = if path.starts_with("/commits") { "/ada/tide/commits/main" } else { "/ada/tide/tree/main" };
        assert!(links[0].starts_with(default), "{path}: {links:?}");
        assert_eq!(links[1..], ["/ada/tide/branches", "/ada/tide/tags"], "{path}");
        let form = page.form("#switch form");
        let sent = browser.submit(&form.clone().set("ref", " v1 ")).await;
        let expected = format!("/ada/tide/{expected}");
        assert_eq!((sent.status, sent.location()), (303, Some(expected.as_str())), "{path}");
        assert_eq!(browser.get(&expected).await.status, 200, "{expected}");
        let missing = browser.submit(&form.set("ref", "missing")).await;
        assert_eq!(missing.status, 404, "{path}");
    }
    let without_ref = browser.get("/ada/tide/tree").await;
    assert_eq!((without_ref.status, without_ref.location()), (303, Some("/ada/tide")));
    // The whole id of a commit is shortened.
    let permalink = browser.get(&format!("/ada/tide/tree/{}", fixture.first)).await;
    assert_eq!(permalink.texts("button[popovertarget='switch'] bdi"), [&fixture.first[..8]]);
    assert_eq!(permalink.attributes("button[popovertarget='switch']", "title"), [fixture.first.as_str()]);
    // A page would read this revision as the branch `topic` with the path `a~1`, so the id of the commit is used.
    let second = fixture.second.as_str();
    let form = browser.get("/ada/tide").await.form("#switch form");
    let sent = browser.submit(&form.set("ref", "topic/a~1")).await;
    assert_eq!((sent.status, sent.location()), (303, Some(format!("/ada/tide/tree/{second}").as_str())));
    let found = browser.get("/ada/tide/find/topic/a~1?path=read").await;
    assert_eq!((found.status, found.location()), (303, Some(format!("/ada/tide/blob/{second}/README.md").as_str())));
    // A tag is preferred to a branch of the same name.
    fixture.tree.git(["tag", "main", &fixture.first]).await.ok();
    let url = fixture.server.git_url(&fixture.ada, "ada/tide");
    fixture.tree.push(&url, &["refs/tags/main:refs/tags/main"]).await.ok();
    for path in ["", "/tree/v1", "/blob/v1/src/main.rs", "/blame/v1/src/main.rs"] {
        let links = browser.get(&format!("/ada/tide{path}")).await.attributes("#switch a", "href");
        assert_eq!(links[0], "/ada/tide/tree/refs/heads/main", "{path}");
    }
}

#[tokio::test]
async fn a_long_list_of_found_files_is_cut() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "many", 20).await;
    let tree = WorkTree::new().await;
    let mut stream = b"commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\ndata 1\nx\n".to_vec();
    for number in 0..250 {
        stream.extend(format!("M 100644 inline file{number:03}.txt\ndata 1\nx\n").as_bytes());
    }
    tree.fast_import(stream).await;
    tree.push(&server.git_url(&ada, "ada/many"), &["main"]).await.ok();
    let page = server.browser().get("/ada/many/find/main?path=file").await;
    assert_eq!(page.texts(".found-file").len(), 200);
    assert!(page.text.contains("Only the first 200 files are shown"), "{}", page.text);
    let page = server.browser().get("/ada/many/find/main?path=file24").await;
    assert_eq!(page.texts(".found-file").len(), 10);
    assert!(!page.text.contains("Only the first"));
}

#[tokio::test]
async fn directories_and_files_show_their_last_commits() {
    let fixture = Fixture::new().await;
    let browser = fixture.server.browser();
    for (path, expected) in [
        ("/ada/tide", vec!["src: Change the program", "README.md: Add a README"]),
        ("/ada/tide/tree/main", vec!["src: Change the program", "README.md: Add a README"]),
        ("/ada/tide/tree/main/src", vec!["main.rs: Change the program"]),
        ("/ada/tide/tree/main/src?last_commits=complete", vec!["main.rs: Change the program"]),
    ] {
        let page = browser.get(path).await;
        let (names, commits) = (page.texts(".tree-rows td:nth-child(1)"), page.texts(".tree-rows td:nth-child(2)"));
        let rows: Vec<String> = names.iter().zip(&commits).map(|(name, commit)| format!("{name}: {commit}")).collect();
        assert_eq!(rows, expected, "{path}");
        assert!(!page.text.contains("last commits are missing"), "{path}");
    }
    let at_first = browser.get(&format!("/ada/tide/tree/{}", fixture.second)).await;
    assert_eq!(at_first.texts(".tree-rows td:nth-child(2)"), ["Add the program", "Add a README"]);
    let expected = format!("/ada/tide/commit/{}", fixture.first);
    assert_eq!(at_first.attributes(".tree-rows td:nth-child(2) a", "href").first(), Some(&expected));
    let blob = browser.get("/ada/tide/blob/main/README.md").await;
    assert!(blob.texts(".panel header a.cut").contains(&"Add a README".to_owned()), "{}", blob.text);
}

/// A merge is the last commit of a file only if it differs from all parents, as for `git log`.
#[tokio::test]
async fn last_commits_follow_merges_as_git_log_does() {
    let fixture = Fixture::new().await;
    let tree = &fixture.tree;
    tree.git(["checkout", "-q", "-b", "side", &fixture.first]).await.ok();
    tree.commit("side.txt", b"side\n", "Add a side").await;
    tree.commit("src/side.rs", b"x\n", "Add a side file").await;
    tree.git(["checkout", "-q", "main"]).await.ok();
    tree.git(["merge", "-q", "--no-ff", "-m", "Merge the side", "side"]).await.ok();
    tree.push(&fixture.server.git_url(&fixture.ada, "ada/tide"), &["main"]).await.ok();
    let browser = fixture.server.browser();
    for (path, directory) in [("/ada/tide/tree/main", ""), ("/ada/tide/tree/main/src", "src/")] {
        let page = browser.get(path).await;
        let (names, commits) = (page.texts(".tree-rows td:nth-child(1)"), page.texts(".tree-rows td:nth-child(2)"));
        assert!(!names.is_empty());
        for (name, commit) in names.iter().zip(commits) {
            let file = format!("{directory}{name}");
            let expected = tree.git(["log", "-1", "--format=%s", "main", "--", &file]).await.ok();
            assert_eq!(commit, expected.line(), "{file}");
        }
    }
}

#[tokio::test]
async fn lines_are_shown_with_their_commits() {
    let fixture = Fixture::new().await;
    let browser = fixture.server.browser();
    let blob = browser.get("/ada/tide/blob/main/src/main.rs").await;
    assert!(blob.attributes("a", "href").contains(&"/ada/tide/blame/main/src/main.rs".to_owned()));
    let page = browser.get("/ada/tide/blame/main/src/main.rs").await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.texts("title")[0].starts_with("Blame of src/main.rs · ada/tide"), "{:?}", page.texts("title"));
    let history = browser.get("/ada/tide/commits/main/src/main.rs").await;
    assert!(history.texts("title")[0].starts_with("History of src/main.rs · ada/tide"), "{}", history.text);
    assert_eq!(history.texts("h1"), ["History of main.rs"]);
    let titles = page.texts(".blame-commit .strong");
    assert_eq!(titles, ["Add the program", "Change the program", "Add the program"]);
    assert_eq!(page.texts(".blame .l"), ["fn main() {", "two();", "}"]);
    // Only the second block has something before it.
    let before = page.attributes(".blame-commit a[title^='The file before']", "href");
    assert_eq!(before, [format!("/ada/tide/blame/{}/src/main.rs", fixture.second)]);
    let earlier = browser.get(&before[0]).await;
    assert_eq!(earlier.texts(".blame-commit .strong"), ["Add the program"]);
    for missing in ["main/missing", "main/src", "missing/README.md", "main/../README.md"] {
        assert_eq!(browser.get(&format!("/ada/tide/blame/{missing}")).await.status, 404, "{missing}");
    }
}

/// Names with special characters are read literally by git.
#[tokio::test]
async fn lines_of_files_with_special_names_are_shown() {
    let fixture = Fixture::new().await;
    let tree = &fixture.tree;
    for name in ["-n", ":(glob)*", "ä ö.txt", "a\"b"] {
        std::fs::write(tree.path().join(name), name).unwrap();
    }
    std::fs::write(tree.path().join("binary"), b"a\0b").unwrap();
    std::fs::write(tree.path().join("empty"), b"").unwrap();
    std::fs::write(tree.path().join("long"), "x\n".repeat(10_001)).unwrap();
    tree.git(["add", "-A"]).await.ok();
    tree.git(["commit", "-q", "-m", "Add special names"]).await.ok();
    tree.push(&fixture.server.git_url(&fixture.ada, "ada/tide"), &["main"]).await.ok();
    let browser = fixture.server.browser();
    for (address, text) in
        [("-n", "-n"), ("%3A(glob)*", ":(glob)*"), ("%C3%A4%20%C3%B6.txt", "ä ö.txt"), ("a%22b", "a\"b")]
    {
        let page = browser.get(&format!("/ada/tide/blame/main/{address}")).await;
        assert_eq!((page.status, page.texts(".blame .l")), (200, vec![text.to_owned()]), "{address}");
    }
    for (name, text) in [("binary", "binary"), ("empty", "empty"), ("long", "larger")] {
        let page = browser.get(&format!("/ada/tide/blame/main/{name}")).await;
        assert_eq!(page.status, 200);
        assert!(page.texts(".folded").iter().any(|shown| shown.contains(text)), "{name}: {}", page.text);
    }
}
