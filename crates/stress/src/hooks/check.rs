//! Compares the deliveries of a hook with the ref log.
//!
//! Deliveries must have sequence numbers without gaps and be sent one after the other. For each ref, the accepted
//! events must be the rows of the log, in their order. Deliveries are at-least-once, so duplicates are allowed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_store::repository::audit::LogEntry;

use super::received_delivery::{Event, Hook, HookEvents, ReceivedDelivery, Ref};

/// A received request, or its acceptance, in the order in which they happened.
#[derive(Clone, Debug)]
pub enum ReceiverEvent {
    Received(ReceivedDelivery),
    /// Recorded right before the receiver responded with 2xx.
    Accepted {
        sequence: u64,
        at: DateTime<Utc>,
    },
}

/// The events of each ref in order, with their times.
pub type RefHistory = BTreeMap<Ref, Vec<(Event, DateTime<Utc>)>>;

/// Returns the rows of the ref log that a hook must receive as events.
pub fn relevant_rows<'a>(hook: &Hook, log: &'a [LogEntry]) -> impl Iterator<Item = &'a LogEntry> {
    log.iter().filter(|row| {
        let is_wanted = match hook.events {
            HookEvents::Branches => row.name.starts_with("refs/heads/"),
            HookEvents::BranchesAndTags => row.name.starts_with("refs/heads/") || row.name.starts_with("refs/tags/"),
            HookEvents::MergeRequests => false,
        };
        is_wanted && hook.project.is_none_or(|project| project == row.project.get())
    })
}

pub fn expected_history(hook: &Hook, log: &[LogEntry]) -> RefHistory {
    let mut history = RefHistory::new();
    for row in relevant_rows(hook, log) {
        let id = |id: &Option<String>| id.clone().unwrap_or_else(|| "0".repeat(40));
        let target = Ref { project: row.project.get(), name: row.name.clone() };
        let event = Event { target: target.clone(), before: id(&row.old), after: id(&row.new) };
        history.entry(target).or_default().push((event, row.at));
    }
    history
}

/// Returns the events that the receiver accepted, each with the time when it was first accepted.
pub fn delivered_history(history: &[ReceiverEvent]) -> RefHistory {
    let mut events = BTreeMap::new();
    let mut accepted = BTreeMap::new();
    for event in history {
        match event {
            ReceiverEvent::Received(receipt) => _ = events.entry(receipt.sequence).or_insert(&receipt.event),
            ReceiverEvent::Accepted { sequence, at } => _ = accepted.entry(*sequence).or_insert(*at),
        }
    }
    let mut delivered = RefHistory::new();
    for (sequence, at) in accepted {
        if let Some(Some(event)) = events.get(&sequence) {
            delivered.entry(event.target.clone()).or_default().push((event.clone(), at));
        }
    }
    delivered
}

/// Returns the longest time from a ref update to its accepted delivery. Events are paired by their position.
pub fn max_delay(expected: &RefHistory, delivered: &RefHistory) -> TimeDelta {
    let pairs = expected.iter().flat_map(|(of, events)| events.iter().zip(delivered.get(of).into_iter().flatten()));
    pairs.map(|((_, then), (_, at))| *at - *then).max().unwrap_or_default()
}

/// Returns how many deliveries were accepted again.
pub fn count_duplicates(history: &[ReceiverEvent]) -> usize {
    let accepted = history.iter().filter_map(|event| match event {
        ReceiverEvent::Accepted { sequence, .. } => Some(sequence),
        ReceiverEvent::Received(_) => None,
    });
    accepted.clone().count() - accepted.collect::<BTreeSet<_>>().len()
}

/// Returns all violations in the deliveries of one hook.
pub fn find_violations(history: &[ReceiverEvent], expected: &RefHistory) -> Vec<String> {
    let mut found = check_deliveries(history);
    found.extend(check_events(expected, &delivered_history(history)));
    found
}

/// Checks that deliveries are numbered without gaps, sent one after the other, and equal in each attempt.
fn check_deliveries(history: &[ReceiverEvent]) -> Vec<String> {
    let mut found = Vec::new();
    let mut first_of: BTreeMap<u64, &ReceivedDelivery> = BTreeMap::new();
    let mut number_of: HashMap<&str, u64> = HashMap::new();
    let mut accepted = BTreeSet::from([0]);
    let mut last = 0;
    for event in history {
        match event {
            ReceiverEvent::Received(received) => {
                let number = received.sequence;
                found.extend(received.problems.iter().map(|complaint| format!("delivery {number}: {complaint}")));
                let first = *first_of.entry(number).or_insert_with(|| {
                    if number == 0 || !accepted.contains(&(number - 1)) {
                        found.push(format!("delivery {number} was sent before the previous one was accepted"));
                    }
                    received
                });
                if (&first.id, first.digest) != (&received.id, received.digest) {
                    found.push(format!("delivery {number} changed between attempts: {first:?}, then {received:?}"));
                }
                let other = *number_of.entry(&received.id).or_insert(number);
                if other != number {
                    found.push(format!("deliveries {other} and {number} have the same id {}", received.id));
                }
            }
            ReceiverEvent::Accepted { sequence, .. } => {
                if accepted.insert(*sequence) {
                    if *sequence != last + 1 {
                        found.push(format!("delivery {sequence} was first accepted after {last}"));
                    }
                    last = *sequence;
                }
            }
        }
    }
    let highest = first_of.keys().chain(&accepted).max().copied().unwrap_or_default();
    let missing = (1..=highest).filter(|number| !accepted.contains(number));
    found.extend(missing.map(|number| format!("delivery {number} was never accepted, but there are {highest}")));
    found
}

/// Checks that exactly the expected events of each ref were delivered, in their order.
fn check_events(expected: &RefHistory, delivered: &RefHistory) -> Vec<String> {
    let no_events = Vec::new();
    let mut found = Vec::new();
    for target in expected.keys().chain(delivered.keys()).collect::<BTreeSet<_>>() {
        let expected: Vec<&Event> = expected.get(target).unwrap_or(&no_events).iter().map(|(event, _)| event).collect();
        let delivered: Vec<&Event> =
            delivered.get(target).unwrap_or(&no_events).iter().map(|(event, _)| event).collect();
        let missing = difference(&expected, &delivered);
        let surplus = difference(&delivered, &expected);
        found.extend(missing.iter().map(|event| format!("event was never delivered: {event:?}")));
        found.extend(
            surplus.iter().map(|event| format!("event was delivered, but did not happen that often: {event:?}")),
        );
        if missing.is_empty() && surplus.is_empty() && delivered != expected {
            let index = delivered
                .iter()
                .zip(&expected)
                .position(|(delivered, expected)| delivered != expected)
                .unwrap_or_default();
            found.push(format!(
                "events of {target:?} were delivered in another order: event {index} is {:?}, but must be {:?}",
                delivered[index], expected[index],
            ));
        }
    }
    found
}

/// Returns the multiset difference of two lists of events.
fn difference<'a>(events: &[&'a Event], others: &[&Event]) -> Vec<&'a Event> {
    let mut others: Vec<Option<&Event>> = others.iter().copied().map(Some).collect();
    let mut remaining = events.to_vec();
    remaining.retain(|event| match others.iter().position(|other| *other == Some(*event)) {
        Some(index) => {
            others[index] = None;
            false
        }
        None => true,
    });
    remaining
}

/// Finds delivery ids that were sent to more than one hook.
pub fn find_shared_ids(histories: &[Vec<ReceiverEvent>]) -> Vec<String> {
    let mut hook_of: HashMap<&str, usize> = HashMap::new();
    let mut found = BTreeSet::new();
    for (hook, history) in histories.iter().enumerate() {
        for event in history {
            let ReceiverEvent::Received(receipt) = event else { continue };
            let other = *hook_of.entry(&receipt.id).or_insert(hook);
            if other != hook {
                found.insert(format!("hooks {other} and {hook} were given the same id {}", receipt.id));
            }
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, before: &str, after: &str) -> Event {
        Event {
            target: Ref { project: 1, name: format!("refs/heads/{name}") },
            before: before.into(),
            after: after.into(),
        }
    }

    fn received(sequence: u64, event: &Event) -> ReceiverEvent {
        let digest = [u8::try_from(sequence).unwrap(); 32];
        let (id, event) = (format!("id-{sequence}"), Some(event.clone()));
        ReceiverEvent::Received(ReceivedDelivery {
            sequence,
            id,
            digest,
            event,
            merged_request: None,
            problems: Vec::new(),
        })
    }

    fn accepted(sequence: u64) -> ReceiverEvent {
        let at = DateTime::UNIX_EPOCH + TimeDelta::seconds(i64::try_from(sequence).unwrap());
        ReceiverEvent::Accepted { sequence, at }
    }

    fn events() -> [Event; 3] {
        [event("a", "0", "1"), event("b", "0", "2"), event("a", "1", "2")]
    }

    /// Returns a history without violations.
    fn good_history() -> Vec<ReceiverEvent> {
        (1..).zip(events()).flat_map(|(number, event)| [received(number, &event), accepted(number)]).collect()
    }

    fn ref_history(events: &[Event]) -> RefHistory {
        let mut story = RefHistory::new();
        for event in events {
            story.entry(event.target.clone()).or_default().push((event.clone(), DateTime::UNIX_EPOCH));
        }
        story
    }

    fn violations(history: &[ReceiverEvent]) -> Vec<String> {
        find_violations(history, &ref_history(&events()))
    }

    #[track_caller]
    fn assert_found(history: &[ReceiverEvent], texts: &[&str]) {
        let found = violations(history);
        assert_eq!(found.len(), texts.len(), "{found:#?}");
        for text in texts {
            assert!(found.iter().any(|it| it.contains(text)), "{text}: {found:#?}");
        }
    }

    #[test]
    fn failed_attempts_and_duplicates_are_valid_history() {
        assert_found(&good_history(), &[]);
        let [first, second, _] = events();
        let mut history = vec![received(1, &first), received(1, &first), accepted(1), received(1, &first), accepted(1)];
        history.push(received(2, &second));
        history.extend(good_history().into_iter().skip(2));
        history.extend([received(2, &second), accepted(2)]);
        assert_found(&history, &[]);
        assert_eq!(count_duplicates(&history), 2);
        assert_eq!(max_delay(&ref_history(&events()), &delivered_history(&history)), TimeDelta::seconds(3));
    }

    #[test]
    fn undelivered_events_are_detected() {
        assert_found(&good_history()[..4], &["event was never delivered"]);
        let nothing: Vec<String> = violations(&[]);
        assert_eq!(nothing.len(), 3);
    }

    #[test]
    fn unaccepted_deliveries_are_detected() {
        let mut history = good_history();
        history.truncate(5);
        assert_found(&history, &["delivery 3 was never accepted", "event was never delivered"]);
    }

    #[test]
    fn sequence_gaps_are_detected() {
        let [first, second, third] = events();
        let history =
            [received(1, &first), accepted(1), received(2, &second), accepted(2), received(4, &third), accepted(4)];
        assert_found(
            &history,
            &["delivery 4 was sent before", "delivery 4 was first accepted after 2", "delivery 3 was never accepted"],
        );
    }

    #[test]
    fn overlapping_deliveries_are_detected_despite_ordered_acceptance() {
        let mut history = good_history();
        // The third delivery arrives before the second one is accepted.
        history.swap(3, 4);
        assert_found(&history, &["delivery 3 was sent before the previous one was accepted"]);
        history.swap(4, 5);
        assert_found(
            &history,
            &[
                "delivery 3 was sent before",
                "delivery 3 was first accepted after 1",
                "delivery 2 was first accepted after 3",
            ],
        );
    }

    #[test]
    fn changed_bodies_or_ids_of_a_delivery_are_detected() {
        let [first, ..] = events();
        let change = |change: fn(&mut ReceivedDelivery)| {
            let ReceiverEvent::Received(mut receipt) = received(1, &first) else { unreachable!() };
            change(&mut receipt);
            let mut history = good_history();
            history.push(ReceiverEvent::Received(receipt));
            history
        };
        assert_found(&change(|receipt| receipt.digest = [9; 32]), &["delivery 1 changed between attempts"]);
        assert_found(&change(|receipt| receipt.id = "other".into()), &["delivery 1 changed between attempts"]);
        assert_found(&change(|receipt| receipt.problems.push("not signed".into())), &["delivery 1: not signed"]);
    }

    #[test]
    fn reused_delivery_ids_are_detected() {
        let mut history = good_history();
        let ReceiverEvent::Received(receipt) = &mut history[2] else { unreachable!() };
        receipt.id = "id-1".into();
        assert_found(&history, &["deliveries 1 and 2 have the same id"]);
        assert_eq!(find_shared_ids(&[good_history(), Vec::new()]).len(), 0);
        assert_eq!(find_shared_ids(&[good_history(), good_history()]).len(), 3);
    }

    #[test]
    fn order_is_checked_within_each_ref_only() {
        let deliver = |places: [usize; 3]| {
            let numbered = (1..).zip(places.map(|place| events()[place].clone()));
            numbered.flat_map(|(number, event)| [received(number, &event), accepted(number)]).collect::<Vec<_>>()
        };
        assert_found(&deliver([1, 0, 2]), &[]);
        assert_found(&deliver([2, 1, 0]), &["were delivered in another order"]);
    }

    #[test]
    fn events_delivered_under_two_numbers_are_detected() {
        let mut history = good_history();
        history.extend([received(4, &events()[2]), accepted(4)]);
        assert_found(&history, &["event was delivered, but did not happen that often"]);
    }

    #[test]
    fn hooks_expect_events_of_their_project_and_tags_if_enabled() {
        let row = |project: i64, name: &str| LogEntry {
            project: project.into(),
            generation: 1,
            name: name.into(),
            old: None,
            new: Some("1".into()),
            at: DateTime::UNIX_EPOCH,
        };
        let log = [row(1, "refs/heads/a"), row(1, "refs/tags/a"), row(2, "refs/heads/a"), row(2, "refs/kept/a")];
        use HookEvents::{Branches, BranchesAndTags, MergeRequests};
        let deliver =
            |project, events| relevant_rows(&Hook { id: 1, project, token: String::new(), events }, &log).count();
        let of_projects = [(1, Branches), (1, BranchesAndTags), (2, BranchesAndTags), (1, MergeRequests)];
        assert_eq!(of_projects.map(|(project, events)| deliver(Some(project), events)), [1, 2, 1, 0]);
        assert_eq!([deliver(None, Branches), deliver(None, BranchesAndTags)], [2, 3]);
        let hook = Hook { id: 1, project: Some(2), token: String::new(), events: HookEvents::Branches };
        let before = &expected_history(&hook, &log).into_values().next().unwrap()[0].0.before;
        assert_eq!(before, &"0".repeat(40));
    }
}
