//! Random texts as HTML.

use std::hash::{BuildHasher, RandomState};

use holdfast_web::markdown::render;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::attacks::ATTACKS;
use super::text::{assert_safe, contexts};

/// Number of texts, unless `MARKDOWN_TEXTS` sets another one, such as the 100,000 of a release.
const TEXTS: u32 = 2_000;

/// Texts that begin, end or continue structures of Markdown and HTML.
const STRUCTURES: [&str; 28] = [
    "> ",
    "- ",
    "1. ",
    "# ",
    "\n",
    "\n\n",
    "    ",
    "```\n",
    "`",
    "**",
    "_",
    "~~",
    "| a | b |\n|---|---|\n",
    "[",
    "](",
    ")",
    "![",
    "<",
    ">",
    "\"",
    "'",
    "=",
    "/",
    "<!--",
    "-->",
    "<![CDATA[",
    "&#x6a;",
    "\u{202e}",
];

/// Returns mixtures of parts of attacks, structures and characters.
fn texts() -> impl Strategy<Value = String> {
    let part = (select(ATTACKS), 0..80_usize, 1..80_usize)
        .prop_map(|(attack, skipped, length)| attack.chars().skip(skipped).take(length).collect::<String>());
    let whole = select(ATTACKS).prop_map(str::to_owned);
    let structure = select(&STRUCTURES[..]).prop_map(str::to_owned);
    let characters = proptest::collection::vec(any::<char>(), 1..6).prop_map(String::from_iter);
    let piece = prop_oneof![3 => part, 1 => whole, 4 => structure, 1 => characters];
    proptest::collection::vec(piece, 1..14).prop_map(|pieces| pieces.concat())
}

/// The seed of a failed run is printed; `MARKDOWN_SEED` repeats it.
#[test]
fn random_texts_leave_only_what_is_allowed() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let seed = number("MARKDOWN_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    let cases = number("MARKDOWN_TEXTS").map_or(TEXTS, |count| u32::try_from(count).expect("a smaller number"));
    let config = Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    let outcome = TestRunner::new(config).run(&texts(), |text| {
        for context in contexts() {
            let html = render(&text, &context).expect("a short text is rendered");
            assert_safe(&html, &text);
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("MARKDOWN_SEED={seed}\n{error}");
    }
}
