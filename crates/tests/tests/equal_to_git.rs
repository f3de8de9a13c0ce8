//! Equal to git: what the service says about made-up repositories is what git itself says about them.
//!
//! HOLDFAST_EQUAL_SEED            the seed of an earlier run, which prints it
//! HOLDFAST_EQUAL_REPOSITORIES    how many (80)
//! HOLDFAST_EQUAL_ONLY            the number of the only one to look at

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "the seed is wanted to repeat a run")]

#[path = "equal_to_git/archives.rs"]
mod archives;
#[path = "equal_to_git/blobs.rs"]
mod blobs;
#[path = "equal_to_git/collisions.rs"]
mod collisions;
#[path = "equal_to_git/comparisons.rs"]
mod comparisons;
#[path = "equal_to_git/contributors.rs"]
mod contributors;
#[path = "equal_to_git/files.rs"]
mod files;
#[path = "equal_to_git/history.rs"]
mod history;
#[path = "equal_to_git/local.rs"]
mod local;
#[path = "equal_to_git/pair.rs"]
mod pair;
#[path = "equal_to_git/refs.rs"]
mod refs;
#[path = "equal_to_git/stream.rs"]
mod stream;
#[path = "equal_to_git/tar.rs"]
mod tar;
#[path = "equal_to_git/trees.rs"]
mod trees;
#[path = "equal_to_git/words.rs"]
mod words;
#[path = "equal_to_git/zip.rs"]
mod zip;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use history::History;
use holdfast_tests::Dice;
use local::Local;
use pair::{Pair, World};
use tokio::task::JoinSet;

/// Others wait for the database or for git meanwhile.
const AT_ONCE: usize = 4;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_git_says_is_what_we_say() {
    let seed = setting("HOLDFAST_EQUAL_SEED").unwrap_or_else(|| RandomState::new().hash_one(0) >> 32);
    let numbers = match setting("HOLDFAST_EQUAL_ONLY") {
        Some(number) => number..number + 1,
        None => 0..setting("HOLDFAST_EQUAL_REPOSITORIES").unwrap_or(80),
    };
    println!("HOLDFAST_EQUAL_SEED={seed}");
    let begin = Instant::now();
    let world = Arc::new(World::new(seed).await);
    let next = Arc::new(AtomicU64::new(numbers.start));
    let mut tasks = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (world, next, end) = (world.clone(), next.clone(), numbers.end);
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    break;
                }
                look_at(&world, number).await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()));
    }
    let (cases, kinds) = (world.cases.load(Ordering::Relaxed), world.kinds.lock().unwrap());
    println!("{cases} cases in {:.1?}: {kinds:?}", begin.elapsed());
}

async fn look_at(world: &Arc<World>, number: u64) {
    let mut dice = Dice::new(world.seed, number);
    let path = format!("r{number}");
    let project = world.server.project(&world.owner, &path, 0).await;
    let history = match number % 20 {
        7 => History::empty(),
        13 => History::without_branches(&mut dice),
        _ => History::random(&mut dice),
    };
    let local = Local::new().await;
    let mut pair = Pair { world: world.clone(), number, project, dice, local, history, default: None };
    pair.push().await;
    pair.ask_default().await;
    contents(&mut pair).await;
    let Some(default) = pair.default.clone() else { return };
    // What was counted once is not counted again.
    for _ in 0..2 {
        if pair.dice.one_in(3) {
            pair.unprotect(&default).await;
            pair.history.rewrite_branch(&mut pair.dice, default.clone());
        } else {
            pair.history.extend_branch(&mut pair.dice, default.clone());
            pair.history.grow(&mut pair.dice, 3);
        }
        pair.push().await;
        contributors::check(&mut pair).await;
        comparisons::check(&mut pair).await;
    }
    refs::check_merged(&mut pair).await;
}

async fn contents(pair: &mut Pair) {
    refs::check_branches(pair).await;
    refs::check_branch(pair).await;
    refs::check_tags(pair).await;
    contributors::check(pair).await;
    trees::check_unknown(pair).await;
    if pair.history.is_empty() {
        return;
    }
    for _ in 0..6 {
        trees::check(pair).await;
        comparisons::check(pair).await;
    }
    for _ in 0..2 {
        blobs::check(pair).await;
        archives::check(pair).await;
    }
}
