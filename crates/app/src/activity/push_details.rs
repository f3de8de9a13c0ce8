//! The details of a push, as its event stores them.

use holdfast_domain::activity::Action;
use serde_json::Value;

use super::feed::Event;

/// The update of a ref by a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushDetails {
    /// The full name of the ref.
    pub ref_name: String,
    pub is_creation: bool,
    pub is_deletion: bool,
    /// The number of commits that the push added.
    pub commit_count: i64,
    /// The newest of them, in the order from new to old.
    pub commits: Vec<PushedCommit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedCommit {
    /// The object id in hexadecimal digits.
    pub id: String,
    pub message: String,
}

impl PushDetails {
    /// Returns the details of an event. Returns None if it is no push.
    pub fn from_event(event: &Event) -> Option<Self> {
        let data = event.data.as_ref().filter(|_| event.action == Action::Pushed)?;
        Self::read(data)
    }

    fn read(data: &Value) -> Option<Self> {
        let is_null = |field: &str| data[field].as_str().is_none_or(|id| id.bytes().all(|digit| digit == b'0'));
        let commit = |commit: &Value| {
            let id = commit["id"].as_str().filter(|id| id.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
            Some(PushedCommit { id: id.to_owned(), message: commit["message"].as_str()?.to_owned() })
        };
        let commits = data["commits"].as_array().map_or(&[][..], Vec::as_slice);
        Some(Self {
            ref_name: data["ref"].as_str()?.to_owned(),
            is_creation: is_null("before"),
            is_deletion: is_null("after"),
            commit_count: data["total_commits_count"].as_i64().unwrap_or(0),
            commits: commits.iter().rev().filter_map(commit).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_commit_is_first() {
        let (zero, one) = ("0".repeat(40), "1".repeat(40));
        let data = json!({
            "ref": "refs/heads/main", "before": zero, "after": one, "total_commits_count": 3,
            "commits": [{"id": "ab", "message": "Old"}, {"id": "cd", "message": "New"}, {"id": "x/y", "message": ""}],
        });
        let push = PushDetails::read(&data).expect("a push");
        let titles: Vec<&str> = push.commits.iter().map(|commit| commit.message.as_str()).collect();
        assert_eq!((titles, push.is_creation, push.is_deletion), (vec!["New", "Old"], true, false));
        assert_eq!(PushDetails::read(&json!({})), None);
    }
}
