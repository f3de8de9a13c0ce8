//! The records of an export, as far as they are imported. Other fields are ignored.

use std::fmt;
use std::marker::PhantomData;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Utc};
use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A time, or None if it is missing, malformed or not between the years 1 and 9999.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time(pub Option<DateTime<Utc>>);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: Option<String> = Option::deserialize(deserializer)?;
        Ok(Self(text.and_then(|text| parse_time(&text))))
    }
}

/// Parses the two forms in which GitLab writes a time.
fn parse_time(text: &str) -> Option<DateTime<Utc>> {
    let parsed = DateTime::parse_from_rfc3339(text)
        .map(|time| time.to_utc())
        .or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S UTC").map(|time| time.and_utc()));
    parsed.ok().filter(|time| (1..=9999).contains(&time.year()))
}

/// A date, or None if it is missing or not valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date(pub Option<NaiveDate>);

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: Option<String> = Option::deserialize(deserializer)?;
        let date = text.and_then(|text| text.get(..10)?.parse::<NaiveDate>().ok());
        Ok(Self(date.filter(|date| (1..=9999).contains(&date.year()))))
    }
}

/// A list with at most `MAX` items: an item is larger in memory than its text may be.
#[derive(Debug)]
pub struct Bounded<T, const MAX: usize>(pub Vec<T>);

impl<T, const MAX: usize> Default for Bounded<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Bounded<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T, const MAX: usize>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Items<T, MAX> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of at most {MAX} items")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<T>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = sequence.next_element()? {
                    if items.len() == MAX {
                        return Err(A::Error::custom(format_args!("a list has more than {MAX} items")));
                    }
                    items.push(item);
                }
                Ok(items)
            }

            fn visit_unit<E>(self) -> Result<Vec<T>, E> {
                Ok(Vec::new())
            }
        }

        deserializer.deserialize_any(Items::<T, MAX>(PhantomData)).map(Self)
    }
}

/// A list of the parts of a record that are few.
type Parts<T> = Bounded<T, 1_000>;

/// The attributes of the project.
#[derive(Debug, Deserialize)]
pub struct Attributes {
    pub description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Label {
    pub title: String,
    pub color: Option<String>,
    pub description: Option<String>,
    #[serde(default)]
    pub created_at: Time,
    #[serde(default)]
    pub priorities: Parts<LabelPriority>,
}

#[derive(Debug, Deserialize)]
pub struct LabelPriority {
    pub priority: i32,
}

#[derive(Debug, Deserialize)]
pub struct Milestone {
    pub title: String,
    pub iid: i64,
    pub description: Option<String>,
    pub state: Option<String>,
    #[serde(default)]
    pub start_date: Date,
    #[serde(default)]
    pub due_date: Date,
    #[serde(default)]
    pub created_at: Time,
    #[serde(default)]
    pub updated_at: Time,
}

#[derive(Debug, Deserialize)]
pub struct LabelLink {
    pub label: Option<Label>,
}

#[derive(Debug, Deserialize)]
pub struct UserLink {
    pub user_id: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub struct Timelog {
    pub time_spent: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub struct NoteAuthor {
    pub name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Note {
    #[serde(default)]
    pub id: i64,
    pub note: Option<String>,
    pub author_id: Option<i64>,
    pub author: Option<NoteAuthor>,
    #[serde(default)]
    pub system: bool,
    /// Whether guests may not read the note.
    pub internal: Option<bool>,
    /// An older name of `internal`.
    pub confidential: Option<bool>,
    /// `DiffNote` if the note is on a line.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub created_at: Time,
    #[serde(default)]
    pub updated_at: Time,
    #[serde(default)]
    pub award_emoji: Parts<IgnoredAny>,
}

/// An issue or a merge request. One type serves both, because the parts of a flattened type would be kept in memory with
/// all fields that are ignored, such as the changes of a merge request.
#[derive(Debug, Deserialize)]
pub struct Issuable {
    pub iid: i64,
    pub title: String,
    pub description: Option<String>,
    pub author_id: Option<i64>,
    pub state: Option<String>,
    #[serde(default)]
    pub created_at: Time,
    #[serde(default)]
    pub updated_at: Time,
    pub time_estimate: Option<i64>,
    #[serde(default)]
    pub timelogs: Parts<Timelog>,
    pub milestone: Option<Milestone>,
    #[serde(default)]
    pub label_links: Parts<LabelLink>,
    #[serde(default)]
    pub notes: Bounded<Note, 10_000>,
    #[serde(default)]
    pub award_emoji: Parts<IgnoredAny>,

    // Only issues have these fields.
    pub confidential: Option<bool>,
    #[serde(default)]
    pub due_date: Date,
    #[serde(default)]
    pub issue_assignees: Parts<UserLink>,

    // Only merge requests have these fields.
    #[serde(default)]
    pub source_branch: String,
    #[serde(default)]
    pub target_branch: String,
    pub source_project_id: Option<i64>,
    pub target_project_id: Option<i64>,
    pub assignee_id: Option<i64>,
    #[serde(default)]
    pub merge_request_assignees: Parts<UserLink>,
    #[serde(default)]
    pub merge_request_reviewers: Parts<IgnoredAny>,
    pub merge_commit_sha: Option<String>,
    pub merge_request_diff: Option<MergeRequestDiff>,
    pub metrics: Option<MergeRequestMetrics>,
}

#[derive(Debug, Deserialize)]
pub struct MergeRequestDiff {
    pub head_commit_sha: Option<String>,
    pub start_commit_sha: Option<String>,
    #[serde(default)]
    pub created_at: Time,
}

#[derive(Debug, Deserialize)]
pub struct MergeRequestMetrics {
    #[serde(default)]
    pub merged_at: Time,
}

#[derive(Debug, Deserialize)]
pub struct Release {
    pub tag: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub author_id: Option<i64>,
    #[serde(default)]
    pub created_at: Time,
    #[serde(default)]
    pub released_at: Time,
    #[serde(default)]
    pub links: Parts<ReleaseLink>,
}

#[derive(Debug, Deserialize)]
pub struct ReleaseLink {
    pub name: Option<String>,
    pub url: Option<String>,
    pub link_type: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Member {
    pub user_id: Option<i64>,
    pub access_level: Option<i64>,
    #[serde(default)]
    pub expires_at: Date,
    pub user: Option<MemberUser>,
}

#[derive(Debug, Deserialize)]
pub struct MemberUser {
    pub username: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_refused() {
        let parse =
            |count| serde_json::from_str::<Bounded<u8, 3>>(&format!("{:?}", vec![0; count])).map(|list| list.0.len());
        assert_eq!(parse(3).unwrap(), 3);
        assert!(parse(4).unwrap_err().to_string().contains("more than 3 items"));
        assert!(serde_json::from_str::<Bounded<u8, 3>>("null").unwrap().0.is_empty());
    }

    #[test]
    fn both_forms_of_times_are_read_and_others_are_missing() {
        let time = |text: &str| serde_json::from_value::<Time>(text.into()).unwrap().0.map(|time| time.to_rfc3339());
        assert_eq!(time("2025-05-01T10:00:00.123Z").as_deref(), Some("2025-05-01T10:00:00.123+00:00"));
        assert_eq!(time("2025-05-01T10:00:00+02:00").as_deref(), Some("2025-05-01T08:00:00+00:00"));
        assert_eq!(time("2025-05-01 10:00:00 UTC").as_deref(), Some("2025-05-01T10:00:00+00:00"));
        for text in ["", "yesterday", "10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z"] {
            assert_eq!(time(text), None, "{text:?}");
        }
        let date = |text: &str| serde_json::from_value::<Date>(text.into()).unwrap().0.map(|date| date.to_string());
        assert_eq!(date("2026-03-01").as_deref(), Some("2026-03-01"));
        assert_eq!(date("2026-03-01T00:00:00Z").as_deref(), Some("2026-03-01"));
        for text in ["", "soon", "2026-13-01", "äääääääääää"] {
            assert_eq!(date(text), None, "{text:?}");
        }
    }
}
