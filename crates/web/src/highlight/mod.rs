//! Code with classes for its parts, such as keywords and comments.
//!
//! The patterns of syntaxes can take long on hostile code, and a running pattern cannot be stopped. The work is therefore
//! done by at most two threads of its own. A request waits for a short time, and shows the code without colors if the
//! result is not there by then. Code that could not be highlighted is not tried again for a while.

mod classes;
mod permits;
mod syntaxes;

use std::sync::{Arc, LazyLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::sync::Cache;
use sha2::{Digest, Sha256};
use syntect::parsing::{ParseState, ScopeStack, SyntaxReference};

use crate::visible;
use permits::Permits;

/// The lines of a code as HTML, without line breaks. Every line has complete elements.
pub type HighlightedLines = Vec<Box<str>>;

/// Maximum size of code that is highlighted, in bytes.
const MAX_BYTES: usize = 512_000;
/// Maximum length of a line of highlighted code, in characters. Code with longer lines is generated. A line cannot be
/// interrupted, and the time for a hostile one grows faster than its length.
const MAX_LINE_CHARACTERS: usize = 500;
/// How long a request waits for the highlighted code of a file.
const FILE_TIMEOUT: Duration = Duration::from_millis(150);
/// How long one code may be worked on. What takes longer than a request waits is found in the cache by the next one.
const WORK_TIMEOUT: Duration = Duration::from_secs(1);
/// How long code that could not be highlighted is not tried again. The node may only have been busy.
const FAILURE_LIFETIME: Duration = Duration::from_secs(600);
/// Maximum number of codes that are worked on at once.
const MAX_CONCURRENT_WORK: usize = 2;
/// Maximum size of all cached code, in bytes.
const MAX_CACHE_BYTES: u64 = 64 << 20;

/// The identity of a code and the name of its syntax.
type CacheKey = (String, String);
/// The highlighted code, or `None` if it is being worked on or could not be highlighted.
type CacheValue = Option<Arc<HighlightedLines>>;

static PERMITS: Permits = Permits::new(MAX_CONCURRENT_WORK);
static CACHE: LazyLock<Cache<CacheKey, CacheValue>> = LazyLock::new(|| {
    let weigh = |key: &CacheKey, value: &CacheValue| {
        let lines = value.iter().flat_map(|lines| lines.iter());
        let bytes: usize = lines.map(|line| line.len() + size_of::<Box<str>>()).sum();
        u32::try_from(bytes + key.0.len() + key.1.len()).unwrap_or(u32::MAX)
    };
    Cache::builder().max_capacity(MAX_CACHE_BYTES).weigher(weigh).expire_after(FailureExpiry).build()
});

/// Removes failures from the cache after a while.
struct FailureExpiry;

impl Expiry<CacheKey, CacheValue> for FailureExpiry {
    fn expire_after_create(&self, _: &CacheKey, value: &CacheValue, _: Instant) -> Option<Duration> {
        value.is_none().then_some(FAILURE_LIFETIME)
    }

    fn expire_after_update(
        &self,
        _: &CacheKey,
        value: &CacheValue,
        _: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        value.is_none().then_some(FAILURE_LIFETIME)
    }
}

/// Highlights the lines of a file. Returns `None` if its syntax is not known, if it is too long, or if it takes too long.
pub async fn highlight_file(blob_id: String, path: String, lines: Vec<String>) -> Option<Arc<HighlightedLines>> {
    let highlight = move || {
        let syntax = syntaxes::find_by_path(&path, lines.first()?)?;
        highlight(blob_id, syntax, lines, Instant::now() + FILE_TIMEOUT)
    };
    tokio::task::spawn_blocking(highlight).await.ok().flatten()
}

/// Highlights a block of code in a text, in the language that the text names. Returns `None` if the language is not
/// known, if the code is too long, or if it is not highlighted before the deadline.
pub fn highlight_block(language: &str, code: &str, deadline: Instant) -> Option<Arc<HighlightedLines>> {
    let syntax = syntaxes::find_by_name(language)?;
    highlight(block_id(code), syntax, code.lines().map(str::to_owned).collect(), deadline)
}

fn block_id(code: &str) -> String {
    format!("text {}", hex::encode(Sha256::digest(code)))
}

fn highlight(
    id: String,
    syntax: &'static SyntaxReference,
    lines: Vec<String>,
    deadline: Instant,
) -> Option<Arc<HighlightedLines>> {
    let is_long = |line: &String| line.len() > MAX_LINE_CHARACTERS && line.chars().count() > MAX_LINE_CHARACTERS;
    if lines.iter().map(String::len).sum::<usize>() > MAX_BYTES || lines.iter().any(is_long) {
        return None;
    }
    let key = (id, syntax.name.clone());
    if let Some(found) = CACHE.get(&key) {
        return found;
    }
    let permit = PERMITS.acquire(deadline)?;
    // Requests for the same code do not occupy the other thread meanwhile, and a failure remains in the cache.
    CACHE.insert(key.clone(), None);
    let work_key = key.clone();
    let (sender, receiver) = mpsc::sync_channel(1);
    let work = move || {
        let _permit = permit;
        let highlighted = write_lines(syntax, &lines).map(Arc::new);
        if highlighted.is_some() {
            CACHE.insert(work_key, highlighted.clone());
        }
        // The request may have stopped waiting.
        let _ = sender.send(highlighted);
    };
    if thread::Builder::new().name("highlight".to_owned()).spawn(work).is_err() {
        CACHE.invalidate(&key);
        return None;
    }
    receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok().flatten()
}

/// Returns the lines as HTML, or `None` if that takes too long.
fn write_lines(syntax: &SyntaxReference, lines: &[String]) -> Option<HighlightedLines> {
    let deadline = Instant::now() + WORK_TIMEOUT;
    let mut state = ParseState::new(syntax);
    let mut scopes = ScopeStack::new();
    let mut highlighted = Vec::with_capacity(lines.len());
    for line in lines {
        if Instant::now() >= deadline {
            return None;
        }
        let operations = state.parse_line(&format!("{line}\n"), syntaxes::all()).ok()?;
        let mut html = String::with_capacity(line.len() * 2);
        let (mut start, mut class) = (0, classes::find(&scopes));
        for (position, operation) in operations {
            scopes.apply(&operation).ok()?;
            let next = classes::find(&scopes);
            let position = position.min(line.len());
            if next != class {
                write_part(&mut html, line.get(start..position)?, class);
                (start, class) = (position, next);
            }
        }
        write_part(&mut html, line.get(start..)?, class);
        highlighted.push(html.into_boxed_str());
    }
    Some(highlighted)
}

fn write_part(html: &mut String, text: &str, class: Option<&str>) {
    let escaped = visible::escape(text);
    match class {
        Some(class) if !text.trim().is_empty() => {
            html.extend(["<span class=\"", class, "\">", &escaped, "</span>"]);
        }
        _ => html.push_str(&escaped),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    fn lines(language: &str, code: &str) -> Option<Vec<String>> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let highlighted = highlight_block(language, code, deadline)?;
        Some(highlighted.iter().map(|line| line.to_string()).collect())
    }

    #[test]
    fn parts_of_code_have_classes() {
        let rust = lines("rust", "// A <comment>.\nfn main() { let x = \"a\\n\"; 42 }").unwrap();
        assert_eq!(rust[0], "<span class=\"com\">// A &lt;comment&gt;.</span>");
        for part in ["<span class=\"k\">fn</span>", "<span class=\"fun\">main</span>", "<span class=\"num2\">42</span>"]
        {
            assert!(rust[1].contains(part), "{part} in {}", rust[1]);
        }
        assert!(rust[1].contains("<span class=\"str\">&quot;a\\n&quot;</span>"), "{}", rust[1]);
    }

    #[test]
    fn a_comment_over_several_lines_is_complete_on_each() {
        let lines = lines("c", "/* one\ntwo */ int x;").unwrap();
        assert_eq!(lines[0], "<span class=\"com\">/* one</span>");
        assert!(lines[1].starts_with("<span class=\"com\">two */</span>"), "{}", lines[1]);
    }

    #[test]
    fn unknown_languages_and_long_lines_are_not_highlighted() {
        assert_eq!(lines("no such language", "x"), None);
        assert_eq!(lines("", "x"), None);
        assert_eq!(lines("rust", &"x".repeat(MAX_LINE_CHARACTERS + 1)), None);
        assert_eq!(lines("rust", &"fn x() {}\n".repeat(MAX_BYTES / 9)), None);
    }

    #[test]
    fn code_that_could_not_be_highlighted_is_not_tried_again() {
        let code = "fn fails() {}";
        CACHE.insert((block_id(code), "Rust".to_owned()), None);
        assert_eq!(lines("rust", code), None);
        assert!(lines("rust", "fn succeeds() {}").is_some());
        assert!(CACHE.get(&(block_id("fn succeeds() {}"), "Rust".to_owned())).flatten().is_some());
    }

    #[test]
    fn a_request_does_not_wait_after_its_deadline() {
        let start = Instant::now();
        assert!(highlight_block("rust", "fn waits() {}", start).is_none());
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn files_have_the_syntax_of_their_names_or_first_lines() {
        let name = |path: &str, line: &str| syntaxes::find_by_path(path, line).map(|syntax| syntax.name.as_str());
        assert_eq!(name("src/main.rs", ""), Some("Rust"));
        assert_eq!(name("a/Makefile", ""), Some("Makefile"));
        assert_eq!(name("script", "#!/usr/bin/env python3"), Some("Python"));
        assert_eq!(name("notes.txt", "text"), None);
        assert_eq!(name("LICENSE", "text"), None);
    }
}
