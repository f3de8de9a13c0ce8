//! Tests of messages that operators act on, when a command cannot do its work.

use std::os::unix::fs::chown;

use super::{ENCRYPTION_KEY, database, holdfast, run, text};

const DEAD_DATABASE: (&str, &str) = ("HOLDFAST__DATABASE__URL", "postgres://u:hunter42@127.0.0.1:1/none");

#[test]
fn commands_name_the_database_that_they_cannot_reach() {
    let directory = tempfile::tempdir().unwrap();
    let backups = directory.path().join("backups");
    for arguments in
        [&["admin", "jobs"][..], &["admin", "recover"], &["migrate"], &["backup", backups.to_str().unwrap()]]
    {
        let failed = run(arguments, &[DEAD_DATABASE]);
        let printed = text(&failed.stderr);
        assert!(!failed.status.success(), "{arguments:?}");
        let expected = "cannot reach the database 127.0.0.1:1/none (configuration: none)";
        assert!(printed.contains(expected) && !printed.contains("hunter42"), "{arguments:?}: {printed}");
    }
}

/// `admin recover` reported that nothing was lost although it had looked into the wrong object store, or had not reached
/// the database.
#[test]
fn recover_says_what_it_searched() {
    let url = database("process_recover");
    let directory = tempfile::tempdir().unwrap();
    let objects = directory.path().join("objects");
    let storage = format!("file://{}", objects.display());
    let recover = |database: (&str, &str)| {
        let settings = [database, ("HOLDFAST__STORAGE__URL", &storage), ("HOLDFAST__ENCRYPTION__KEY", ENCRYPTION_KEY)];
        let output = run(&["admin", "recover"], &settings);
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    };
    let here = ("HOLDFAST__DATABASE__URL", url.as_str());
    let (is_ok, printed) = recover(here);
    assert!(!is_ok && printed.contains("run `holdfast migrate`"), "{printed}");
    assert!(run(&["migrate"], &[here]).status.success());
    for database in [here, DEAD_DATABASE] {
        assert!(!recover(database).0);
        assert!(!objects.exists(), "a command that only searches creates nothing");
    }
    std::fs::create_dir_all(objects.join("packs")).unwrap();
    let (is_ok, printed) = recover(here);
    assert!(is_ok && printed.contains(&format!("searching {storage} for pushes")), "{printed}");
    assert!(printed.contains("/process_recover\n") && printed.contains("the object store has no packs"), "{printed}");
}

/// Files that root created in the cache made pushes fail.
#[test]
fn a_server_does_not_use_the_cache_of_another_user_as_root() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    chown(directory.path(), Some(12345), None).unwrap();
    let cache = ("HOLDFAST__GIT__CACHE_DIRECTORY", directory.path().to_str().unwrap());
    for command in ["serve", "worker"] {
        let refused = run(&[command], &[DEAD_DATABASE, cache]);
        let printed = text(&refused.stderr);
        assert!(!refused.status.success() && printed.contains("belongs to user 12345: run this as"), "{printed}");
    }
}

#[test]
fn a_runner_ignores_the_configuration_file_of_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = holdfast(&["runner", "run"], &[("HOLDFAST_CONFIG", "/etc/holdfast/holdfast.toml")]);
    let failed = command.current_dir(directory.path()).output().unwrap();
    let printed = text(&failed.stderr);
    assert!(!failed.status.success() && printed.contains("holdfast-runner.toml"), "{printed}");
}
