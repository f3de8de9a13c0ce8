//! Finds mentions of issues and users, such as `#7` and `@ada`, with their places in a text.

/// Maximum number of mentions that are read from one text. The number is arbitrary.
const MAX_MENTIONS: usize = 100;

/// What a text mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mention<'a> {
    /// An issue of the project by its number.
    Issue(i64),
    /// A user by their name.
    User(&'a str),
}

/// A mention and its place: the bytes from `start` to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundMention<'a> {
    pub start: usize,
    pub end: usize,
    pub mention: Mention<'a>,
}

/// Returns the mentions of a text in their order, with duplicates. `a#7`, `a@b` and `/#7` are not mentions.
pub fn find_mentions(text: &str) -> Vec<FoundMention<'_>> {
    let mut found = Vec::new();
    let mut previous = ' ';
    for (start, c) in text.char_indices() {
        let is_free = !previous.is_alphanumeric() && !matches!(previous, '_' | '&' | '/' | '#' | '@' | '.' | ':' | '-');
        previous = c;
        if !is_free {
            continue;
        }
        let rest = &text[start + c.len_utf8()..];
        let mention = match c {
            '#' => issue_mention(rest),
            '@' => user_mention(rest),
            _ => None,
        };
        if let Some((length, mention)) = mention {
            found.push(FoundMention { start, end: start + 1 + length, mention });
            if found.len() == MAX_MENTIONS {
                break;
            }
        }
    }
    found
}

fn issue_mention(rest: &str) -> Option<(usize, Mention<'_>)> {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let is_word = rest[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let number = rest[..end].parse().ok().filter(|_| !is_word)?;
    Some((end, Mention::Issue(number)))
}

fn user_mention(rest: &str) -> Option<(usize, Mention<'_>)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
    let name = rest[..end].trim_end_matches(['.', '-']);
    let is_word = rest[end..].starts_with(char::is_alphanumeric);
    (!name.is_empty() && !is_word).then_some((name.len(), Mention::User(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_are_found_with_their_places() {
        let text = "See #12, (@ada.b) and @bob.";
        let found: Vec<_> = find_mentions(text).into_iter().map(|it| (&text[it.start..it.end], it.mention)).collect();
        let expected =
            [("#12", Mention::Issue(12)), ("@ada.b", Mention::User("ada.b")), ("@bob", Mention::User("bob"))];
        assert_eq!(found, expected);
    }

    #[test]
    fn parts_of_words_and_addresses_are_not_mentions() {
        for text in
            ["a#1", "ada@example.com", "http://x/#3", "##4", "#5a", "@", "# 6", "@é", "&#7;", "#99999999999999999999"]
        {
            assert_eq!(find_mentions(text), [], "{text}");
        }
        assert_eq!(find_mentions(&"#1 ".repeat(1_000)).len(), MAX_MENTIONS);
    }
}
