//! The trace of a build as numbered lines of plain text.

/// The lines of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceLines {
    pub lines: Vec<TraceLine>,
    /// The number of lines before the first one that is shown.
    pub skipped: usize,
    /// The number of the first line that reports an error.
    pub first_error: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    pub number: usize,
    pub text: String,
    pub is_error: bool,
}

/// Maximum number of lines on a page. The end of a longer trace is shown, since it tells why a build failed.
const MAX_LINES: usize = 5_000;

impl TraceLines {
    /// Builds the lines of the end of a trace, which `skipped_lines` precede. Escape sequences of terminals are left out.
    pub fn new(trace: &[u8], skipped_lines: usize) -> Self {
        let text = String::from_utf8_lossy(trace);
        let all: Vec<&str> = text.lines().collect();
        let skipped = all.len().saturating_sub(MAX_LINES);
        let line = |(index, raw): (usize, &&str)| {
            let text = plain_text(raw);
            let is_error = is_error(&text);
            TraceLine { number: skipped_lines + index + 1, text, is_error }
        };
        let mut lines: Vec<TraceLine> = all.iter().enumerate().skip(skipped).map(line).collect();
        let first_error = lines.iter().find(|line| line.is_error).map(|line| line.number);
        // Only the first error is marked; later lines often repeat it.
        lines.iter_mut().for_each(|line| line.is_error = Some(line.number) == first_error);
        Self { lines, skipped: skipped_lines + skipped, first_error }
    }
}

/// Returns whether a line reports an error in the form of common tools.
fn is_error(line: &str) -> bool {
    let line = line.trim_start();
    ["error:", "error[", "ERROR:", "FAILED", "fatal:", "panic:"].iter().any(|word| line.starts_with(word))
        || line.contains(" FAILED")
        || line.contains("panicked at")
}

/// Returns a line as it looks at the end on a terminal, without colors: what follows the last carriage return, without
/// escape sequences and control characters.
fn plain_text(line: &str) -> String {
    let line = line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default();
    let mut text = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' if characters.next_if_eq(&'[').is_some() => {
                // A control sequence ends with a character from `@` to `~`.
                while characters.next().is_some_and(|next| !('@'..='~').contains(&next)) {}
            }
            '\t' => text.push('\t'),
            _ if character.is_control() => {}
            _ => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_overwritten_text_are_left_out() {
        let trace =
            TraceLines::new(b"\x1b[32;1mok\x1b[0m\n10 %\r100 %\r\nsection_start:1:x\r\x1b[0Kbuild\na\x07\tb\n", 0);
        let texts: Vec<&str> = trace.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["ok", "100 %", "build", "a\tb"]);
    }

    #[test]
    fn the_first_error_is_marked() {
        let trace = TraceLines::new(b"fine\nerror: no\nerror: again\n", 0);
        assert_eq!(trace.first_error, Some(2));
        assert_eq!(trace.lines.iter().filter(|line| line.is_error).count(), 1);
    }

    #[test]
    fn the_end_of_a_long_trace_is_shown() {
        let trace = TraceLines::new("x\n".repeat(MAX_LINES + 3).as_bytes(), 2);
        assert_eq!((trace.skipped, trace.lines.len(), trace.lines[0].number), (5, MAX_LINES, 6));
    }
}
