//! Code with classes for its parts, such as keywords and comments.
//!
//! The patterns of syntaxes can take long on hostile code, and a running pattern cannot be stopped. The work is therefore
//! done by at most two threads of its own. A request waits for a short time, and shows the lines in color that are ready
//! by then; the rest is found in the cache by the next request. Code that could not be highlighted is not tried again for
//! a while.

mod classes;
mod permits;
mod syntaxes;

use std::borrow::Cow;
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
/// How long a request waits for the highlighted code of a file. The first two hundred lines take about this long.
const FILE_TIMEOUT: Duration = Duration::from_millis(40);
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

/// The highlighted lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HighlightedFile {
    /// The first lines of the file, as many as were ready in time.
    lines: Arc<HighlightedLines>,
    /// Whether all requests for the file have the same result.
    pub is_final: bool,
}

impl HighlightedFile {
    /// Returns the lines of the file as HTML: highlighted, or as they are.
    pub fn html<'a>(&'a self, lines: &'a [String]) -> impl Iterator<Item = Cow<'a, str>> {
        let html = move |(index, line): (usize, &'a String)| match self.lines.get(index) {
            Some(highlighted) => Cow::Borrowed(highlighted.as_ref()),
            None => visible::escape(line),
        };
        lines.iter().enumerate().map(html)
    }
}

/// Highlights the lines of a file. No line is highlighted if the syntax of the file is not known, or if it is too long.
pub async fn highlight_file(blob_id: String, path: &str, lines: &[String]) -> HighlightedFile {
    let unchanged = HighlightedFile { lines: Arc::default(), is_final: true };
    let Some(first_line) = lines.first().filter(|_| !is_too_long(lines)).cloned() else { return unchanged };
    let path = path.to_owned();
    // The first lines of files are compared with patterns, and the first call loads all syntaxes.
    let find_syntax = tokio::task::spawn_blocking(move || syntaxes::find_by_path(&path, &first_line));
    let Some(syntax) = find_syntax.await.ok().flatten() else { return unchanged };
    let key = (blob_id, syntax.name.clone());
    let highlighted = match CACHE.get(&key) {
        Some(found) => found.unwrap_or_default(),
        None => {
            let lines = lines.to_vec();
            let work = move || highlight(key, syntax, lines, Instant::now() + FILE_TIMEOUT);
            tokio::task::spawn_blocking(work).await.unwrap_or_default()
        }
    };
    HighlightedFile { is_final: highlighted.len() == lines.len(), lines: highlighted }
}

/// Highlights a block of code in a text, in the language that the text names. Returns `None` if the language is not
/// known, if the code is too long, or if it is not highlighted before the deadline.
pub fn highlight_block(language: &str, code: &str, deadline: Instant) -> Option<Arc<HighlightedLines>> {
    let syntax = syntaxes::find_by_name(language)?;
    let lines: Vec<String> = code.lines().map(str::to_owned).collect();
    if is_too_long(&lines) {
        return None;
    }
    let count = lines.len();
    let highlighted = highlight((block_id(code), syntax.name.clone()), syntax, lines, deadline);
    (highlighted.len() == count).then_some(highlighted)
}

fn block_id(code: &str) -> String {
    format!("text {}", hex::encode(Sha256::digest(code)))
}

fn is_too_long(lines: &[String]) -> bool {
    let is_long = |line: &String| line.len() > MAX_LINE_CHARACTERS && line.chars().count() > MAX_LINE_CHARACTERS;
    lines.iter().map(String::len).sum::<usize>() > MAX_BYTES || lines.iter().any(is_long)
}

/// Highlights lines. Returns the first of them, as many as are ready before the deadline.
fn highlight(
    key: CacheKey,
    syntax: &'static SyntaxReference,
    lines: Vec<String>,
    deadline: Instant,
) -> Arc<HighlightedLines> {
    if let Some(found) = CACHE.get(&key) {
        return found.unwrap_or_default();
    }
    let Some(permit) = PERMITS.acquire(deadline) else { return Arc::default() };
    // Requests for the same code do not occupy the other thread meanwhile, and a failure remains in the cache.
    CACHE.insert(key.clone(), None);
    let work_key = key.clone();
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        let _permit = permit;
        // The request may have stopped waiting.
        let send = |line: &str| drop(sender.send(Box::from(line)));
        if let Some(highlighted) = write_lines(syntax, &lines, send) {
            CACHE.insert(work_key, Some(Arc::new(highlighted)));
        }
    };
    if thread::Builder::new().name("highlight".to_owned()).spawn(work).is_err() {
        CACHE.invalidate(&key);
        return Arc::default();
    }
    let mut ready = HighlightedLines::new();
    while let Ok(line) = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        ready.push(line);
    }
    Arc::new(ready)
}

/// Returns the lines as HTML, or `None` if that takes too long. Each line is passed to `on_line` as soon as it is ready.
fn write_lines(syntax: &SyntaxReference, lines: &[String], on_line: impl Fn(&str)) -> Option<HighlightedLines> {
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
        on_line(&html);
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

    #[tokio::test]
    async fn lines_of_a_file_that_are_not_ready_are_shown_as_they_are() {
        let code: Vec<String> =
            (0..5_000).map(|number| format!("fn f{number}() -> &'static str {{ \"<\" }}")).collect();
        let highlight = || highlight_file("long".to_owned(), "long.rs", &code);
        let first = highlight().await;
        let lines: Vec<Cow<'_, str>> = first.html(&code).collect();
        assert_eq!(lines.len(), code.len());
        let plain = lines.iter().rposition(|line| line.contains("<span")).map_or(0, |last| last + 1);
        assert!(lines[..plain].iter().all(|line| line.contains("<span class=\"k\">fn</span>")));
        assert_eq!(first.is_final, plain == code.len());
        if let Some(line) = lines.get(plain) {
            assert_eq!(
                *line,
                format!("fn f{plain}() -&gt; &amp;'static str {{ &quot;&lt;&quot; }}").replace('\'', "&#39;")
            );
        }
        let text = highlight_file("text".to_owned(), "notes.txt", &code).await;
        assert!(text.is_final && text.lines.is_empty());
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
