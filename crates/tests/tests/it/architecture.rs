//! The rules of the house that the compiler does not keep.

use std::path::{Path, PathBuf};

/// Layer, and the layers it may know.
const ARROWS: &[(&str, &[&str])] = &[
    ("git", &[]),
    ("domain", &["git"]),
    ("store", &["domain", "git"]),
    ("app", &["domain", "git", "store"]),
    ("http", &["app", "domain", "git"]),
    ("ssh", &["app", "domain", "git"]),
    // Knows the server by its protocol alone.
    ("runner", &[]),
    ("server", &["app", "domain", "git", "http", "runner", "ssh", "store"]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(below: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
        }
    }
}

fn of(layer: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    sources(&crates().join(layer).join("src"), &mut found);
    found
}

#[test]
fn layers_know_only_what_is_below() {
    for (layer, allowed) in ARROWS {
        let manifest = std::fs::read_to_string(crates().join(layer).join("Cargo.toml")).unwrap();
        for (other, _) in ARROWS {
            let knows = manifest.contains(&format!("holdfast-{other}.workspace"));
            assert!(!knows || allowed.contains(other), "{layer} must not know {other}");
        }
    }
}

#[test]
fn things_stand_in_their_room() {
    let rules = [
        ("sqlx::", &["store"][..], "SQL is spoken in store alone"),
        // The runner is told them.
        ("StatusCode", &["http", "runner"], "status codes are chosen in http alone"),
        ("access::instance(", &["app"], "permission is checked in app alone"),
        ("database.begin()", &["app"], "transactions are opened in app alone"),
        ("Command::new(", &["git", "runner"], "programs are started in git alone, and by the runner"),
        ("AssertSqlSafe", &[], "SQL is a literal or built with push_bind"),
    ];
    for (layer, _) in ARROWS {
        for (path, text) in of(layer) {
            for (word, rooms, why) in rules {
                // Torture starts what clients and operators start: git on their side, and nodes.
                // Trials start nodes, and only PostgreSQL's own programs know how to copy a database.
                let exempt = ["torture", "backup"];
                let is_exempt = word == "Command::new("
                    && path.components().any(|part| exempt.iter().any(|name| part.as_os_str() == *name));
                assert!(rooms.contains(layer) || is_exempt || !text.contains(word), "{}: {why}", path.display());
            }
        }
    }
}

#[test]
fn presenters_never_wait() {
    for (path, text) in of("http") {
        if path.components().any(|part| part.as_os_str() == "present") {
            assert!(!text.contains("async") && !text.contains(".await"), "{}", path.display());
        }
    }
}

/// Returns whether a line holds code. Comments and blank lines do not count against the length of a file.
fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

#[test]
fn files_are_short_and_have_telling_names() {
    for (layer, _) in ARROWS {
        for (path, text) in of(layer) {
            let lines = text.lines().filter(|line| is_code(line)).count();
            assert!(lines <= 400, "{} has {lines} lines of code: split it by noun", path.display());
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(!["utils", "util", "helpers", "common", "manager", "misc"].contains(&name), "{}", path.display());
        }
    }
}
