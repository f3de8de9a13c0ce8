//! Compares the ref log with the responses to clients.

use std::collections::{HashMap, HashSet};

use holdfast_store::repository::audit::LogEntry;

use super::history::{AttemptedUpdate, Push, PushHistory, UpdateOutcome};

type UpdateKey<'a> = (i64, &'a str, Option<&'a str>);

/// Returns where the ref log contradicts the responses to clients, and counts the updates without a response. Deleted
/// projects are left out, because their ref logs are deleted, too.
pub fn check(history: &PushHistory, log: &[LogEntry], deleted: &HashSet<i64>) -> Vec<String> {
    let log: Vec<LogEntry> = log.iter().filter(|row| !deleted.contains(&row.project.get())).cloned().collect();
    let mut pushes = history.pushes();
    pushes.retain(|push| !deleted.contains(&push.project));
    let is_updated = |it: &&AttemptedUpdate| matches!(it.outcome, UpdateOutcome::Updated { .. });
    let updated = pushes.iter().flat_map(|push| &push.refs).filter(is_updated).count();
    history.count(|counts| counts.unacknowledged_updates = log.len().saturating_sub(updated) as u64);
    find_inconsistencies(&pushes, &log)
}

/// Returns the contradictions between pushes and the ref log. Each row of the log must match exactly one acknowledged
/// update, or one update with an unknown outcome.
fn find_inconsistencies(pushes: &[Push], log: &[LogEntry]) -> Vec<String> {
    let mut rows: HashMap<UpdateKey<'_>, Vec<&LogEntry>> = HashMap::new();
    for row in log {
        rows.entry((row.project.get(), &row.name, row.new.as_deref())).or_default().push(row);
    }
    let mut found = Vec::new();
    let mut possible: HashMap<UpdateKey<'_>, usize> = HashMap::new();
    for push in pushes {
        for attempted in &push.refs {
            let key = (push.project, attempted.name.as_str(), attempted.new.as_deref());
            match &attempted.outcome {
                UpdateOutcome::Updated { old } => match take_row(&mut rows, key, old.as_ref()) {
                    Some(_) => {}
                    None => found.push(format!(
                        "acknowledged by {} but not in the ref log: {attempted:?} of {push:?}",
                        push.node
                    )),
                },
                UpdateOutcome::Unknown | UpdateOutcome::Failed(_) => *possible.entry(key).or_default() += 1,
                UpdateOutcome::Unchanged | UpdateOutcome::Rejected(_) => {}
            }
        }
    }
    for (key, remaining) in rows {
        let surplus = remaining.len().saturating_sub(possible.get(&key).copied().unwrap_or_default());
        if surplus > 0 {
            found.push(format!("in the ref log, but not acknowledged to a client: {remaining:?}"));
        }
    }
    found.extend(pushes.iter().filter(|push| push.is_atomic).filter_map(|push| check_atomic(push, log)));
    found
}

/// Removes and returns a row that matches this update, so that it matches no other.
fn take_row<'a>(
    rows: &mut HashMap<UpdateKey<'a>, Vec<&'a LogEntry>>,
    key: UpdateKey<'a>,
    old: Option<&Option<String>>,
) -> Option<&'a LogEntry> {
    let rows = rows.get_mut(&key)?;
    let position = rows.iter().position(|row| old.is_none_or(|old| row.old == *old))?;
    Some(rows.remove(position))
}

/// Returns a violation if an atomic push was applied partly. Deletions are left out, because several deletions of one
/// ref cannot be distinguished in the log.
fn check_atomic(push: &Push, log: &[LogEntry]) -> Option<String> {
    let is_new = |it: &&AttemptedUpdate| it.new.is_some() && it.outcome != UpdateOutcome::Unchanged;
    let tried: Vec<&AttemptedUpdate> = push.refs.iter().filter(is_new).collect();
    let generations_of = |it: &&AttemptedUpdate| {
        let is_same = |row: &&LogEntry| row.project.get() == push.project && row.name == it.name && row.new == it.new;
        log.iter().filter(is_same).map(|row| row.generation).collect::<Vec<_>>()
    };
    let generations: Vec<Vec<i64>> = tried.iter().map(generations_of).collect();
    let first = generations.iter().find(|found| !found.is_empty())?;
    let is_whole = first.iter().any(|generation| generations.iter().all(|found| found.contains(generation)));
    (!is_whole).then(|| format!("an atomic push was applied partly, at generations {generations:?}: {push:?}"))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn row(generation: i64, name: &str, old: Option<&str>, new: Option<&str>) -> LogEntry {
        let text = |it: Option<&str>| it.map(str::to_owned);
        LogEntry {
            project: 1.into(),
            generation,
            name: name.into(),
            old: text(old),
            new: text(new),
            at: DateTime::UNIX_EPOCH,
        }
    }

    fn push(atomic: bool, refs: &[(&str, Option<&str>, UpdateOutcome)]) -> Push {
        let tried = |(name, new, fate): &(&str, Option<&str>, UpdateOutcome)| AttemptedUpdate {
            name: (*name).into(),
            new: new.map(Into::into),
            outcome: fate.clone(),
        };
        Push { project: 1, node: "node-0".into(), is_atomic: atomic, refs: refs.iter().map(tried).collect() }
    }

    const CREATED: UpdateOutcome = UpdateOutcome::Updated { old: Some(None) };

    #[test]
    fn acknowledged_updates_must_be_logged() {
        let pushes = [push(false, &[("a", Some("1"), CREATED)])];
        assert!(find_inconsistencies(&pushes, &[row(1, "a", None, Some("1"))]).is_empty());
        assert_eq!(find_inconsistencies(&pushes, &[]).len(), 1);
        assert_eq!(find_inconsistencies(&pushes, &[row(1, "a", Some("0"), Some("1"))]).len(), 2);
    }

    #[test]
    fn one_log_row_accounts_for_one_acknowledgement() {
        let deleted = || push(false, &[("a", None, UpdateOutcome::Updated { old: None })]);
        let log = [row(1, "a", Some("1"), None)];
        assert_eq!(find_inconsistencies(&[deleted(), deleted()], &log).len(), 1);
    }

    #[test]
    fn rejected_updates_must_not_be_logged_and_unknown_ones_may_be() {
        let log = [row(1, "a", None, Some("1"))];
        let with = |fate: UpdateOutcome| find_inconsistencies(&[push(false, &[("a", Some("1"), fate)])], &log).len();
        assert_eq!(with(UpdateOutcome::Rejected("fetch first".into())), 1);
        assert_eq!(with(UpdateOutcome::Unknown), 0);
    }

    #[test]
    fn an_atomic_push_is_logged_in_one_generation_or_not_at_all() {
        let unknown = push(true, &[("a", Some("1"), UpdateOutcome::Unknown), ("b", Some("2"), UpdateOutcome::Unknown)]);
        let of = |log: &[LogEntry]| find_inconsistencies(std::slice::from_ref(&unknown), log).len();
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[row(1, "a", None, Some("1")), row(1, "b", None, Some("2"))]), 0);
        assert_eq!(of(&[row(1, "a", None, Some("1"))]), 1);
        assert_eq!(of(&[row(1, "a", None, Some("1")), row(2, "b", None, Some("2"))]), 1);
    }
}
