//! Repositories with submodules.

use holdfast_tests::{Server, WorkTree, git_programs};

/// A submodule with an absolute URL and one with a relative URL are cloned, for users who can see them.
#[tokio::test]
async fn submodules_are_cloned_with_their_project() {
    for program in git_programs() {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let (_, eve) = server.user("eve").await;
        for (path, visibility) in [("main", 20), ("open", 20), ("hidden", 0)] {
            server.project(&ada, path, visibility).await;
        }
        for path in ["open", "hidden"] {
            let module = WorkTree::with_program(program.clone()).await;
            module.commit("f", path.as_bytes(), path).await;
            module.push(&server.git_url(&ada, &format!("ada/{path}")), &["main"]).await.ok();
        }
        let url = server.git_url(&ada, "ada/main");
        let tree = WorkTree::with_program(program.clone()).await;
        tree.git(["remote", "add", "origin", &url]).await.ok();
        let open = server.git_url(&server.anonymous(), "ada/open");
        tree.git(["submodule", "--quiet", "add", &open, "open"]).await.ok();
        tree.git(["submodule", "--quiet", "add", "../hidden.git", "below/hidden"]).await.ok();
        tree.git(["commit", "-q", "-m", "modules"]).await.ok();
        tree.git(["push", "-q", "origin", "main"]).await.ok();

        let (cloned, clone) = WorkTree::clone_with(program.clone(), &url, &["--recurse-submodules"]).await;
        cloned.ok();
        let read = |clone: &WorkTree, file: &str| std::fs::read_to_string(clone.path().join(file)).ok();
        assert_eq!(read(&clone, "open/f").as_deref(), Some("open"));
        assert_eq!(read(&clone, "below/hidden/f").as_deref(), Some("hidden"));
        let status = clone.git(["submodule", "status"]).await.ok().stdout;
        assert!(status.lines().count() == 2 && status.lines().all(|line| line.starts_with(' ')), "{status}");

        // Naming a private project as a submodule does not grant access to it.
        let url = server.git_url(&eve, "ada/main");
        let (cloned, clone) = WorkTree::clone_with(program, &url, &["--recurse-submodules"]).await;
        let refused = cloned.expect_failure();
        assert!(refused.stderr.contains("could not be found"), "{}", refused.stderr);
        assert_eq!(read(&clone, "below/hidden/f"), None);
    }
}
