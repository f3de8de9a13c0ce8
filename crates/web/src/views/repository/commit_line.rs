//! A commit as one line: author, first line of the message, short id and time.

use chrono::{DateTime, Utc};
use holdfast_app::repository::browse::commit::Commit;

use crate::views::{Person, ProjectLinks};
use crate::words::Time;

#[derive(Clone, Debug)]
pub struct CommitLine {
    pub url: String,
    pub short_id: String,
    pub title: String,
    pub author: Person,
    /// When the commit was created, by its committer.
    pub time: Time,
}

impl CommitLine {
    /// Creates the line of a commit on a page that shows ages.
    pub fn with_age(commit: &Commit, links: &ProjectLinks, now: DateTime<Utc>) -> Self {
        Self::new(commit, links, Time::age(commit.committer.date.to_utc(), now))
    }

    /// Creates the line of a commit on a page that shows dates.
    pub fn with_date(commit: &Commit, links: &ProjectLinks) -> Self {
        Self::new(commit, links, Time::date(commit.committer.date.to_utc()))
    }

    fn new(commit: &Commit, links: &ProjectLinks, time: Time) -> Self {
        Self {
            url: links.commit(commit.id),
            short_id: short_id(&commit.id.to_string()).to_owned(),
            title: title(&commit.message).to_owned(),
            author: Person::from_signature(&commit.author.name, &commit.author.email),
            time,
        }
    }
}

/// Number of hexadecimal digits of a shortened object id.
const SHORT_ID_LENGTH: usize = 8;

/// Returns the first digits of an object id.
pub fn short_id(id: &str) -> &str {
    id.get(..SHORT_ID_LENGTH).unwrap_or(id)
}

/// Returns a revision as a page shows it: the first digits of the whole id of a commit, and every other text as it is.
pub fn short_revision(revision: &str) -> &str {
    let is_id = matches!(revision.len(), 40 | 64) && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { short_id(revision) } else { revision }
}

/// Returns the first line of a message, or a text that says that there is none.
pub fn title(message: &str) -> &str {
    let line = message.trim_start().lines().next().unwrap_or_default().trim_end();
    if line.is_empty() { "(no message)" } else { line }
}

/// Returns the message without its first line.
pub fn body(message: &str) -> &str {
    let message = message.trim_start();
    message.split_once('\n').map_or("", |(_, rest)| rest).trim_matches(['\r', '\n']).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_split_into_title_and_body() {
        assert_eq!((title("\nAdd tides\r\n\r\nWhy.\n"), body("\nAdd tides\r\n\r\nWhy.\n")), ("Add tides", "Why."));
        assert_eq!((title("Add tides"), body("Add tides")), ("Add tides", ""));
        assert_eq!((title(" \n"), body(" \n")), ("(no message)", ""));
    }

    #[test]
    fn ids_are_shortened_to_eight_digits() {
        assert_eq!(short_id("0123456789abcdef"), "01234567");
        assert_eq!(short_id("0123"), "0123");
        assert_eq!(short_revision(&"0123456789".repeat(4)), "01234567");
        assert_eq!((short_revision("main"), short_revision("0123456789")), ("main", "0123456789"));
    }
}
