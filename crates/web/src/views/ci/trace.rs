//! The trace of a build as numbered lines in sections, with colors as classes.
//!
//! A trace is what a program wrote for a terminal. Colors and the sections of runners are shown; everything else that
//! controls a terminal is left out.

use askama::Template;

use crate::words;

/// The lines of a part of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Template)]
#[template(path = "ci/trace.html")]
pub struct TraceView {
    pub blocks: Vec<TraceBlock>,
    /// The number of lines at the beginning of the part that are not shown.
    pub skipped: usize,
    /// The number of the first line that reports an error.
    pub first_error: Option<usize>,
    /// Whether the first line that reports an error is the target of a link. The page has one such line.
    pub is_error_linked: bool,
    /// The number of the line after the part.
    pub next_number: usize,
}

/// Lines outside of sections, or a section with its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceBlock {
    pub section: Option<TraceSection>,
    /// Whether the lines may belong to a section that began before the part.
    pub is_continued: bool,
    pub is_open: bool,
    pub lines: Vec<TraceLine>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSection {
    pub title: String,
    pub duration: Option<String>,
    started_at: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    pub number: usize,
    pub is_error: bool,
    pub spans: Vec<TraceSpan>,
}

/// A text in one color.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSpan {
    /// The classes of the color, or an empty text.
    pub class: String,
    pub text: String,
}

impl TraceBlock {
    fn is_empty(&self) -> bool {
        self.section.is_none() && self.lines.is_empty()
    }
}

/// Maximum number of lines on a page. The end of a longer trace is shown, since it tells why a build failed.
pub const MAX_LINES: usize = 5_000;

impl TraceView {
    /// Builds the lines of a part whose first line has this number.
    pub fn new(part: &[u8], first_number: usize) -> Self {
        let text = String::from_utf8_lossy(part);
        let count = text.lines().count();
        let skipped = count.saturating_sub(MAX_LINES);
        let mut view = Self { skipped, next_number: first_number + count, ..Self::default() };
        view.blocks.push(TraceBlock { is_continued: true, is_open: true, ..TraceBlock::default() });
        for (index, line) in text.lines().enumerate().skip(skipped) {
            view.push(line, first_number + index);
        }
        // An empty block at the end is kept after a section, because the next part may continue it.
        let next = view.blocks.pop_if(|block| block.is_empty() && !block.is_continued);
        view.blocks.retain(|block| !block.is_empty());
        view.blocks.extend(next);
        view
    }

    /// Returns whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the lines for a page: links the first error, and closes the sections that have ended, except the last one
    /// and the one with the first error.
    pub fn into_page(mut self) -> Self {
        self.is_error_linked = true;
        let last = self.blocks.iter().rposition(|block| !block.is_empty()).unwrap_or(0);
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let has_ended = block.section.as_ref().is_some_and(|section| section.duration.is_some());
            let has_error = block.lines.iter().any(|line| line.is_error);
            block.is_open = !has_ended || has_error || index == last;
        }
        self
    }

    fn push(&mut self, line: &str, number: usize) {
        let mut rest = line;
        let mut begins_section = false;
        while let Some((marker, after)) = Marker::parse(rest) {
            rest = after;
            match marker {
                Marker::Start { at, name } => {
                    let section = TraceSection { title: name.to_owned(), duration: None, started_at: at };
                    self.blocks.push(TraceBlock { section: Some(section), is_open: true, ..TraceBlock::default() });
                    begins_section = true;
                }
                Marker::End { at } => {
                    if let Some(section) = self.blocks.last_mut().and_then(|block| block.section.as_mut()) {
                        section.duration = Some(words::duration(at.saturating_sub(section.started_at)));
                    }
                    self.blocks.push(TraceBlock { is_open: true, ..TraceBlock::default() });
                    begins_section = false;
                }
            }
        }
        let spans = spans(rest);
        let text: String = spans.iter().map(|span| span.text.as_str()).collect();
        let Some(block) = self.blocks.last_mut() else { return };
        if let (true, Some(section)) = (begins_section, &mut block.section) {
            if !text.trim().is_empty() {
                section.title = text;
            }
            return;
        }
        // A line with markers alone is not shown.
        if rest.len() != line.len() && text.is_empty() {
            return;
        }
        // Only the first error is marked; later lines often repeat it.
        let is_error = self.first_error.is_none() && is_error(&text);
        if is_error {
            self.first_error = Some(number);
        }
        block.lines.push(TraceLine { number, is_error, spans });
    }
}

/// The beginning or the end of a section, as runners mark it.
enum Marker<'a> {
    Start { at: i64, name: &'a str },
    End { at: i64 },
}

impl<'a> Marker<'a> {
    /// Parses a marker at the beginning of a line: `section_start:SECONDS:NAME`, a carriage return, and a sequence that
    /// erases the line. Returns it with the rest of the line.
    fn parse(line: &'a str) -> Option<(Self, &'a str)> {
        let line = line.strip_prefix("\u{1b}[0K").unwrap_or(line);
        let (is_start, rest) = match line.strip_prefix("section_start:") {
            Some(rest) => (true, rest),
            None => (false, line.strip_prefix("section_end:")?),
        };
        let (marker, rest) = rest.split_once('\r').unwrap_or((rest, ""));
        let (at, name) = marker.split_once(':')?;
        let at = at.parse().ok()?;
        let name = name.split_once('[').map_or(name, |(name, _)| name);
        let rest = rest.strip_prefix("\u{1b}[0K").unwrap_or(rest);
        Some((if is_start { Self::Start { at, name } } else { Self::End { at } }, rest))
    }
}

/// Returns whether a line reports an error in the form of common tools.
fn is_error(line: &str) -> bool {
    let line = line.trim_start();
    ["error:", "error[", "ERROR:", "FAILED", "fatal:", "panic:"].iter().any(|word| line.starts_with(word))
        || line.contains(" FAILED")
        || line.contains("panicked at")
}

/// Returns a line as it looks at the end on a terminal: what follows the last carriage return, without control
/// characters and with colors as classes.
fn spans(line: &str) -> Vec<TraceSpan> {
    let line = line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default();
    let mut spans: Vec<TraceSpan> = Vec::new();
    let mut style = Style::default();
    // The style of the last span.
    let mut span_style = style;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' if characters.next_if_eq(&'[').is_some() => {
                let mut sequence = String::new();
                // A control sequence ends with a character from `@` to `~`.
                for next in characters.by_ref() {
                    if next == 'm' {
                        style.apply(&sequence);
                    }
                    if ('@'..='~').contains(&next) {
                        break;
                    }
                    sequence.push(next);
                }
            }
            _ if character.is_control() && character != '\t' => {}
            _ => match spans.last_mut().filter(|_| span_style == style) {
                Some(span) => span.text.push(character),
                None => {
                    spans.push(TraceSpan { class: style.class(), text: character.to_string() });
                    span_style = style;
                }
            },
        }
    }
    spans
}

/// The color and weight that escape sequences have set.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Style {
    color: &'static str,
    is_bold: bool,
}

impl Style {
    fn apply(&mut self, sequence: &str) {
        for code in sequence.split(';') {
            match code {
                "" | "0" => *self = Self::default(),
                "1" => self.is_bold = true,
                "2" | "90" => self.color = "d",
                "22" => self.is_bold = false,
                "31" | "91" => self.color = "r",
                "32" | "92" => self.color = "g",
                "33" | "93" => self.color = "y",
                "34" | "94" | "36" | "96" => self.color = "b",
                "39" => self.color = "",
                _ => {}
            }
        }
    }

    fn class(self) -> String {
        let weight = if self.is_bold { "w" } else { "" };
        let separator = if self.is_bold && !self.color.is_empty() { " " } else { "" };
        format!("{}{separator}{weight}", self.color)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(view: &TraceView) -> Vec<String> {
        let lines = view.blocks.iter().flat_map(|block| &block.lines);
        lines.map(|line| line.spans.iter().map(|span| span.text.as_str()).collect()).collect()
    }

    #[test]
    fn escape_sequences_and_overwritten_text_are_left_out() {
        let view = TraceView::new(b"\x1b[32;1mok\x1b[0m\n10 %\r100 %\r\na\x07\tb\n", 1);
        assert_eq!(texts(&view), ["ok", "100 %", "a\tb"]);
        assert_eq!(view.next_number, 4);
    }

    #[test]
    fn colors_are_classes() {
        let view = TraceView::new(b"a \x1b[31;1mred\x1b[0m b", 1);
        let spans = &view.blocks[0].lines[0].spans;
        let pairs: Vec<_> = spans.iter().map(|span| (span.class.as_str(), span.text.as_str())).collect();
        assert_eq!(pairs, [("", "a "), ("r w", "red"), ("", " b")]);
    }

    #[test]
    fn sections_have_a_title_and_a_duration() {
        let text = b"before\nsection_start:10:build\r\x1b[0KBuild it\nmake\n\
            section_end:15:build\r\x1b[0Ksection_start:15:test[collapsed=true]\r\x1b[0K\nerror: no\nsection_end:16:test\r\x1b[0K\nafter\n";
        let view = TraceView::new(text, 1).into_page();
        let of_section = |block: &TraceBlock| {
            let section = block.section.as_ref()?;
            Some((section.title.clone(), section.duration.clone(), block.is_open))
        };
        let sections: Vec<_> = view.blocks.iter().map(of_section).collect();
        let build = ("Build it".to_owned(), Some("5 s".to_owned()), false);
        let test = ("test".to_owned(), Some("1 s".to_owned()), true);
        assert_eq!(sections, [None, Some(build), Some(test), None]);
        assert_eq!(texts(&view), ["before", "make", "error: no", "after"]);
        assert_eq!((view.first_error, view.next_number), (Some(5), 8));
    }

    #[test]
    fn lines_after_a_section_do_not_belong_to_it() {
        let view = TraceView::new(b"section_start:1:a\r\x1b[0K\nx\nsection_end:2:a\r\x1b[0K\n", 1);
        let blocks: Vec<_> = view.blocks.iter().map(|block| (block.section.is_some(), block.lines.len())).collect();
        assert_eq!(blocks, [(true, 1), (false, 0)]);
        assert!(TraceView::new(b"", 1).is_empty());
    }

    #[test]
    fn the_first_error_is_marked() {
        let view = TraceView::new(b"fine\nerror: no\nerror: again\n", 1);
        assert_eq!(view.first_error, Some(2));
        assert_eq!(view.blocks[0].lines.iter().filter(|line| line.is_error).count(), 1);
    }

    #[test]
    fn the_end_of_a_long_trace_is_shown() {
        let view = TraceView::new("x\n".repeat(MAX_LINES + 3).as_bytes(), 3);
        assert_eq!((view.skipped, view.blocks[0].lines.len(), view.blocks[0].lines[0].number), (3, MAX_LINES, 6));
    }
}
