use std::fmt::Write;
use std::time::{Duration, Instant};

use super::{error, file};

/// Far more than any of these takes, in a debug build on a busy machine.
const SOON: Duration = Duration::from_secs(20);

fn soon(text: &str) -> String {
    let start = Instant::now();
    let said = error(text);
    assert!(start.elapsed() < SOON, "{:?} {said}", start.elapsed());
    said
}

#[test]
fn of_size() {
    let fill = |length: usize| {
        let text = "a: {script: a}\n#";
        format!("{text}{}", "x".repeat(length - text.len()))
    };
    assert_eq!(file(&fill(1024 * 1024)).jobs.len(), 1);
    assert_eq!(error(&fill(1024 * 1024 + 1)), "The file is larger than 1 MiB");
}

#[test]
fn of_jobs() {
    let jobs = |count: usize| (0..count).map(|n| format!("job{n}: {{script: a}}\n")).collect::<String>();
    let hidden = ".hidden: {script: a}\n";
    assert_eq!(file(&format!("{hidden}{}", jobs(1000))).jobs.len(), 1000);
    assert_eq!(error(&jobs(1001)), "jobs config should contain at most 1000 jobs");
}

#[test]
fn of_depth() {
    let text = |depth: usize| format!("a: {{script: a}}\n.b: {}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(file(&text(99)).jobs.len(), 1);
    assert_eq!(error(&text(101)), "The file is nested more than 100 levels deep");
    assert!(soon(&text(500_000)).contains("deep"));
    let indented: String = (0..700).fold(String::new(), |mut text, depth| {
        let _ = writeln!(text, "{}a:", " ".repeat(depth));
        text
    });
    assert!(soon(&indented).contains("deep"));
}

#[test]
fn of_depth_by_aliases() {
    let mut text = ".a0: &a0 [x]\n".to_owned();
    for n in 1..20_000 {
        let _ = writeln!(text, ".a{n}: &a{n} [*a{}]", n - 1);
    }
    assert_eq!(soon(&text), "The file is nested more than 100 levels deep");
}

#[test]
fn of_aliases() {
    let expanded = "The file is larger than 4 MiB with its aliases followed";
    let mut lists = ".a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    let mut maps = ".a0: &a0 {a: b}\n".to_owned();
    for n in 1..60 {
        let aliases = vec![format!("*a{}", n - 1); 9].join(", ");
        let _ = writeln!(lists, ".a{n}: &a{n} [{aliases}]");
        let _ = writeln!(maps, ".a{n}: &a{n}\n  <<: [{aliases}]");
    }
    assert_eq!(soon(&lists), expanded);
    assert_eq!(soon(&maps), expanded);
    let long = format!(".a: &a {}\n.b: [{}]\n", "x".repeat(500_000), vec!["*a"; 100_000].join(", "));
    assert_eq!(soon(&long), expanded);
    let wide: String = (0..30_000).map(|n| format!("k{n}: v, ")).collect();
    let merged: String = (0..30_000).map(|n| format!("m{n}: {{<<: *w}}\n")).collect();
    assert_eq!(soon(&format!(".w: &w {{{wide}}}\n{merged}")), expanded);
}

#[test]
fn of_what_all_jobs_get() {
    let jobs: String = (0..1000).map(|n| format!("job{n}: {{script: a}}\n")).collect();
    let long = "x".repeat(900_000);
    let many: String = (0..60_000).map(|n| format!("V{n}: '', ")).collect();
    for shared in [
        format!("before_script: [{long}]\n"),
        format!("image: {long}\n"),
        format!("cache: {{paths: [{long}]}}\n"),
        format!("variables: {{A: {long}}}\n"),
        format!("variables: {{{many}}}\n"),
    ] {
        assert_eq!(soon(&format!("{shared}{jobs}")), "The jobs are larger than 4 MiB together");
    }
}

#[test]
fn of_patterns() {
    let pattern = |n: usize| format!("\"/^(\\\\pL|{n})$/\"");
    let jobs = |count: usize| {
        let all: Vec<String> = (0..count).map(pattern).collect();
        format!("a: {{script: a, only: [{}]}}\nb: {{script: b, except: [{}]}}", all.join(", "), all.join(", "))
    };
    assert_eq!(file(&jobs(200)).jobs.len(), 2);
    assert_eq!(soon(&jobs(10_000)), "jobs:a:only config should be an array of strings or regexps");
}

#[test]
fn of_time() {
    let keys: String = (0..90_000).map(|n| format!("k{n}: 1\n")).collect();
    assert_eq!(soon(&keys), "jobs config should contain at most 1000 jobs");
    let stages: String = (0..100_000).map(|n| format!("s{n}, ")).collect();
    let jobs: String = (0..1000).map(|n| format!("j{n}: {{script: a, stage: s99999}}\n")).collect();
    let start = Instant::now();
    assert_eq!(file(&format!("stages: [{stages}]\n{jobs}")).jobs[999].stage_index, 99_999);
    assert!(start.elapsed() < SOON);
    for noise in
        ["[", "{", "- ", "? ", "&a ", "a: ", "\"", "'", "#", "!", "|\n", "[a, ", "{a: ", "*", "\n", "---\n", "%"]
    {
        soon(&noise.repeat(1024 * 1024 / noise.len()));
    }
}
