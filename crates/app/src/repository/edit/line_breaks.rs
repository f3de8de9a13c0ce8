//! Keeps the line breaks of a file that is edited in a browser. Forms send every line break as CR LF.

/// Returns an entered text with the line breaks of the original. Lines before the first change and after the last one
/// keep theirs; the lines between get that of the first line of the original, or LF if it has none.
pub(super) fn restore_line_breaks(original: &str, entered: &str) -> String {
    let entered = entered.replace("\r\n", "\n").replace('\r', "\n");
    let old = split_lines(original);
    let new: Vec<&str> = entered.split('\n').collect();
    let usual = old.first().map(|(_, line_break)| *line_break).filter(|text| !text.is_empty()).unwrap_or("\n");
    let same_start = old.iter().zip(&new).take_while(|((text, _), entered)| text == *entered).count();
    let longest_end = old.len().min(new.len()) - same_start;
    let from_end = old.iter().rev().zip(new.iter().rev()).take(longest_end);
    let same_end = from_end.take_while(|((text, _), entered)| text == *entered).count();
    let mut restored = String::with_capacity(entered.len() + new.len());
    for (index, line) in new.iter().enumerate() {
        restored.push_str(line);
        let left = new.len() - index;
        if left == 1 {
            break;
        }
        let kept = match () {
            () if index < same_start => old.get(index),
            () if left <= same_end => old.get(old.len() - left),
            () => None,
        };
        // The last line of the original has no line break. It gets one if lines are appended to it.
        restored.push_str(kept.map(|(_, line_break)| *line_break).filter(|text| !text.is_empty()).unwrap_or(usual));
    }
    restored
}

/// Splits a text into lines and their line breaks, as browsers see them. The last line has none.
fn split_lines(text: &str) -> Vec<(&str, &str)> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(['\r', '\n']) {
        let bytes = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
        lines.push((&rest[..end], &rest[end..end + bytes]));
        rest = &rest[end + bytes..];
    }
    lines.push((rest, ""));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_texts_stay_as_they_are() {
        for text in ["", "\n", "a", "a\n", "a\r\nb\r\n", "a\nb", "a\r\nb\nc\rd", "\r\n\r\n", "\na\r\n\n"] {
            let sent = split_lines(text).iter().map(|(line, _)| *line).collect::<Vec<_>>().join("\r\n");
            assert_eq!(restore_line_breaks(text, &sent), text, "{text:?}");
        }
    }

    #[test]
    fn changed_lines_get_the_usual_line_break() {
        for (original, sent, expected) in [
            ("", "a\r\nb", "a\nb"),
            ("a\nb\n", "a\r\nx\r\nb\r\n", "a\nx\nb\n"),
            ("a\r\nb\r\n", "a\r\nx\r\ny\r\nb\r\n", "a\r\nx\r\ny\r\nb\r\n"),
            ("a\r\nb\nc\n", "a\r\nx\r\nc\r\n", "a\r\nx\r\nc\n"),
            ("a\nb", "a\r\nb\r\n", "a\nb\n"),
            ("a\r\nb", "a\r\nb\r\nc", "a\r\nb\r\nc"),
            ("a\r\nb\r\n", "a", "a"),
            ("a\na\na\n", "a\r\na\r\n", "a\na\n"),
            ("a", "", ""),
        ] {
            assert_eq!(restore_line_breaks(original, sent), expected, "{original:?} {sent:?}");
        }
    }
}
