//! Finds references to issues, such as `#7`, in texts.

/// Maximum number of references that are read from one text. The number is arbitrary.
const MAX_REFERENCES: usize = 20;

/// Returns the numbers of the issues that a commit message closes: `closes #1`, `Fixed #2, #3 and #4`, `resolve: #5`.
/// The numbers are unique, in the order of the text, and at most `MAX_REFERENCES`.
pub fn issues_closed_by(message: &str) -> Vec<i64> {
    let mut numbers = Vec::new();
    let mut is_closing = false;
    for word in message.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()) {
        match parse_number(word) {
            Some(number) if is_closing && !numbers.contains(&number) => numbers.push(number),
            Some(_) => {}
            // These words continue a list of numbers.
            None if is_closing && matches!(word, "and" | "&") => {}
            None => is_closing = is_closing_verb(word),
        }
        if numbers.len() == MAX_REFERENCES {
            break;
        }
        // A list ends with its sentence.
        if word.ends_with(['.', ';', '!', '?']) {
            is_closing = false;
        }
    }
    numbers
}

fn parse_number(word: &str) -> Option<i64> {
    let digits = word.strip_prefix('#')?.trim_end_matches(['.', ';', '!', '?', ':', ')']);
    if digits.bytes().all(|digit| digit.is_ascii_digit()) { digits.parse().ok() } else { None }
}

const CLOSING_VERBS: [&str; 16] = [
    "close",
    "closes",
    "closed",
    "closing",
    "fix",
    "fixes",
    "fixed",
    "fixing",
    "resolve",
    "resolves",
    "resolved",
    "resolving",
    "implement",
    "implements",
    "implemented",
    "implementing",
];

fn is_closing_verb(word: &str) -> bool {
    let word = word.strip_suffix(':').unwrap_or(word).trim_start_matches('(');
    CLOSING_VERBS.iter().any(|verb| word.eq_ignore_ascii_case(verb))
}

/// Returns the numbers of the issues that a text mentions, such as `#7`, without duplicates. `a#7`, `/#7` and `##7` are
/// not mentions.
pub fn issues_mentioned_in(text: &str) -> Vec<i64> {
    let mut numbers = Vec::new();
    let mut previous = ' ';
    for (index, c) in text.char_indices() {
        if c == '#' && !previous.is_alphanumeric() && !matches!(previous, '_' | '&' | '/' | '#') {
            let rest = &text[index + 1..];
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let is_word = rest[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
            if let (false, Ok(number)) = (is_word, rest[..end].parse())
                && !numbers.contains(&number)
            {
                numbers.push(number);
            }
        }
        previous = c;
        if numbers.len() == MAX_REFERENCES {
            break;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::{MAX_REFERENCES, issues_closed_by, issues_mentioned_in};

    #[test]
    fn issue_mentions_are_found() {
        for (text, numbers) in [
            ("see #1, (#2) and #3.", vec![1, 2, 3]),
            ("#4#5 #4", vec![4]),
            ("a#6 &#7; http://x/#8 ##9 #10a #_11 #", vec![]),
            ("größer\n#12", vec![12]),
            ("#99999999999999999999", vec![]),
        ] {
            assert_eq!(issues_mentioned_in(text), numbers, "{text:?}");
        }
        let many: String = (0..100).map(|n| format!("#{n} ")).collect();
        assert_eq!(issues_mentioned_in(&many).len(), MAX_REFERENCES);
        assert_eq!(issues_closed_by(&format!("closes {many}")).len(), MAX_REFERENCES);
    }

    #[test]
    fn closing_patterns_are_found() {
        for (message, numbers) in [
            ("Closes #1", vec![1]),
            ("fix #2, #3 and #4.", vec![2, 3, 4]),
            ("Parser: rewritten\n\nResolves: #5\nImplements #6 & #7", vec![5, 6, 7]),
            ("Fixes #8, fixed #8, (fixing #9)", vec![8, 9]),
            ("closed #10. See #11", vec![10]),
            ("See #12 and #13", vec![]),
            ("prefixes #14, fixer #15, fixe #16, closet #17", vec![]),
            ("closes the door for #18", vec![]),
            ("closes #, #x, #1x, #99999999999999999999", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(issues_closed_by(message), numbers, "{message:?}");
        }
    }
}
