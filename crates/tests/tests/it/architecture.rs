//! Checks the architecture rules that the compiler does not enforce.

use std::path::{Path, PathBuf};

/// Each layer and the layers that it may depend on.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("git", &[]),
    ("domain", &["git"]),
    ("store", &["domain", "git"]),
    ("app", &["domain", "git", "store"]),
    ("http", &["app", "domain", "git"]),
    ("ssh", &["app", "domain", "git"]),
    // The runner uses the server only by its protocol.
    ("runner", &[]),
    ("stress", &["app", "domain", "store"]),
    ("server", &["app", "domain", "git", "http", "runner", "ssh", "store", "stress"]),
];

fn crates_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn collect_sources(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
        }
    }
}

fn layer_sources(layer: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    collect_sources(&crates_directory().join(layer).join("src"), &mut found);
    found
}

#[test]
fn crates_depend_only_on_lower_layers() {
    for (layer, allowed) in ALLOWED_DEPENDENCIES {
        let manifest = std::fs::read_to_string(crates_directory().join(layer).join("Cargo.toml")).unwrap();
        for (other, _) in ALLOWED_DEPENDENCIES {
            let knows = manifest.contains(&format!("holdfast-{other}.workspace"));
            assert!(!knows || allowed.contains(other), "{layer} must not know {other}");
        }
    }
}

#[test]
fn crates_respect_layer_boundaries() {
    let rules = [
        ("sqlx::", &["store"][..], "SQL is spoken in store alone"),
        // The runner receives status codes from the server.
        ("StatusCode", &["http", "runner"], "status codes are chosen in http alone"),
        ("access::authorize_instance(", &["app"], "permission is checked in app alone"),
        ("database.begin()", &["app"], "transactions are opened in app alone"),
        ("Command::new(", &["git", "runner", "stress"], "programs are started in git, runner and stress alone"),
        ("AssertSqlSafe", &[], "SQL is a literal or built with push_bind"),
    ];
    for (layer, _) in ALLOWED_DEPENDENCIES {
        for (path, text) in layer_sources(layer) {
            for (word, rooms, why) in rules {
                // Backup starts the programs of PostgreSQL, the only ones that can copy a database.
                let is_exempt = word == "Command::new(" && path.components().any(|part| part.as_os_str() == "backup");
                assert!(rooms.contains(layer) || is_exempt || !text.contains(word), "{}: {why}", path.display());
            }
        }
    }
}

#[test]
fn presenters_are_not_async() {
    for (path, text) in layer_sources("http") {
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
fn files_are_short_and_have_specific_names() {
    for (layer, _) in ALLOWED_DEPENDENCIES {
        for (path, text) in layer_sources(layer) {
            let lines = text.lines().filter(|line| is_code(line)).count();
            assert!(lines <= 400, "{} has {lines} lines of code: split it by noun", path.display());
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(!["utils", "util", "helpers", "common", "manager", "misc"].contains(&name), "{}", path.display());
        }
    }
}
