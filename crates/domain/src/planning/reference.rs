//! Issues by their numbers in texts.

/// A text that names more issues names none beyond these.
const MOST: usize = 20;

/// The numbers of the issues that a commit's message says it closes: `closes #1`, `Fixed #2, #3 and #4`, `resolve: #5`.
/// Each once, in the order in which they are named; none beyond a few.
pub fn closed_by(message: &str) -> Vec<i64> {
    let mut numbers = Vec::new();
    let mut closing = false;
    for word in message.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()) {
        match number(word) {
            Some(number) if closing && !numbers.contains(&number) => numbers.push(number),
            Some(_) => {}
            // What joins numbers belongs to the word before them.
            None if closing && matches!(word, "and" | "&") => {}
            None => closing = is_verb(word),
        }
        if numbers.len() == MOST {
            break;
        }
        // A list ends with its sentence.
        if word.ends_with(['.', ';', '!', '?']) {
            closing = false;
        }
    }
    numbers
}

fn number(word: &str) -> Option<i64> {
    let digits = word.strip_prefix('#')?.trim_end_matches(['.', ';', '!', '?', ':', ')']);
    if digits.bytes().all(|digit| digit.is_ascii_digit()) { digits.parse().ok() } else { None }
}

const VERBS: [&str; 16] = [
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

fn is_verb(word: &str) -> bool {
    let word = word.strip_suffix(':').unwrap_or(word).trim_start_matches('(');
    VERBS.iter().any(|verb| word.eq_ignore_ascii_case(verb))
}

/// The numbers of the issues that a text mentions, `#7`; each once. Neither `a#7` nor `/#7` nor `##7` is one.
pub fn mentioned_in(text: &str) -> Vec<i64> {
    let mut numbers = Vec::new();
    let mut before = ' ';
    for (place, c) in text.char_indices() {
        if c == '#' && !before.is_alphanumeric() && !matches!(before, '_' | '&' | '/' | '#') {
            let rest = &text[place + 1..];
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let is_word = rest[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
            if let (false, Ok(number)) = (is_word, rest[..end].parse())
                && !numbers.contains(&number)
            {
                numbers.push(number);
            }
        }
        before = c;
        if numbers.len() == MOST {
            break;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::{MOST, closed_by, mentioned_in};

    #[test]
    fn mentions() {
        for (text, numbers) in [
            ("see #1, (#2) and #3.", vec![1, 2, 3]),
            ("#4#5 #4", vec![4]),
            ("a#6 &#7; http://x/#8 ##9 #10a #_11 #", vec![]),
            ("größer\n#12", vec![12]),
            ("#99999999999999999999", vec![]),
        ] {
            assert_eq!(mentioned_in(text), numbers, "{text:?}");
        }
        let many: String = (0..100).map(|n| format!("#{n} ")).collect();
        assert_eq!(mentioned_in(&many).len(), MOST);
        assert_eq!(closed_by(&format!("closes {many}")).len(), MOST);
    }

    #[test]
    fn messages() {
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
            assert_eq!(closed_by(message), numbers, "{message:?}");
        }
    }
}
