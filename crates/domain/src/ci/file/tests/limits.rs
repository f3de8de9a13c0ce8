use std::fmt::Write;
use std::time::{Duration, Instant};

use super::{error, file};

/// An upper bound that is far above the time these tests need, even in a debug build on a busy machine.
const MAX_PARSE_TIME: Duration = Duration::from_secs(20);

fn timely_error(text: &str) -> String {
    let start = Instant::now();
    let message = error(text);
    assert!(start.elapsed() < MAX_PARSE_TIME, "{:?} {message}", start.elapsed());
    message
}

#[test]
fn file_size_is_limited() {
    let fill = |length: usize| {
        let text = "a: {script: a}\n#";
        format!("{text}{}", "x".repeat(length - text.len()))
    };
    assert_eq!(file(&fill(1024 * 1024)).jobs.len(), 1);
    assert_eq!(error(&fill(1024 * 1024 + 1)), "The file is larger than 1 MiB");
}

#[test]
fn job_count_is_limited() {
    let jobs = |count: usize| (0..count).map(|n| format!("job{n}: {{script: a}}\n")).collect::<String>();
    let hidden = ".hidden: {script: a}\n";
    assert_eq!(file(&format!("{hidden}{}", jobs(1000))).jobs.len(), 1000);
    assert_eq!(error(&jobs(1001)), "jobs config should contain at most 1000 jobs");
}

#[test]
fn nesting_depth_is_limited() {
    let text = |depth: usize| format!("a: {{script: a}}\n.b: {}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(file(&text(99)).jobs.len(), 1);
    assert_eq!(error(&text(101)), "The file is nested more than 100 levels deep");
    assert!(timely_error(&text(500_000)).contains("deep"));
    let indented: String = (0..700).fold(String::new(), |mut text, depth| {
        let _ = writeln!(text, "{}a:", " ".repeat(depth));
        text
    });
    assert!(timely_error(&indented).contains("deep"));
}

#[test]
fn nesting_depth_through_aliases_is_limited() {
    let mut text = ".a0: &a0 [x]\n".to_owned();
    for n in 1..20_000 {
        let _ = writeln!(text, ".a{n}: &a{n} [*a{}]", n - 1);
    }
    assert_eq!(timely_error(&text), "The file is nested more than 100 levels deep");
}

#[test]
fn alias_expansion_is_limited() {
    let expanded = "The file is larger than 4 MiB with its aliases followed";
    let mut lists = ".a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    let mut maps = ".a0: &a0 {a: b}\n".to_owned();
    for n in 1..60 {
        let aliases = vec![format!("*a{}", n - 1); 9].join(", ");
        let _ = writeln!(lists, ".a{n}: &a{n} [{aliases}]");
        let _ = writeln!(maps, ".a{n}: &a{n}\n  <<: [{aliases}]");
    }
    assert_eq!(timely_error(&lists), expanded);
    assert_eq!(timely_error(&maps), expanded);
    let long = format!(".a: &a {}\n.b: [{}]\n", "x".repeat(500_000), vec!["*a"; 100_000].join(", "));
    assert_eq!(timely_error(&long), expanded);
    let wide: String = (0..30_000).map(|n| format!("k{n}: v, ")).collect();
    let merged: String = (0..30_000).map(|n| format!("m{n}: {{<<: *w}}\n")).collect();
    assert_eq!(timely_error(&format!(".w: &w {{{wide}}}\n{merged}")), expanded);
}

#[test]
fn defaults_copied_into_all_jobs_are_limited() {
    let jobs: String = (0..1000).map(|n| format!("job{n}: {{script: a}}\n")).collect();
    let long = "x".repeat(900_000);
    let many: String = (0..60_000).map(|n| format!("V{n}: '', ")).collect();
    for defaults in [
        format!("before_script: [{long}]\n"),
        format!("image: {long}\n"),
        format!("cache: {{paths: [{long}]}}\n"),
        format!("variables: {{A: {long}}}\n"),
        format!("variables: {{{many}}}\n"),
    ] {
        assert_eq!(timely_error(&format!("{defaults}{jobs}")), "The jobs are larger than 4 MiB together");
    }
}

#[test]
fn pattern_count_is_limited() {
    let pattern = |n: usize| format!("\"/^(\\\\pL|{n})$/\"");
    let jobs = |count: usize| {
        let all: Vec<String> = (0..count).map(pattern).collect();
        format!("a: {{script: a, only: [{}]}}\nb: {{script: b, except: [{}]}}", all.join(", "), all.join(", "))
    };
    assert_eq!(file(&jobs(200)).jobs.len(), 2);
    assert_eq!(timely_error(&jobs(10_000)), "jobs:a:only config should be an array of strings or regexps");
}

#[test]
fn parse_time_is_bounded() {
    let keys: String = (0..90_000).map(|n| format!("k{n}: 1\n")).collect();
    assert_eq!(timely_error(&keys), "jobs config should contain at most 1000 jobs");
    let stages: String = (0..100_000).map(|n| format!("s{n}, ")).collect();
    let jobs: String = (0..1000).map(|n| format!("j{n}: {{script: a, stage: s99999}}\n")).collect();
    let start = Instant::now();
    assert_eq!(file(&format!("stages: [{stages}]\n{jobs}")).jobs[999].stage_index, 99_999);
    assert!(start.elapsed() < MAX_PARSE_TIME);
    for noise in
        ["[", "{", "- ", "? ", "&a ", "a: ", "\"", "'", "#", "!", "|\n", "[a, ", "{a: ", "*", "\n", "---\n", "%"]
    {
        timely_error(&noise.repeat(1024 * 1024 / noise.len()));
    }
}
