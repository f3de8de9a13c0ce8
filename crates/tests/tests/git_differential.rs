//! Compares API responses about random repositories with the output of git itself.
//!
//! HOLDFAST_EQUAL_SEED            the seed of an earlier run, which prints it
//! HOLDFAST_EQUAL_REPOSITORIES    the number of repositories (80)
//! HOLDFAST_EQUAL_ONLY            the number of a single repository to check

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "the seed is wanted to repeat a run")]

#[path = "git_differential/archives.rs"]
mod archives;
#[path = "git_differential/blobs.rs"]
mod blobs;
#[path = "git_differential/collisions.rs"]
mod collisions;
#[path = "git_differential/comparisons.rs"]
mod comparisons;
#[path = "git_differential/contributors.rs"]
mod contributors;
#[path = "git_differential/edits.rs"]
mod edits;
#[path = "git_differential/files.rs"]
mod files;
#[path = "git_differential/generators.rs"]
mod generators;
#[path = "git_differential/history.rs"]
mod history;
#[path = "git_differential/local.rs"]
mod local;
#[path = "git_differential/merges.rs"]
mod merges;
#[path = "git_differential/pair.rs"]
mod pair;
#[path = "git_differential/refs.rs"]
mod refs;
#[path = "git_differential/stream.rs"]
mod stream;
#[path = "git_differential/tar.rs"]
mod tar;
#[path = "git_differential/trees.rs"]
mod trees;
#[path = "git_differential/work_tree.rs"]
mod work_tree;
#[path = "git_differential/zip.rs"]
mod zip;

use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use futures_util::FutureExt;
use history::History;
use holdfast_tests::SeededRng;
use local::LocalRepository;
use pair::{Environment, Pair};
use tokio::task::JoinSet;

/// The comparisons in which the server makes commits.
const EDITS: [&str; 5] = ["cherry-pick", "commit", "merge", "merge with conflict", "merge of an ancestor"];
/// Repositories that are checked concurrently, so that one can use the CPU while others wait for the database or git.
const MAX_CONCURRENT: usize = 4;

fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_match_git() {
    let seed = env_number("HOLDFAST_EQUAL_SEED").unwrap_or_else(|| RandomState::new().hash_one(0) >> 32);
    let numbers = match env_number("HOLDFAST_EQUAL_ONLY") {
        Some(number) => number..number + 1,
        None => 0..env_number("HOLDFAST_EQUAL_REPOSITORIES").unwrap_or(80),
    };
    println!("HOLDFAST_EQUAL_SEED={seed}");
    let begin = Instant::now();
    let environment = Arc::new(Environment::new(seed).await);
    let next = Arc::new(AtomicU64::new(numbers.start));
    let mut tasks = JoinSet::new();
    for _ in 0..MAX_CONCURRENT {
        let (environment, next, end) = (environment.clone(), next.clone(), numbers.end);
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    break;
                }
                if let Err(panic) = AssertUnwindSafe(check_repository(&environment, number)).catch_unwind().await {
                    println!("HOLDFAST_EQUAL_SEED={seed} HOLDFAST_EQUAL_ONLY={number} failed");
                    resume_unwind(panic);
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap_or_else(|failed| resume_unwind(failed.into_panic()));
    }
    let (cases, kinds) = (environment.cases.load(Ordering::Relaxed), environment.kinds.lock().unwrap());
    println!("{cases} cases in {:.1?}: {kinds:?}", begin.elapsed());
    let edits: usize = EDITS.iter().filter_map(|kind| kinds.get(kind)).sum();
    println!("{edits} merges, cherry-picks and edits: 0 differences");
}

async fn check_repository(environment: &Arc<Environment>, number: u64) {
    let mut rng = SeededRng::new(environment.seed, number);
    let path = format!("r{number}");
    let project = environment.server.project(&environment.owner, &path, 0).await;
    let history = match number % 20 {
        7 => History::empty(),
        13 => History::without_branches(&mut rng),
        _ => History::random(&mut rng),
    };
    let local = LocalRepository::new().await;
    let mut pair = Pair { environment: environment.clone(), number, project, rng, local, history, default: None };
    pair.push().await;
    pair.fetch_default_branch().await;
    check_contents(&mut pair).await;
    let Some(default) = pair.default.clone() else { return };
    // Contributors are counted incrementally, so they are compared again after more pushes.
    for _ in 0..2 {
        if pair.rng.one_in(3) {
            pair.unprotect(&default).await;
            pair.history.rewrite_branch(&mut pair.rng, default.clone());
        } else {
            pair.history.extend_branch(&mut pair.rng, default.clone());
            pair.history.grow(&mut pair.rng, 3);
        }
        pair.push().await;
        contributors::check(&mut pair).await;
        comparisons::check(&mut pair).await;
    }
    edits::check(&mut pair).await;
    merges::check(&mut pair).await;
    refs::check_merged(&mut pair).await;
}

async fn check_contents(pair: &mut Pair) {
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
