//! The command that imports the exports of other servers.

use std::process::Command;

use super::{ENCRYPTION_KEY, Server, database, holdfast, run, text};

#[test]
fn an_export_is_checked_and_imported() {
    let url = database("process_import");
    let environment = [("HOLDFAST__DATABASE__URL", url.as_str()), ("HOLDFAST__ENCRYPTION__KEY", ENCRYPTION_KEY)];
    assert!(run(&["migrate"], &environment).status.success());
    let user = ["--username", "root", "--email", "r@example.com", "--name", "R", "--admin"];
    assert!(run(&[&["admin", "user", "create"], &user[..]].concat(), &environment).status.success());

    let directory = tempfile::tempdir().unwrap();
    let (archive, users) = (directory.path().join("export.tar.gz"), directory.path().join("users.csv"));
    std::fs::create_dir_all(directory.path().join("tree/project")).unwrap();
    for (name, content) in [
        ("VERSION", "0.2.4"),
        ("tree/project.json", "{}"),
        ("tree/project/labels.ndjson", "{\"title\":\"bug\"}\n"),
        ("tree/project/issues.ndjson", "{\"iid\":7,\"title\":\"t\",\"author_id\":4711,\"notes\":[{\"note\":\"n\"}]}\n"),
        ("tree/project/boards.ndjson", "{}\n{}\n"),
        ("users.csv", "4711,root\n"),
    ] {
        std::fs::write(directory.path().join(name), content).unwrap();
    }
    let mut pack = Command::new("tar");
    pack.arg("-czf").arg(&archive).arg("-C").arg(directory.path()).args(["VERSION", "tree"]);
    assert!(pack.status().unwrap().success());
    let (archive, users) = (archive.to_str().unwrap(), users.to_str().unwrap());

    let report = "issues: 1\nlabels: 1\nnotes: 1\nleft out: 2 of boards: this part of an export is not imported\n";
    let checked = run(&["import", "gitlab-export", archive, "--check"], &[]);
    assert_eq!(
        (checked.status.success(), text(&checked.stdout)),
        (true, report.to_owned()),
        "{}",
        text(&checked.stderr)
    );

    let arguments =
        ["import", "gitlab-export", archive, "--project", "root/moved", "--owner", "root", "--users", users];
    let unknown = run(&[&arguments[..6], &["nobody"]].concat(), &environment);
    assert!(!unknown.status.success() && text(&unknown.stderr).contains("there is no user nobody"), "{unknown:?}");
    let server = Server::start(&url);
    let imported = holdfast(&arguments, &environment).output().unwrap();
    let printed = text(&imported.stdout);
    assert!(imported.status.success(), "{printed}{}", text(&imported.stderr));
    let report = "issues: 1 of 1 imported\nlabels: 1 of 1 imported\nnotes: 1 of 1 imported\n\
                  left out: 2 of boards: this part of an export is not imported\nthe import is finished\n";
    assert!(printed.contains("created root/moved with id ") && printed.ends_with(report), "{printed}");
    drop(server);

    std::fs::write(archive, "text").unwrap();
    let damaged = run(&["import", "gitlab-export", archive, "--check"], &[]);
    assert!(!damaged.status.success() && text(&damaged.stderr).contains("not compressed with gzip"), "{damaged:?}");
}
