//! The filter language of lists of issues and of merge requests.
//!
//! A filter is a line of words, such as `is:open label:bug -label:docs milestone:2.5 assignee:@me no:due sort:created
//! gauge`. Words without a key are searched for in titles; a key that is not known is reported. [`ListQuery`] is the
//! parsed form, and its `Display` is the canonical text, which is parsed to the same filter.

use std::fmt;

use chrono::NaiveDate;

use super::words::{self, quote, quote_if_needed};
use crate::parse_date;

/// Maximum number of labels, excluded labels or words of a filter; further ones are reported. Arbitrary.
const MAX_VALUES: usize = 10;

/// Maximum number of words that are reported. Arbitrary.
const MAX_PROBLEMS: usize = 10;

/// A filter and an order of issues or merge requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// `is:open`, `is:closed`, `is:all`, and for merge requests `is:merged`.
    pub state: StateFilter,
    /// Labels that must be present, all of them.
    pub labels: Vec<String>,
    /// Labels that must not be present.
    pub excluded_labels: Vec<String>,
    /// `no:label`: there must not be any label.
    pub has_no_label: bool,
    pub milestone: Option<MilestoneFilter>,
    pub assignee: Option<PersonFilter>,
    pub author: Option<PersonFilter>,
    /// The due date, which only issues have.
    pub due: Option<DueFilter>,
    pub order: ListOrder,
    /// Words that the title must contain, all of them.
    pub text: Vec<String>,
}

/// What a filter selects from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    Issues,
    MergeRequests,
}

/// The states that a filter selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateFilter {
    #[default]
    Open,
    /// Only merge requests can be merged.
    Merged,
    /// Closed issues, and merge requests that were closed without a merge.
    Closed,
    All,
}

impl StateFilter {
    /// Returns the states by which a list can be filtered.
    pub const fn of(kind: ListKind) -> &'static [Self] {
        match kind {
            ListKind::Issues => &[Self::Open, Self::Closed, Self::All],
            ListKind::MergeRequests => &[Self::Open, Self::Merged, Self::Closed, Self::All],
        }
    }

    /// Returns the value of `is:`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Merged => "merged",
            Self::Closed => "closed",
            Self::All => "all",
        }
    }

    pub fn from_str_opt(kind: ListKind, word: &str) -> Option<Self> {
        Self::of(kind).iter().copied().find(|state| state.as_str() == word)
    }
}

/// The milestone that a filter selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MilestoneFilter {
    /// `no:milestone`.
    Missing,
    Title(String),
}

/// The assignee or the author that a filter selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonFilter {
    /// `no:assignee`. There always is an author.
    Missing,
    /// `@me`, the viewer.
    Viewer,
    Username(String),
}

/// The due dates of the issues that a filter selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DueFilter {
    /// `no:due`.
    Missing,
    Before(NaiveDate),
    On(NaiveDate),
    After(NaiveDate),
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    #[default]
    LastUpdated,
    LeastRecentlyUpdated,
    Newest,
    Oldest,
}

impl ListOrder {
    /// Returns the value of `sort:`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LastUpdated => "updated",
            Self::LeastRecentlyUpdated => "updated-asc",
            Self::Newest => "created",
            Self::Oldest => "created-asc",
        }
    }

    pub fn from_str_opt(word: &str) -> Option<Self> {
        let all = [Self::LastUpdated, Self::LeastRecentlyUpdated, Self::Newest, Self::Oldest];
        all.into_iter().find(|order| order.as_str() == word)
    }
}

/// A parsed filter, with messages about the words that have no meaning: the first ten of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedQuery {
    pub query: ListQuery,
    pub problems: Vec<String>,
}

const KEYS: [&str; 9] = ["is:", "label:", "-label:", "milestone:", "assignee:", "author:", "no:", "due:", "sort:"];

/// Splits a word into a known key and a value that is not empty.
fn split_key(word: &str) -> Option<(&'static str, &str)> {
    let key = KEYS.into_iter().find(|key| word.starts_with(key))?;
    word.strip_prefix(key).filter(|value| !value.is_empty()).map(|value| (key, value))
}

/// Returns the key of a word that looks like a filter, if it is not known. Addresses such as `https://a.example` and
/// paths such as `std::io` are text.
fn unknown_key(word: &str) -> Option<&str> {
    let (key, value) = word.split_once(':')?;
    let name = key.strip_prefix('-').unwrap_or(key);
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_filter = is_name && !value.is_empty() && !value.starts_with([':', '/']);
    (is_filter && split_key(word).is_none()).then_some(key)
}

impl ListQuery {
    /// Parses a line. A word that is not understood is reported and left out; the others still apply.
    pub fn parse(kind: ListKind, line: &str) -> ParsedQuery {
        let mut parsed = ParsedQuery::default();
        for word in words::split(line) {
            let (known, unknown) = match word.is_quoted {
                true => (None, None),
                false => (split_key(&word.text), unknown_key(&word.text)),
            };
            if let Some(key) = unknown {
                if parsed.problems.len() < MAX_PROBLEMS {
                    let hint = format!("Write {} to search for it in titles.", quote(&word.text));
                    parsed.problems.push(format!("Unknown filter: {key}. {hint}"));
                }
                continue;
            }
            let result = match known {
                Some((key, value)) => parsed.query.set(kind, key, value),
                None if word.text.is_empty() => Ok(()),
                None => push_value(&mut parsed.query.text, &word.text),
            };
            if let Err(reason) = result
                && parsed.problems.len() < MAX_PROBLEMS
            {
                parsed.problems.push(format!("{} was ignored: {reason}.", quote_if_needed(&word.text)));
            }
        }
        parsed
    }

    fn set(&mut self, kind: ListKind, key: &str, value: &str) -> Result<(), &'static str> {
        match key {
            "is:" => {
                self.state = StateFilter::from_str_opt(kind, value).ok_or(match kind {
                    ListKind::Issues => "the states are open, closed and all",
                    ListKind::MergeRequests => "the states are open, merged, closed and all",
                })?;
            }
            "due:" if kind == ListKind::MergeRequests => return Err(NO_DUE_DATES),
            "no:" if kind == ListKind::MergeRequests && value == "due" => return Err(NO_DUE_DATES),
            "label:" => push_value(&mut self.labels, value)?,
            "-label:" => push_value(&mut self.excluded_labels, value)?,
            "milestone:" => self.milestone = Some(MilestoneFilter::Title(value.to_owned())),
            "assignee:" => self.assignee = Some(parse_person(value)?),
            "author:" => self.author = Some(parse_person(value)?),
            "no:" => match value {
                "label" => self.has_no_label = true,
                "milestone" => self.milestone = Some(MilestoneFilter::Missing),
                "assignee" => self.assignee = Some(PersonFilter::Missing),
                "due" => self.due = Some(DueFilter::Missing),
                _ => return Err("only label, milestone, assignee and due can be missing"),
            },
            "due:" => self.due = Some(parse_due(value).ok_or("a date looks like <2026-12-01")?),
            _ => {
                self.order = ListOrder::from_str_opt(value)
                    .ok_or("the orders are updated, updated-asc, created and created-asc")?;
            }
        }
        Ok(())
    }

    /// Returns the label that must be present, if there is exactly one.
    pub fn single_label(&self) -> Option<&str> {
        if let [title] = self.labels.as_slice() { Some(title.as_str()) } else { None }
    }

    /// Returns whether the filter leaves out anything for another reason than its state.
    pub fn is_filtered(&self) -> bool {
        let rest = Self { state: StateFilter::default(), order: ListOrder::default(), ..self.clone() };
        rest != Self::default()
    }
}

/// Why a filter of merge requests by due date is ignored.
const NO_DUE_DATES: &str = "merge requests have no due date";

fn push_value(values: &mut Vec<String>, value: &str) -> Result<(), &'static str> {
    if values.iter().any(|known| known == value) {
        return Ok(());
    }
    if values.len() == MAX_VALUES {
        return Err("the filter has too many of these words");
    }
    values.push(value.to_owned());
    Ok(())
}

fn parse_person(value: &str) -> Result<PersonFilter, &'static str> {
    match value.strip_prefix('@').unwrap_or(value) {
        "" => Err("a username is missing"),
        "me" if value.starts_with('@') => Ok(PersonFilter::Viewer),
        username if username.contains(char::is_whitespace) || username.starts_with('@') => {
            Err("a username has no spaces")
        }
        username => Ok(PersonFilter::Username(username.to_owned())),
    }
}

fn parse_due(value: &str) -> Option<DueFilter> {
    match value.split_at_checked(1) {
        Some(("<", rest)) => parse_date(rest).map(DueFilter::Before),
        Some((">", rest)) => parse_date(rest).map(DueFilter::After),
        _ => parse_date(value).map(DueFilter::On),
    }
}

impl fmt::Display for ListQuery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = vec![format!("is:{}", self.state.as_str())];
        parts.extend(self.labels.iter().map(|title| format!("label:{}", quote_if_needed(title))));
        parts.extend(self.excluded_labels.iter().map(|title| format!("-label:{}", quote_if_needed(title))));
        if self.has_no_label {
            parts.push("no:label".into());
        }
        parts.extend(self.milestone.as_ref().map(|milestone| match milestone {
            MilestoneFilter::Missing => "no:milestone".into(),
            MilestoneFilter::Title(title) => format!("milestone:{}", quote_if_needed(title)),
        }));
        let person = |key: &str, person: &PersonFilter| match person {
            PersonFilter::Missing => format!("no:{key}"),
            PersonFilter::Viewer => format!("{key}:@me"),
            PersonFilter::Username(username) => format!("{key}:{}", quote_if_needed(username)),
        };
        parts.extend(self.assignee.as_ref().map(|assignee| person("assignee", assignee)));
        parts.extend(self.author.as_ref().map(|author| person("author", author)));
        parts.extend(self.due.map(|due| match due {
            DueFilter::Missing => "no:due".into(),
            DueFilter::Before(date) => format!("due:<{date}"),
            DueFilter::On(date) => format!("due:{date}"),
            DueFilter::After(date) => format!("due:>{date}"),
        }));
        if self.order != ListOrder::default() {
            parts.push(format!("sort:{}", self.order.as_str()));
        }
        let text = self.text.iter().map(|word| match split_key(word).is_some() || unknown_key(word).is_some() {
            true => quote(word),
            false => quote_if_needed(word),
        });
        parts.extend(text);
        formatter.write_str(&parts.join(" "))
    }
}

#[cfg(test)]
mod tests;
