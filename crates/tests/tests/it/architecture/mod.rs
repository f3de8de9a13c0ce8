//! Checks the architecture rules that the compiler does not enforce.
//!
//! The rules read the sources and the manifests of the workspace, nothing else. Each lists its exceptions with a reason;
//! an exception that is no longer needed fails, too.

mod documentation;
mod files;
mod imports;
mod layers;
mod names;
mod signatures;
mod use_cases;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

/// The crates that are shipped, and the crates of the workspace that each may depend on.
const LAYERS: &[(&str, &[&str])] = &[
    ("git", &[]),
    ("domain", &["git"]),
    ("store", &["domain", "git"]),
    ("app", &["domain", "git", "store"]),
    ("http-core", &["app", "domain"]),
    // The two HTTP crates do not know each other: the server passes the routes of pages to the API's router.
    ("http", &["app", "domain", "git", "http-core"]),
    ("web", &["app", "domain", "git", "http-core"]),
    ("ssh", &["app", "domain", "git"]),
    // The runner uses the server only by its protocol.
    ("runner", &[]),
    ("stress", &["app", "domain", "store"]),
    ("server", &["app", "domain", "git", "http", "runner", "ssh", "store", "stress", "web"]),
];

/// A source file.
struct Source {
    /// The path below `crates`, such as `app/src/ci/build.rs`.
    path: String,
    text: String,
}

impl Source {
    fn tokens(&self) -> TokenStream {
        self.text.parse().unwrap_or_else(|error| panic!("{}: {error}", self.path))
    }

    fn syntax(&self) -> syn::File {
        syn::parse_file(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.path))
    }

    /// Returns the module path in the crate: `["ci", "build"]` for `app/src/ci/build.rs`, and nothing for `lib.rs`.
    fn module(&self) -> Vec<&str> {
        let (_, path) = self.path.split_once("/src/").unwrap_or_default();
        let names = path.trim_end_matches(".rs").split('/');
        names.filter(|name| !["", "lib", "main", "mod"].contains(name)).collect()
    }
}

fn crates_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the sources below a directory of `crates`, sorted by path. Returns none if there is no such directory.
fn sources(directory: &str) -> Vec<Source> {
    let Ok(entries) = std::fs::read_dir(crates_directory().join(directory)) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let read = |name: String| {
        let path = format!("{directory}/{name}");
        if !name.ends_with(".rs") {
            return sources(&path);
        }
        let text = std::fs::read_to_string(crates_directory().join(&path)).unwrap();
        vec![Source { path, text }]
    };
    names.into_iter().flat_map(read).collect()
}

/// Returns the sources of all shipped crates, without their tests in other directories.
fn shipped_sources() -> impl Iterator<Item = Source> {
    LAYERS.iter().flat_map(|(layer, _)| sources(&format!("{layer}/src")))
}

/// Returns the paths that are written in a file, also in macros, with groups of a `use` written out: `std::fs::read`.
/// Fields and methods are joined by dots: `app.database.begin`.
fn written_paths(tokens: TokenStream) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_paths(tokens, "", &mut found);
    found
}

fn collect_paths(tokens: TokenStream, prefix: &str, found: &mut BTreeSet<String>) {
    let mut path = prefix.to_owned();
    for token in tokens {
        let is_open = path == prefix || path.ends_with("::") || path.ends_with('.');
        match token {
            TokenTree::Ident(name) if is_open => path += &name.to_string(),
            TokenTree::Ident(name) => {
                found.insert(std::mem::replace(&mut path, format!("{prefix}{name}")));
            }
            TokenTree::Punct(mark) if [':', '.'].contains(&mark.as_char()) => path.push(mark.as_char()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {
                found.insert(std::mem::replace(&mut path, prefix.to_owned()));
            }
            TokenTree::Group(group) => {
                let prefix_of_group = if path.ends_with("::") { path.as_str() } else { "" };
                collect_paths(group.stream(), prefix_of_group, found);
                found.insert(std::mem::replace(&mut path, prefix.to_owned()));
            }
        }
    }
    found.insert(path);
}

/// Fails with all violations of a rule, and with what to do about them.
fn report(advice: &str, violations: &[String]) {
    assert!(violations.is_empty(), "{advice}\n  {}", violations.join("\n  "));
}

/// Removes the exceptions of a rule from what it found, and fails if one of them is not needed.
fn without_exceptions<'a>(found: Vec<String>, exceptions: impl Iterator<Item = &'a str>) -> Vec<String> {
    let exceptions: Vec<&str> = exceptions.collect();
    let unneeded: Vec<_> = exceptions.iter().filter(|exception| !found.iter().any(|name| name == *exception)).collect();
    assert!(unneeded.is_empty(), "remove these exceptions, which are no longer needed: {unneeded:?}");
    found.into_iter().filter(|name| !exceptions.contains(&name.as_str())).collect()
}
