//! Presents the short names of issues and merge requests in texts.

use serde::Serialize;
use utoipa::ToSchema;

/// The short names of an issue or a merge request, such as `#7`, or `!7` for a merge request.
#[derive(Serialize, ToSchema)]
pub struct References {
    pub short: String,
    pub relative: String,
    /// With the path of the project, such as `group/project#7`.
    pub full: String,
}

/// `sigil` is `#` for issues and `!` for merge requests.
pub fn references(sigil: char, iid: i64, project_path: &str) -> References {
    let short = format!("{sigil}{iid}");
    References { full: format!("{project_path}{short}"), relative: short.clone(), short }
}

/// The progress of the task list in a description.
#[derive(Serialize, ToSchema)]
pub struct TaskCompletionStatus {
    pub count: usize,
    pub completed_count: usize,
}

/// Counts the items of task lists in a description: lines that begin with `- [ ]` or `- [x]`.
pub fn task_completion(description: Option<&str>) -> TaskCompletionStatus {
    let mut status = TaskCompletionStatus { count: 0, completed_count: 0 };
    for line in description.unwrap_or_default().lines() {
        let item = line.trim_start().strip_prefix(['-', '*', '+']).map(str::trim_start);
        let Some(mark) = item.and_then(|item| item.get(..3)) else { continue };
        let is_completed = mark.eq_ignore_ascii_case("[x]");
        if is_completed || mark == "[ ]" {
            status.count += 1;
            status.completed_count += usize::from(is_completed);
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_items_are_counted() {
        let status = task_completion(Some("- [x] one\n* [ ] two\n  - [X] three\n- [y] no\n[x] no\n-"));
        assert_eq!((status.count, status.completed_count), (3, 2));
    }
}
