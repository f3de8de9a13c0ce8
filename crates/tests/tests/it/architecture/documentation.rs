//! Doc comments.

use syn::{Attribute, Item, Visibility};

use super::{report, shipped_sources, sources};

/// Crates whose public items all have doc comments. The others have not been completed yet.
const COMPLETE: &[&str] = &["domain", "git", "ssh"];

#[test]
fn public_items_are_documented() {
    let mut violations = Vec::new();
    for source in COMPLETE.iter().flat_map(|layer| sources(&format!("{layer}/src"))) {
        for item in source.syntax().items {
            let (visibility, attributes, name) = match item {
                Item::Const(item) => (item.vis, item.attrs, item.ident),
                Item::Enum(item) => (item.vis, item.attrs, item.ident),
                Item::Fn(item) => (item.vis, item.attrs, item.sig.ident),
                Item::Struct(item) => (item.vis, item.attrs, item.ident),
                Item::Trait(item) => (item.vis, item.attrs, item.ident),
                Item::Type(item) => (item.vis, item.attrs, item.ident),
                _ => continue,
            };
            if matches!(visibility, Visibility::Public(_)) && !is_documented(&attributes) {
                violations.push(format!("{}: {name}", source.path));
            }
        }
    }
    report("a public item has a doc comment: see Comments in docs/CONTRIBUTING.md", &violations);
}

/// The directories whose files are each about the resource that they are named after, which a header would only repeat.
const NAMED_AFTER_RESOURCES: [&str; 2] = ["http/src/api/v3/", "http/src/api/v4/"];

#[test]
fn files_begin_with_their_responsibility() {
    let has_header = |path: &str| !NAMED_AFTER_RESOURCES.iter().any(|directory| path.starts_with(directory));
    let is_test = |path: &str| path.contains("/tests/") || path.ends_with("/tests.rs");
    let checked = shipped_sources().filter(|source| has_header(&source.path) && !is_test(&source.path));
    let violations: Vec<_> =
        checked.filter(|source| !is_documented(&source.syntax().attrs)).map(|it| it.path).collect();
    report("a file begins with `//!` and what it is responsible for", &violations);
}

fn is_documented(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("doc"))
}
