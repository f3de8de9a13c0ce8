//! Compares the rules for ref names with git: git accepts every accepted name, and can write every set of names that do
//! not conflict.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use holdfast_git::RefName;
use proptest::prelude::*;

/// Generates names from parts that git treats specially and from ordinary ones.
fn name() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,3}",
        1 => prop::sample::select(vec![
            "/", "//", ".", "..", "-", ".lock", "@", "@{", "~", "^", ":", "?", "*", "[", "\\", " ", "HEAD", "refs", "heads",
            "\u{7f}", "\u{1}", "\u{202e}", "ü", "日", "{", "}", "%2e", "$(id)", ";", "'", "\"",
        ])
        .prop_map(str::to_owned),
        1 => any::<char>().prop_map(|c| c.to_string()),
    ];
    let short = prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat());
    (prop::sample::select(vec!["refs/heads/", "refs/tags/", "refs/x/", "refs/", "", "refs/heads"]), short)
        .prop_map(|(prefix, short)| format!("{prefix}{short}"))
}

fn git_accepts(name: &str) -> bool {
    // Neither an argument nor a ref name can contain a zero byte.
    !name.contains('\0') && Command::new("git").args(["check-ref-format", name]).status().unwrap().success()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn accepted_names_are_valid_for_git(name in name()) {
        if RefName::parse(name.as_bytes()).is_ok() {
            prop_assert!(git_accepts(&name), "{name:?}");
        }
    }

    #[test]
    fn names_accepted_only_by_git_have_a_rejection_reason(name in name()) {
        use holdfast_git::ref_name::RefNameError::*;
        if git_accepts(&name) && let Err(reason) = RefName::parse(name.as_bytes()) {
            let has_two_levels = name.strip_prefix("refs/").is_some_and(|rest| rest.contains('/'));
            let expected = matches!(reason, Invisible | LeadingDash | LooksLikeId | Reserved | TooLong)
                || !has_two_levels || name.ends_with("/HEAD");
            prop_assert!(expected, "{name:?}: {reason:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Git can write every set of names in which no name is a directory of another by `parent_names`.
    #[test]
    fn conflict_free_ref_sets_can_be_written(names in prop::collection::btree_set(name(), 1..40)) {
        let names: BTreeSet<RefName> = names.iter().filter_map(|name| RefName::parse(name.as_bytes()).ok()).collect();
        let is_free = |name: &RefName| !name.parent_names().any(|directory| names.contains(directory));
        let free: Vec<&RefName> = names.iter().filter(|name| is_free(name)).collect();
        let directory = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.current_dir(directory.path()).args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null");
            command
        };
        prop_assert!(git(&["init", "-q", "--bare", "."]).status().unwrap().success());
        let tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        prop_assert!(git(&["hash-object", "-t", "tree", "-w", "/dev/null"]).stdout(Stdio::null()).status().unwrap().success());
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", "m", tree];
        let commit = String::from_utf8(git(&identity).output().unwrap().stdout).unwrap();
        let commit = commit.trim();
        let mut update = git(&["update-ref", "--stdin", "-z"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = update.stdin.take().unwrap();
        for name in free {
            write!(input, "create {name}\0{commit}\0").unwrap();
        }
        drop(input);
        let output = update.wait_with_output().unwrap();
        prop_assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
