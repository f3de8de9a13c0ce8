//! Where the log of refs says otherwise than clients were told.

use std::collections::HashMap;

use holdfast_store::repository::audit::Logged;

use super::ledger::{Fate, Push, Tried};

type Move<'a> = (i64, &'a str, Option<&'a str>);

/// Each row of the log stands for one acknowledgement, or for a push of which nobody knows.
pub fn contradictions(pushes: &[Push], log: &[Logged]) -> Vec<String> {
    let mut rows: HashMap<Move<'_>, Vec<&Logged>> = HashMap::new();
    for row in log {
        rows.entry((row.project.get(), &row.name, row.new.as_deref())).or_default().push(row);
    }
    let mut found = Vec::new();
    let mut possible: HashMap<Move<'_>, usize> = HashMap::new();
    for push in pushes {
        for it in &push.refs {
            let key = (push.project, it.name.as_str(), it.new.as_deref());
            match &it.fate {
                Fate::Moved { old } => match take(&mut rows, key, old.as_ref()) {
                    Some(_) => {}
                    None => found.push(format!("acknowledged by {} but not in the log: {it:?} of {push:?}", push.node)),
                },
                Fate::Unknown | Fate::Failed(_) => *possible.entry(key).or_default() += 1,
                Fate::Same | Fate::Refused(_) => {}
            }
        }
    }
    for (key, left) in rows {
        let surplus = left.len().saturating_sub(possible.get(&key).copied().unwrap_or_default());
        if surplus > 0 {
            found.push(format!("in the log, but nobody was told so: {left:?}"));
        }
    }
    found.extend(pushes.iter().filter(|push| push.atomic).filter_map(|push| torn(push, log)));
    found
}

/// Takes a row that is this move, so that it stands for no other.
fn take<'a>(
    rows: &mut HashMap<Move<'a>, Vec<&'a Logged>>,
    key: Move<'a>,
    old: Option<&Option<String>>,
) -> Option<&'a Logged> {
    let rows = rows.get_mut(&key)?;
    let place = rows.iter().position(|row| old.is_none_or(|old| row.old == *old))?;
    Some(rows.remove(place))
}

/// Whether an atomic push was made in part. Deletions are left out: which one of a name it was cannot be told.
fn torn(push: &Push, log: &[Logged]) -> Option<String> {
    let is_new = |it: &&Tried| it.new.is_some() && it.fate != Fate::Same;
    let tried: Vec<&Tried> = push.refs.iter().filter(is_new).collect();
    let generations_of = |it: &&Tried| {
        let is_it = |row: &&Logged| row.project.get() == push.project && row.name == it.name && row.new == it.new;
        log.iter().filter(is_it).map(|row| row.generation).collect::<Vec<_>>()
    };
    let generations: Vec<Vec<i64>> = tried.iter().map(generations_of).collect();
    let first = generations.iter().find(|found| !found.is_empty())?;
    let is_whole = first.iter().any(|generation| generations.iter().all(|found| found.contains(generation)));
    (!is_whole).then(|| format!("an atomic push was made in part, at generations {generations:?}: {push:?}"))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn row(generation: i64, name: &str, old: Option<&str>, new: Option<&str>) -> Logged {
        let text = |it: Option<&str>| it.map(str::to_owned);
        Logged {
            project: 1.into(),
            generation,
            name: name.into(),
            old: text(old),
            new: text(new),
            at: DateTime::UNIX_EPOCH,
        }
    }

    fn push(atomic: bool, refs: &[(&str, Option<&str>, Fate)]) -> Push {
        let tried = |(name, new, fate): &(&str, Option<&str>, Fate)| Tried {
            name: (*name).into(),
            new: new.map(Into::into),
            fate: fate.clone(),
        };
        Push { project: 1, node: "node-0".into(), atomic, refs: refs.iter().map(tried).collect() }
    }

    const CREATED: Fate = Fate::Moved { old: Some(None) };

    #[test]
    fn what_was_acknowledged_must_be_logged() {
        let pushes = [push(false, &[("a", Some("1"), CREATED)])];
        assert!(contradictions(&pushes, &[row(1, "a", None, Some("1"))]).is_empty());
        assert_eq!(contradictions(&pushes, &[]).len(), 1);
        assert_eq!(contradictions(&pushes, &[row(1, "a", Some("0"), Some("1"))]).len(), 2);
    }

    #[test]
    fn one_row_does_not_stand_for_two_acknowledgements() {
        let deleted = || push(false, &[("a", None, Fate::Moved { old: None })]);
        let log = [row(1, "a", Some("1"), None)];
        assert_eq!(contradictions(&[deleted(), deleted()], &log).len(), 1);
    }

    #[test]
    fn what_was_refused_must_not_be_logged_and_what_is_unknown_may_be() {
        let log = [row(1, "a", None, Some("1"))];
        let with = |fate: Fate| contradictions(&[push(false, &[("a", Some("1"), fate)])], &log).len();
        assert_eq!(with(Fate::Refused("fetch first".into())), 1);
        assert_eq!(with(Fate::Unknown), 0);
    }

    #[test]
    fn an_atomic_push_is_made_at_once_or_not_at_all() {
        let unknown = push(true, &[("a", Some("1"), Fate::Unknown), ("b", Some("2"), Fate::Unknown)]);
        let of = |log: &[Logged]| contradictions(std::slice::from_ref(&unknown), log).len();
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[row(1, "a", None, Some("1")), row(1, "b", None, Some("2"))]), 0);
        assert_eq!(of(&[row(1, "a", None, Some("1"))]), 1);
        assert_eq!(of(&[row(1, "a", None, Some("1")), row(2, "b", None, Some("2"))]), 1);
    }
}
