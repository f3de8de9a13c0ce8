//! Words that are not names, because the glossary has others for what they meant.

use proc_macro2::{TokenStream, TokenTree};

use super::{LAYERS, report, sources};

/// Words that are no part of an identifier, and what to write instead.
const BANNED: &[(&str, &str)] = &[
    ("told", "published, delivered"),
    ("door", "entry point, handler"),
    ("farewell", "removal event, shutdown"),
    ("verdict", "a Result with a rejection"),
    ("judge", "policy, check"),
    ("tending", "stale builds"),
    ("hasten", "retry now"),
    ("patience", "timeout"),
    ("outlet", "stream sender"),
    ("sight", "visibility"),
    ("seat", "slot, permit"),
    ("trouble", "retry state"),
    ("chaos", "fault injection"),
    ("dice", "rng"),
    ("condemned", "unreferenced"),
    ("hurry", "retry now"),
    ("remark", "system note"),
    ("somebody", "user"),
    ("whose", "scope"),
    ("tell", "publish"),
    ("hear", "record contact"),
];

#[test]
fn identifiers_use_the_words_of_the_glossary() {
    let mut violations = Vec::new();
    for directory in LAYERS.iter().flat_map(|(layer, _)| [format!("{layer}/src"), format!("{layer}/tests")]) {
        check(&directory, &mut violations);
    }
    check("tests/src", &mut violations);
    check("tests/tests", &mut violations);
    report("use the words of docs/glossary.md", &violations);
}

fn check(directory: &str, violations: &mut Vec<String>) {
    for source in sources(directory) {
        let mut identifiers = Vec::new();
        collect_identifiers(source.tokens(), &mut identifiers);
        identifiers.extend(source.module().into_iter().map(str::to_owned));
        identifiers.sort();
        identifiers.dedup();
        for identifier in identifiers {
            let words = words(&identifier);
            let banned = BANNED.iter().filter(|(word, _)| words.iter().any(|part| part == word));
            violations.extend(banned.map(|(_, better)| format!("{}: {identifier}: {better}", source.path)));
        }
    }
}

fn collect_identifiers(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => found.push(name.to_string()),
            TokenTree::Group(group) => collect_identifiers(group.stream(), found),
            _ => {}
        }
    }
}

/// Returns the words of an identifier in lower case: `lease` and `guard` of `LeaseGuard` and of `lease_guard`.
fn words(identifier: &str) -> Vec<String> {
    let mut spaced = String::new();
    for (index, character) in identifier.char_indices() {
        let is_inside_capitals = identifier[..index].ends_with(char::is_uppercase);
        if character.is_uppercase() && !is_inside_capitals {
            spaced.push('_');
        }
        spaced.extend(character.to_lowercase());
    }
    spaced.split('_').map(str::to_owned).collect()
}
