//! The history of a project: commits, differences, comparisons, versions of branches and the ref log.

use std::fmt::Write as _;

use chrono::TimeDelta;
use holdfast_tests::{Browser, Client, PageResponse, Server, WorkTree};

use crate::projects::add_member;

/// A server with a public project `ada/p`, of which `dev` is a developer and `guest` a guest. `eve` is a stranger.
struct HistoryFixture {
    server: Server,
    ada: Client,
    url: String,
    tree: WorkTree,
}

impl HistoryFixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let project = server.project(&ada, "p", 20).await;
        for (name, level) in [("dev", 30), ("guest", 10)] {
            let id = server.user(name).await.0.get();
            add_member(&ada, &format!("/projects/{project}"), id, level).await;
        }
        server.user("eve").await;
        let url = server.git_url(&ada, "ada/p");
        Self { server, ada, url, tree: WorkTree::new().await }
    }

    async fn push(&self, refs: &[&str]) {
        self.tree.push(&self.url, refs).await.ok();
    }

    async fn commit(&self, file: &str, content: &str, message: &str) -> String {
        self.tree.commit(file, content.as_bytes(), message).await
    }

    /// Commits all changes of the work tree.
    async fn commit_all(&self, message: &str) -> String {
        self.tree.git(["add", "-A"]).await.ok();
        self.tree.git(["commit", "-q", "-m", message]).await.ok();
        self.tree.head().await
    }

    fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        let path = self.tree.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    async fn get(&self, path: &str) -> PageResponse {
        self.server.browser().get(&format!("/ada/p/{path}")).await
    }

    /// Opens a page that must exist and be complete.
    async fn open(&self, path: &str) -> PageResponse {
        let page = self.get(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        assert!(page.text.trim_end().ends_with("</html>"), "{path}: {}", page.text);
        assert!(!page.text.contains("was interrupted"), "{path}");
        page
    }
}

async fn open_as(browser: &Browser, path: &str) -> PageResponse {
    let page = browser.get(&format!("/ada/p/{path}")).await;
    assert_eq!(page.status, 200, "{path}: {}", page.text);
    page
}

/// Returns the number of lines of all files on a page.
fn line_count(page: &PageResponse) -> usize {
    page.texts(".diff td.x").len()
}

#[tokio::test]
async fn commits_are_listed_by_day_and_in_pages() {
    let fixture = HistoryFixture::new().await;
    let mut import = String::new();
    for number in 1..=120_u32 {
        let (text, file) = (format!("Change {number}"), if number % 40 == 0 { "docs/a b.md" } else { "f" });
        // Ten commits a day.
        let time = 1_767_225_600 + number / 10 * 86_400 + number;
        writeln!(
            import,
            "commit refs/heads/main\ncommitter Ada <ada@example.com> {time} +0000\ndata {}\n{text}\nM 100644 inline \"{file}\"\ndata {}\n{text}",
            text.len(),
            text.len()
        )
        .unwrap();
    }
    fixture.tree.fast_import(import.into_bytes()).await;
    fixture.push(&["main"]).await;
    let mut path = "commits/main".to_owned();
    let (mut titles, mut pages) = (Vec::new(), 0);
    loop {
        let page = fixture.open(&path).await;
        titles.extend(page.texts(".rows .title"));
        pages += 1;
        assert!(!page.texts("h2.day").is_empty(), "{path}");
        let Some(next) = page.attributes(".pages a[rel~='next']", "href").pop() else { break };
        path = next.trim_start_matches("/ada/p/").to_owned();
    }
    let expected: Vec<String> = (1..=120).rev().map(|number| format!("Change {number}")).collect();
    assert_eq!((pages, &titles), (3, &expected));
    let first = fixture.open("commits/main").await;
    assert_eq!(first.texts("h2.day").first().map(String::as_str), Some("13 Jan 2026"));
    let of_file = fixture.open("commits/main/docs/a%20b.md").await;
    assert_eq!(of_file.texts(".rows .title"), ["Change 120", "Change 80", "Change 40"]);
    assert_eq!(fixture.open("commits/main/docs").await.texts(".rows .title").len(), 3);
    // Characters with a meaning in paths of git are taken literally.
    assert!(fixture.open("commits/main/doc*").await.text.contains("No commits"));
    assert!(fixture.open("commits/main/%3A(glob)**").await.text.contains("No commits"));
    for missing in ["commits/nothing", "commits/main?after=zzz", "commits/--all"] {
        assert_eq!(fixture.get(missing).await.status, 404, "{missing}");
    }
    // The pages of code lead to the list.
    for (page, link) in [
        ("", "/ada/p/commits/main"),
        ("/tree/main/docs", "/ada/p/commits/main/docs"),
        ("/blob/main/docs/a%20b.md", "/ada/p/commits/main/docs/a%20b.md"),
    ] {
        let page = fixture.server.browser().get(&format!("/ada/p{page}")).await;
        assert!(page.attributes("a", "href").iter().any(|href| href == link), "{link}: {}", page.text);
    }
}

#[tokio::test]
async fn commits_show_the_status_of_their_newest_pipeline() {
    let fixture = HistoryFixture::new().await;
    let id = fixture.commit(".gitlab-ci.yml", "first: {script: make}\n", "Add a pipeline").await;
    fixture.push(&["main"]).await;
    fixture.server.run_jobs().await;
    let posted =
        fixture.ada.post(&format!("/projects/ada%2Fp/statuses/{id}"), &[("state", "success"), ("name", "lint")]).await;
    assert_eq!(posted.status, 201, "{}", posted.text);
    let dev = fixture.server.sign_in("dev").await;
    let list = open_as(&dev, "commits/main").await;
    assert_eq!(list.attributes(".rows .end a[href*='/pipelines/'] svg", "aria-label").len(), 1);
    let page = open_as(&dev, &format!("commit/{id}")).await;
    let names = page.texts(".commit-statuses .title");
    assert!(names.contains(&"first".to_owned()) && names.contains(&"lint".to_owned()), "{names:?}");
}

#[tokio::test]
async fn a_commit_is_shown_with_its_message_refs_and_changes() {
    let fixture = HistoryFixture::new().await;
    let first = fixture.commit("src/a.rs", "one\ntwo\n", "Begin").await;
    let second = fixture.commit("src/a.rs", "one\n<b>2</b>\u{202e}\n", "Change <two>\n\nBecause & so on.").await;
    fixture.tree.git(["tag", "v1"]).await.ok();
    fixture.tree.git(["branch", "old", &first]).await.ok();
    fixture.push(&["main", "old", "v1"]).await;
    let page = fixture.open(&format!("commit/{second}")).await;
    assert_eq!(page.texts("h1"), ["Change <two>"]);
    assert_eq!(page.texts(".message"), ["Because & so on."]);
    assert_eq!(page.texts("main .who"), ["Ada", "Bea"]);
    assert_eq!(page.texts(".chip.ref"), ["main", "v1"]);
    assert_eq!(page.attributes("main .head .sha", "href"), [format!("/ada/p/commit/{first}")]);
    assert_eq!(page.texts(".file .path"), ["src/a.rs"]);
    assert_eq!(page.texts(".diff tr.del td.x"), ["two"]);
    assert_eq!(page.texts(".diff tr.add td.x"), ["<b>2</b>U+202E"]);
    assert_eq!(page.attributes(".diff tr.add td.n:not(.old)", "id"), ["f1R2"]);
    let root = fixture.open(&format!("commit/{}", &first[..8])).await;
    assert!(root.text.contains("first commit"));
    assert_eq!(root.texts(".diff tr.add td.x"), ["one", "two"]);
    // The header of the lines of a new file is left out.
    assert_eq!(page.texts(".diff tr.hunk"), ["@@ -1,2 +1,2 @@"]);
    assert!(root.texts(".diff tr.hunk").is_empty(), "{}", root.text);
    assert_eq!(page.texts(".files-nav .file-name"), ["src/a.rs"]);
    assert_eq!(root.texts(".chip.ref"), ["main", "old", "v1"]);
    let split = fixture.open(&format!("commit/{second}?view=split")).await;
    assert_eq!((split.texts("td.x.del"), split.texts("td.x.add")), (vec!["two".into()], vec!["<b>2</b>U+202E".into()]));
    assert_eq!(split.texts(".seg [aria-current]"), ["Side by side"]);
    for (suffix, beginning) in [("patch", "From "), ("diff", "diff --git ")] {
        let text = fixture.get(&format!("commit/{second}.{suffix}")).await;
        assert_eq!((text.status, text.header("content-type")), (200, Some("text/plain")));
        assert!(text.header("content-security-policy").unwrap().contains("sandbox"));
        assert!(text.text.starts_with(beginning) && text.text.contains("\n-two\n"), "{}", text.text);
    }
    for missing in ["commit/1234567", "commit/nothing", "commit/nothing.patch"] {
        assert_eq!(fixture.get(missing).await.status, 404, "{missing}");
    }
    let empty = fixture.get(&format!("commit/{second}?file=nothing")).await;
    assert!(empty.status == 200 && empty.text.contains("No such file"), "{}", empty.text);
}

#[tokio::test]
async fn every_kind_of_change_is_shown() {
    let fixture = HistoryFixture::new().await;
    let lines: String = (1..30).map(|number| format!("line {number}\n")).collect();
    fixture.write("moved from.txt", &lines);
    fixture.write("same.txt", "unchanged\n");
    fixture.write("mode.sh", "#!/bin/sh\n");
    fixture.write("type", "a file\n");
    fixture.write("binary", b"\0\x01");
    fixture.write("no", "gone\n");
    fixture.commit_all("Before").await;
    let rename = |from: &str, to: &str| {
        let path = fixture.tree.path();
        std::fs::rename(path.join(from), path.join(to)).unwrap();
    };
    rename("moved from.txt", "moved ü.txt");
    rename("same.txt", "same2.txt");
    fixture.write("binary", b"\0\x02");
    fixture.write("no newline", "x");
    std::fs::remove_file(fixture.tree.path().join("no")).unwrap();
    std::fs::remove_file(fixture.tree.path().join("type")).unwrap();
    std::os::unix::fs::symlink("target", fixture.tree.path().join("type")).unwrap();
    fixture.tree.git(["add", "-A"]).await.ok();
    fixture.tree.git(["update-index", "--chmod=+x", "mode.sh"]).await.ok();
    let module = "160000,1234567890123456789012345678901234567890,module";
    fixture.tree.git(["update-index", "--add", "--cacheinfo", module]).await.ok();
    fixture.tree.git(["commit", "-q", "-m", "After"]).await.ok();
    let id = fixture.tree.head().await;
    fixture.push(&["main"]).await;
    for view in ["", "?view=split"] {
        let page = fixture.open(&format!("commit/{id}{view}")).await;
        let section = |name: &str| {
            let sections = page.texts("section.file");
            let found = sections.into_iter().find(|text| text.starts_with(name));
            found.unwrap_or_else(|| panic!("{name}: {}", page.text))
        };
        assert!(section("binary").contains("Binary files differ."));
        assert!(section("no").contains("deleted") && section("no").contains("gone"));
        assert!(section("mode.sh").contains("100644 → 100755"));
        assert!(section("mode.sh").contains("The content did not change."));
        assert!(section("module").contains("submodule") && section("module").contains("Subproject commit 1234567890"));
        assert!(section("moved ü.txt").contains("from moved from.txt"));
        assert!(section("same2.txt").contains("from same.txt"));
        assert!(section("type").contains("symbolic link") && section("type").contains("100644 → 120000"));
        assert!(section("type").contains("a file") && section("type").contains("target"));
        assert!(section("no newline").contains("No newline at end of file"));
        assert_eq!(page.texts(".files-nav li").len(), 8);
        // A deleted file and a submodule have no page.
        assert_eq!(page.attributes(".file .path[href]", "href").len(), 6);
    }
    // The file behind a deleted one is complete, although git must be read ahead to know that it is another one.
    let rest = fixture.open(&format!("commit/{id}?after=no")).await;
    assert_eq!(rest.texts(".file .path"), ["no newline", "same2.txt", "type"]);
    assert_eq!(rest.texts("section.file")[0].matches("No newline at end of file").count(), 1);
}

#[tokio::test]
async fn long_diffs_are_folded() {
    let fixture = HistoryFixture::new().await;
    fixture.commit("f", "begin\n", "Begin").await;
    let lines = |count: usize| "line\n".repeat(count);
    fixture.write("a-long", lines(600));
    fixture.write("b-wide", format!("{}\n", "w".repeat(3_000)));
    for number in 1..=8 {
        fixture.write(&format!("c{number}"), lines(450));
    }
    fixture.write("d-very-long", lines(5_000));
    let id = fixture.commit_all("Add long files").await;
    fixture.push(&["main"]).await;
    let page = fixture.open(&format!("commit/{id}")).await;
    assert!(page.texts(".bar2 strong")[0].contains("11 changed files"));
    let folded = page.texts(".folded");
    assert_eq!(folded.len(), 4, "{folded:?}");
    assert!(folded[0].contains("This diff has 603 lines (3.6 kB)"), "{folded:?}");
    assert!(folded[1].contains("The page is full"), "{folded:?}");
    assert!(folded[3].contains("This diff has 5,003 lines") || folded[3].contains("The page is full"), "{folded:?}");
    assert!(line_count(&page) <= 3_000);
    assert!(page.text.contains("the line is cut after 1,000 characters"));
    let links = page.attributes(".folded a", "href");
    assert_eq!(links[0], format!("/ada/p/commit/{id}?file=a-long"));
    let alone = fixture.open(&format!("commit/{id}?file=a-long")).await;
    assert_eq!((alone.texts("section.file").len(), line_count(&alone)), (1, 600));
    assert_eq!(alone.attributes(".bar2 > a", "href"), [format!("/ada/p/commit/{id}")]);
    let beginning = fixture.open(&format!("commit/{id}?file=d-very-long&view=split")).await;
    assert!(beginning.text.contains("Only the beginning of this diff is shown"));
    assert!((2_900..3_100).contains(&beginning.texts("td.x.add").len()));
}

/// A diff of many files, and one of large files, is read and sent in parts.
#[tokio::test]
async fn large_diffs_are_shown_in_pages() {
    let fixture = HistoryFixture::new().await;
    fixture.commit("f", "begin\n", "Begin").await;
    fixture.write("a-large", "0123456789abcdef\n".repeat(330_000));
    for number in 0..2_000 {
        fixture.write(&format!("files/{number:04}"), "x\n");
    }
    let id = fixture.commit_all("Add many files").await;
    fixture.push(&["main"]).await;
    let mut path = format!("commit/{id}");
    let mut names = Vec::new();
    loop {
        let page = fixture.open(&path).await;
        assert!(page.text.len() < 2_000_000, "{path}: {}", page.text.len());
        // Parsing pages of this size takes long without optimizations.
        let sections = page.text.split("<section class=\"file\"").skip(1);
        let found = sections.filter_map(|section| section.split("aria-label=\"").nth(1)?.split('"').next());
        let found: Vec<String> = found.map(str::to_owned).collect();
        assert!(found.len() <= 300 && found.len() == page.text.matches("<li><a href=\"#f").count(), "{path}");
        names.extend(found);
        let before_next =
            page.text.split("\" rel=\"next nofollow\"").next().filter(|text| text.len() < page.text.len());
        let Some(next) = before_next.and_then(|text| text.rsplit("href=\"").next()) else { break };
        path = next.trim_start_matches("/ada/p/").replace("&amp;", "&").replace("&#38;", "&");
    }
    assert_eq!((names.len(), names[0].as_str()), (2_001, "a-large"));
    let expected: Vec<String> = (0..2_000).map(|number| format!("files/{number:04}")).collect();
    assert_eq!(names[1..], expected);
    let large = fixture.open(&format!("commit/{id}?file=a-large")).await;
    assert!(large.text.len() < 2_000_000 && line_count(&large) <= 3_010);
    // The text of the whole diff is sent as a stream.
    assert!(fixture.get(&format!("commit/{id}.diff")).await.text.len() > 5_600_000);
    let head = fixture.server.browser().request("HEAD", &format!("/ada/p/commit/{id}"));
    assert_eq!(fixture.server.browser().send(head).await.status, 200);
}

#[tokio::test]
async fn two_revisions_are_compared() {
    let fixture = HistoryFixture::new().await;
    fixture.commit("f", "1\n", "One").await;
    fixture.tree.git(["checkout", "-q", "-b", "feature/x"]).await.ok();
    fixture.commit("g", "2\n", "Two").await;
    fixture.tree.git(["checkout", "-q", "main"]).await.ok();
    fixture.commit("f", "3\n", "Three").await;
    fixture.push(&["main", "feature/x"]).await;
    let form = fixture.open("compare").await;
    assert_eq!(form.attributes("#refs option", "value"), ["main", "feature/x"]);
    let sent = fixture.server.browser();
    let sent = sent.submit(&form.form("form.compare-form").set("from", "main").set("to", "feature/x")).await;
    assert_eq!((sent.status, sent.location()), (303, Some("/ada/p/compare/main...feature/x")));
    let page = fixture.open("compare/main...feature/x").await;
    assert_eq!(page.texts(".compared-commits .title"), ["Two"]);
    assert_eq!(page.texts(".file .path"), ["g"]);
    assert!(page.attributes("a", "href").contains(&"/ada/p/compare/feature/x...main".to_owned()));
    // Two dots compare both revisions, without their common ancestor.
    let direct = fixture.open("compare/main..feature/x").await;
    assert_eq!(direct.texts(".file .path"), ["f", "g"]);
    let same = fixture.open("compare/main...main").await;
    assert!(same.text.contains("No differences") && same.texts(".file").is_empty());
    for missing in ["compare/main...nothing", "compare/nothing..main", "compare/main", "compare/a..b...c"] {
        let page = fixture.get(missing).await;
        assert_eq!(page.status, 404, "{missing}");
        page.form("form.compare-form");
        assert!(page.text.contains("There is no branch, tag or commit"), "{missing}: {}", page.text);
    }
    assert_eq!(fixture.open("compare/main...feature%2Fx?view=split").await.texts(".diff.sides").len(), 1);
}

/// Returns the generations and names that the forms of a page restore.
fn restorable(page: &PageResponse) -> Vec<String> {
    page.attributes("form[action$='/refs/restore'] input[name='ref_name']", "value")
}

#[tokio::test]
async fn the_ref_log_shows_updates_and_restores_refs() {
    let fixture = HistoryFixture::new().await;
    let first = fixture.commit("f", "1\n", "One").await;
    fixture.push(&["main", "main:topic"]).await;
    fixture.push(&[":topic"]).await;
    let dev = fixture.server.sign_in("dev").await;
    let page = open_as(&dev, "refs").await;
    let actions = page.texts(".rows.log > li > .cut");
    assert_eq!(actions, ["topic deleted", "topic created", "main created"]);
    assert_eq!(restorable(&page), ["refs/heads/topic"]);
    // A deleted branch is restored without a question.
    assert_eq!((page.texts(".rows.log button"), page.texts(".rows.log .ask")), (vec!["Restore".into()], Vec::new()));
    assert_eq!(open_as(&dev, "refs?ref=main").await.texts(".rows.log > li > .cut"), ["main created"]);
    assert!(open_as(&dev, "refs?ref=nothing").await.text.contains("No updates"));
    // Others neither see the log nor restore anything.
    let form = page.form("form[action$='/refs/restore']");
    for (name, status) in [("guest", 403), ("eve", 403)] {
        let browser = fixture.server.sign_in(name).await;
        assert_eq!(browser.get("/ada/p/refs").await.status, status, "{name}");
        assert_eq!(browser.submit(&form).await.status, status, "{name}");
    }
    assert_eq!(fixture.server.browser().submit(&form).await.status, 303);
    assert_eq!(fixture.get("tree/topic").await.status, 404);
    let restored = dev.submit(&form).await;
    assert_eq!((restored.status, restored.location()), (303, Some("/ada/p/refs")));
    let page = open_as(&dev, "refs").await;
    assert!(page.text.contains("The ref was restored"), "{}", page.text);
    assert_eq!(page.texts(".rows.log > li > .cut")[0], "topic created");
    assert_eq!(page.texts(".rows.log .end > .tiny")[..2], ["web", "http"]);
    assert_eq!(
        fixture.open("commits/topic").await.attributes(".rows .title", "href"),
        [format!("/ada/p/commit/{first}")]
    );
    // The same form again is a conflict, and a wrong one does nothing.
    assert_eq!(dev.submit(&form).await.status, 409);
    let wrong = dev.submit(&form.clone().set("generation", "999")).await;
    assert_eq!((wrong.status, wrong.location()), (303, Some("/ada/p/refs")));
    assert!(open_as(&dev, "refs").await.text.contains("The ref log has no such update."));
}

#[tokio::test]
async fn a_forced_push_can_be_reviewed_and_undone() {
    let fixture = HistoryFixture::new().await;
    fixture.commit("f", "1\n", "Base").await;
    fixture.push(&["main"]).await;
    fixture.tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
    let lines: String = (1..20).map(|number| format!("line {number}\n")).collect();
    fixture.commit("changed", &format!("{lines}old text\n"), "Changed").await;
    let old = fixture.commit("dropped", "x\n", "Dropped").await;
    fixture.push(&["topic"]).await;
    fixture.tree.git(["reset", "-q", "--hard", "main"]).await.ok();
    fixture.commit("base", "moved\n", "Added").await;
    let new = fixture.commit("changed", &format!("{lines}new text\n"), "Changed").await;
    fixture.push(&["+topic"]).await;
    let (dev, guest) = (fixture.server.sign_in("dev").await, fixture.server.sign_in("guest").await);
    let page = open_as(&dev, "refs").await;
    assert_eq!(page.texts(".rows.log > li > .cut")[0], "topic force-pushed");
    assert_eq!(restorable(&page), ["refs/heads/topic"]);
    let link = page.attributes("a[href*='/range_diff/']", "href").pop().unwrap();
    let pairs = dev.get(&link).await;
    assert_eq!(pairs.status, 200, "{}", pairs.text);
    let changes = pairs.texts(".grid-table .state");
    for change in ["changed", "new", "dropped"] {
        assert!(changes.contains(&change.to_owned()), "{change}: {changes:?} {}", pairs.text);
    }
    assert!(pairs.texts(".diff tr.del td.x").iter().any(|line| line.contains("old text")), "{}", pairs.text);
    assert!(pairs.texts(".diff tr.add td.x").iter().any(|line| line.contains("new text")), "{}", pairs.text);
    // The replaced commits are shown to those who may read the ref log, by the update alone.
    let query = &link[link.find('?').unwrap()..];
    for path in [format!("commit/{old}"), format!("compare/{old}...{new}"), format!("compare/{new}..{old}")] {
        let with_update = format!("{path}{query}");
        assert_eq!(dev.get(&format!("/ada/p/{path}")).await.status, 404, "{path}");
        let shown = open_as(&dev, &with_update).await;
        assert!(shown.text.trim_end().ends_with("</html>"));
        assert_eq!(guest.get(&format!("/ada/p/{with_update}")).await.status, 404, "{path}");
        assert_eq!(fixture.get(&with_update).await.status, 404, "{path}");
        let other = dev.get(&format!("/ada/p/{path}?update=1")).await;
        assert_eq!(other.status, 404, "{path}");
    }
    assert_eq!(guest.get(&link).await.status, 404);
    let commit = open_as(&dev, &format!("commit/{old}{query}")).await;
    assert!(commit.text.contains("No branch or tag contains this commit"), "{}", commit.text);
    let patch = commit.attributes("a[href*='.patch']", "href").pop().unwrap();
    assert!(dev.get(&patch).await.text.contains("Dropped"));
    // Ranges can be named, too.
    let named = fixture.open("range_diff/main..topic...main..topic").await;
    assert!(named.texts(".grid-table .state").iter().all(|change| change == "unchanged"), "{}", named.text);
    // A version without commits is not an error.
    let added = fixture.open("range_diff/main..main...main..topic").await.texts(".grid-table .state");
    assert!(!added.is_empty() && added.iter().all(|change| change == "new"), "{added:?}");
    assert!(fixture.open("range_diff/main...main").await.texts(".grid-table .state").is_empty());
    for missing in ["range_diff/main", "range_diff/main...nothing", "range_diff/a..b...c"] {
        assert_eq!(fixture.get(missing).await.status, 404, "{missing}");
    }
    // After the time in which updates can be restored, nothing of it is offered.
    fixture.server.advance(TimeDelta::days(400));
    let dev = fixture.server.sign_in("dev").await;
    let page = open_as(&dev, "refs").await;
    assert!(restorable(&page).is_empty() && !page.text.contains("/range_diff/"), "{}", page.text);
    assert_eq!(dev.get(&link).await.status, 404);
}

#[tokio::test]
async fn protected_branches_are_restored_by_masters_alone() {
    let fixture = HistoryFixture::new().await;
    let first = fixture.commit("f", "1\n", "One").await;
    fixture.push(&["main"]).await;
    let second = fixture.commit("f", "2\n", "Two").await;
    fixture.push(&["main"]).await;
    let (ada, dev) = (fixture.server.sign_in("ada").await, fixture.server.sign_in("dev").await);
    assert!(restorable(&open_as(&dev, "refs").await).is_empty());
    let page = open_as(&ada, "refs").await;
    assert_eq!(restorable(&page), ["refs/heads/main"]);
    assert_eq!(page.texts(".rows.log > li > .cut"), ["main updated", "main created"]);
    // A branch is moved back only after a question.
    let question = format!("Move main from {} back to {}?", &second[..8], &first[..8]);
    assert_eq!(page.texts("[popover] > form.ask[action$='/refs/restore'] p"), [question]);
    assert_eq!(page.texts(".rows.log button"), ["Restore", "Move back"]);
    assert_eq!(ada.submit(&page.form("form[action$='/refs/restore']")).await.status, 303);
    assert_eq!(fixture.open("commits/main").await.texts(".rows .title"), ["One"]);
}

/// A page with a diff shows what a commit contains, and the commit may contain anything.
#[tokio::test]
async fn texts_of_commits_are_escaped() {
    let fixture = HistoryFixture::new().await;
    let script = "<script>alert(1)</script><!--parts-->";
    fixture.write(&format!("{script}.txt").replace('/', "|"), script);
    let id = fixture.commit_all(&format!("{script}\n\n{script}")).await;
    fixture.push(&["main"]).await;
    for path in [format!("commit/{id}"), "commits/main".into(), format!("compare/{id}..{id}")] {
        let page = fixture.open(&path).await;
        assert!(page.attributes("script:not([src])", "type").is_empty() && !page.text.contains("<script>"), "{path}");
        assert_eq!(page.texts("body > footer.foot").len(), 1, "{path}");
    }
}
