//! Quick actions: lines of a description or a note that change the issue, such as `/label ~bug`.

use chrono::NaiveDate;

use super::words::{self, Word};
use crate::parse_date;

/// Maximum number of quick actions of one text. Further lines are part of the text. Arbitrary.
const MAX_ACTIONS: usize = 20;

/// A change that a line of a text asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuickAction {
    /// `/label ~bug ~"good first"`.
    Label(Vec<String>),
    /// `/unlabel ~bug`, or `/unlabel` for all labels.
    Unlabel(Vec<String>),
    /// `/assign @ada`, or `/assign me`.
    Assign(String),
    /// `/unassign`.
    Unassign,
    /// `/milestone %2.5`, or `/milestone none`.
    Milestone(Option<String>),
    /// `/due 2026-12-01`, or `/due none`.
    Due(Option<NaiveDate>),
    /// `/due` with something that is no date.
    InvalidDue,
    Close,
    Reopen,
    Confidential,
}

/// The kind of a quick action, by which a refusal is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuickActionKind {
    Label,
    Assign,
    Milestone,
    Due,
    State,
    Confidential,
}

impl QuickAction {
    pub const fn kind(&self) -> QuickActionKind {
        match self {
            Self::Label(_) | Self::Unlabel(_) => QuickActionKind::Label,
            Self::Assign(_) | Self::Unassign => QuickActionKind::Assign,
            Self::Milestone(_) => QuickActionKind::Milestone,
            Self::Due(_) | Self::InvalidDue => QuickActionKind::Due,
            Self::Close | Self::Reopen => QuickActionKind::State,
            Self::Confidential => QuickActionKind::Confidential,
        }
    }

    /// Parses a line. Returns None for a line that is text.
    fn parse(line: &str) -> Option<Self> {
        let line = line.strip_prefix('/')?;
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let arguments = words::split(rest);
        let single = |sigil: char| match arguments.as_slice() {
            [Word { text, .. }] => Some(text.strip_prefix(sigil).unwrap_or(text)).filter(|text| !text.is_empty()),
            _ => None,
        };
        let titles = || -> Vec<String> {
            let texts = arguments.iter().map(|word| word.text.strip_prefix('~').unwrap_or(&word.text));
            texts.filter(|title| !title.is_empty()).map(str::to_owned).collect()
        };
        match command {
            "label" => Some(Self::Label(titles())).filter(|_| !titles().is_empty()),
            "unlabel" => Some(Self::Unlabel(titles())),
            "assign" => single('@').map(|name| Self::Assign(name.to_owned())),
            "unassign" if arguments.len() <= 1 => Some(Self::Unassign),
            "milestone" => match rest.trim() {
                "none" => Some(Self::Milestone(None)),
                _ => single('%').map(|title| Self::Milestone(Some(title.to_owned()))),
            },
            "due" => match rest.trim() {
                "" => None,
                "none" => Some(Self::Due(None)),
                date => Some(parse_date(date).map_or(Self::InvalidDue, |date| Self::Due(Some(date)))),
            },
            "close" if arguments.is_empty() => Some(Self::Close),
            "reopen" if arguments.is_empty() => Some(Self::Reopen),
            "confidential" if arguments.is_empty() => Some(Self::Confidential),
            _ => None,
        }
    }
}

/// Separates the quick actions from a text. Lines in fenced code, and lines that do not begin with a known command and
/// fitting arguments, are text.
pub fn split_quick_actions(text: &str) -> (String, Vec<QuickAction>) {
    let mut actions = Vec::new();
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let marker = ["```", "~~~"].into_iter().find(|marker| line.trim_start().starts_with(marker));
        match (fence, marker) {
            (None, Some(_)) => fence = marker,
            (Some(open), Some(marker)) if open == marker => fence = None,
            _ => {}
        }
        let action = if fence.is_none() && actions.len() < MAX_ACTIONS { QuickAction::parse(line) } else { None };
        match action {
            Some(action) => actions.push(action),
            None => lines.push(line),
        }
    }
    if actions.is_empty() {
        return (text.to_owned(), actions);
    }
    (lines.join("\n").trim().to_owned(), actions)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn quick_actions_are_separated_from_the_text() {
        let text = "The gauge is wrong.\n/label ~bug ~\"good first\"\r\n/assign @ada\n/milestone %2.5\n/due 2026-12-01\n/close\n\nBye";
        let (rest, actions) = split_quick_actions(text);
        assert_eq!(rest, "The gauge is wrong.\n\nBye");
        let expected = [
            QuickAction::Label(vec!["bug".into(), "good first".into()]),
            QuickAction::Assign("ada".into()),
            QuickAction::Milestone(Some("2.5".into())),
            QuickAction::Due(NaiveDate::from_ymd_opt(2026, 12, 1)),
            QuickAction::Close,
        ];
        assert_eq!(actions, expected);
    }

    #[test]
    fn other_lines_are_text() {
        for text in [
            "/close to the shore",
            "/label",
            "/assign",
            "/assign a b",
            "/unknown x",
            " /close",
            "/etc/passwd",
            "```\n/close\n```",
            "~~~ sh\n/close\n```\n/close\n~~~",
            "/due",
            "  indented\n\n",
        ] {
            assert_eq!(split_quick_actions(text), (text.to_owned(), Vec::new()), "{text:?}");
        }
    }

    #[test]
    fn values_can_be_removed_and_dates_are_checked() {
        let (rest, actions) =
            split_quick_actions("/unlabel\n/unassign\n/milestone none\n/due none\n/due soon\n/reopen\n/confidential");
        assert_eq!(rest, "");
        let expected = [
            QuickAction::Unlabel(Vec::new()),
            QuickAction::Unassign,
            QuickAction::Milestone(None),
            QuickAction::Due(None),
            QuickAction::InvalidDue,
            QuickAction::Reopen,
            QuickAction::Confidential,
        ];
        assert_eq!(actions, expected);
        assert_eq!(split_quick_actions(&"/close\n".repeat(100)).1.len(), MAX_ACTIONS);
    }
}
