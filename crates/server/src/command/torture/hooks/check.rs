//! What a hook was told, held against what happened.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_store::repository::audit::Logged;

use super::receipt::{Event, Hook, Receipt, Ref};

/// What a receiver saw and did, in this order.
#[derive(Clone, Debug)]
pub enum Happening {
    Received(Receipt),
    /// It was about to answer 2xx.
    Accepted {
        sequence: u64,
        at: DateTime<Utc>,
    },
}

/// What a ref went through, in order.
pub type Story = BTreeMap<Ref, Vec<(Event, DateTime<Utc>)>>;

/// What a hook must be told, by the database's word.
pub fn concerns<'a>(hook: &Hook, log: &'a [Logged]) -> impl Iterator<Item = &'a Logged> {
    log.iter().filter(|row| {
        let is_wanted = row.name.starts_with("refs/heads/") || hook.tags && row.name.starts_with("refs/tags/");
        is_wanted && hook.project.is_none_or(|project| project == row.project.get())
    })
}

pub fn happened(hook: &Hook, log: &[Logged]) -> Story {
    let mut story = Story::new();
    for row in concerns(hook, log) {
        let id = |id: &Option<String>| id.clone().unwrap_or_else(|| "0".repeat(40));
        let of = Ref { project: row.project.get(), name: row.name.clone() };
        let event = Event { of: of.clone(), before: id(&row.old), after: id(&row.new) };
        story.entry(of).or_default().push((event, row.at));
    }
    story
}

/// What a hook's receiver has accepted, each delivery when it was accepted first.
pub fn told(history: &[Happening]) -> Story {
    let mut events = BTreeMap::new();
    let mut accepted = BTreeMap::new();
    for happening in history {
        match happening {
            Happening::Received(receipt) => _ = events.entry(receipt.sequence).or_insert(&receipt.event),
            Happening::Accepted { sequence, at } => _ = accepted.entry(*sequence).or_insert(*at),
        }
    }
    let mut story = Story::new();
    for (sequence, at) in accepted {
        if let Some(Some(event)) = events.get(&sequence) {
            story.entry(event.of.clone()).or_default().push((event.clone(), at));
        }
    }
    story
}

/// From what happened until it was told, where the stories are the same.
pub fn longest_delay(happened: &Story, told: &Story) -> TimeDelta {
    let pairs = happened.iter().flat_map(|(of, events)| events.iter().zip(told.get(of).into_iter().flatten()));
    pairs.map(|((_, then), (_, at))| *at - *then).max().unwrap_or_default()
}

/// How often something was accepted that had been before.
pub fn duplicates(history: &[Happening]) -> usize {
    let accepted = history.iter().filter_map(|happening| match happening {
        Happening::Accepted { sequence, .. } => Some(sequence),
        Happening::Received(_) => None,
    });
    accepted.clone().count() - accepted.collect::<BTreeSet<_>>().len()
}

/// All that is wrong with what one hook was told.
pub fn faults(history: &[Happening], happened: &Story) -> Vec<String> {
    let mut found = of_deliveries(history);
    found.extend(of_events(happened, &told(history)));
    found
}

/// Whether deliveries are numbered without gaps, sent one after the other, and the same each time.
fn of_deliveries(history: &[Happening]) -> Vec<String> {
    let mut found = Vec::new();
    let mut first_of: BTreeMap<u64, &Receipt> = BTreeMap::new();
    let mut number_of: HashMap<&str, u64> = HashMap::new();
    let mut accepted = BTreeSet::from([0]);
    let mut last = 0;
    for happening in history {
        match happening {
            Happening::Received(it) => {
                let number = it.sequence;
                found.extend(it.complaints.iter().map(|complaint| format!("delivery {number}: {complaint}")));
                let first = *first_of.entry(number).or_insert_with(|| {
                    if number == 0 || !accepted.contains(&(number - 1)) {
                        found.push(format!("delivery {number} was sent before the one before it was accepted"));
                    }
                    it
                });
                if (&first.id, first.digest) != (&it.id, it.digest) {
                    found
                        .push(format!("delivery {number} was not the same when it came again: {first:?}, then {it:?}"));
                }
                let other = *number_of.entry(&it.id).or_insert(number);
                if other != number {
                    found.push(format!("deliveries {other} and {number} have the same id {}", it.id));
                }
            }
            Happening::Accepted { sequence, .. } => {
                if accepted.insert(*sequence) {
                    if *sequence != last + 1 {
                        found.push(format!("delivery {sequence} was accepted first after {last}"));
                    }
                    last = *sequence;
                }
            }
        }
    }
    let most = first_of.keys().chain(&accepted).max().copied().unwrap_or_default();
    let missing = (1..=most).filter(|number| !accepted.contains(number));
    found.extend(missing.map(|number| format!("delivery {number} was never accepted, but there are {most}")));
    found
}

/// Whether all that happened to each ref was told, in that order, and nothing else.
fn of_events(happened: &Story, told: &Story) -> Vec<String> {
    let nothing = Vec::new();
    let mut found = Vec::new();
    for of in happened.keys().chain(told.keys()).collect::<BTreeSet<_>>() {
        let happened: Vec<&Event> = happened.get(of).unwrap_or(&nothing).iter().map(|(event, _)| event).collect();
        let told: Vec<&Event> = told.get(of).unwrap_or(&nothing).iter().map(|(event, _)| event).collect();
        let missing = without(&happened, &told);
        let surplus = without(&told, &happened);
        found.extend(missing.iter().map(|event| format!("it happened, but was never told: {event:?}")));
        found.extend(surplus.iter().map(|event| format!("it was told, but did not happen so often: {event:?}")));
        if missing.is_empty() && surplus.is_empty() && told != happened {
            let place = told.iter().zip(&happened).position(|(told, happened)| told != happened).unwrap_or_default();
            found.push(format!(
                "what happened to {of:?} was told in another order: event {place} is {:?}, but must be {:?}",
                told[place], happened[place],
            ));
        }
    }
    found
}

/// Those of the first for which there is none in the second, each as often as it is there too often.
fn without<'a>(some: &[&'a Event], others: &[&Event]) -> Vec<&'a Event> {
    let mut others: Vec<Option<&Event>> = others.iter().copied().map(Some).collect();
    let mut left = some.to_vec();
    left.retain(|event| match others.iter().position(|other| *other == Some(*event)) {
        Some(place) => {
            others[place] = None;
            false
        }
        None => true,
    });
    left
}

/// Ids that more than one hook was given.
pub fn shared_ids(histories: &[Vec<Happening>]) -> Vec<String> {
    let mut hook_of: HashMap<&str, usize> = HashMap::new();
    let mut found = BTreeSet::new();
    for (hook, history) in histories.iter().enumerate() {
        for happening in history {
            let Happening::Received(receipt) = happening else { continue };
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
        Event { of: Ref { project: 1, name: format!("refs/heads/{name}") }, before: before.into(), after: after.into() }
    }

    fn received(sequence: u64, event: &Event) -> Happening {
        let digest = [u8::try_from(sequence).unwrap(); 32];
        let (id, event) = (format!("id-{sequence}"), Some(event.clone()));
        Happening::Received(Receipt { sequence, id, digest, event, complaints: Vec::new() })
    }

    fn accepted(sequence: u64) -> Happening {
        let at = DateTime::UNIX_EPOCH + TimeDelta::seconds(i64::try_from(sequence).unwrap());
        Happening::Accepted { sequence, at }
    }

    fn events() -> [Event; 3] {
        [event("a", "0", "1"), event("b", "0", "2"), event("a", "1", "2")]
    }

    /// As it should be.
    fn good() -> Vec<Happening> {
        (1..).zip(events()).flat_map(|(number, event)| [received(number, &event), accepted(number)]).collect()
    }

    fn story(events: &[Event]) -> Story {
        let mut story = Story::new();
        for event in events {
            story.entry(event.of.clone()).or_default().push((event.clone(), DateTime::UNIX_EPOCH));
        }
        story
    }

    fn of(history: &[Happening]) -> Vec<String> {
        faults(history, &story(&events()))
    }

    #[track_caller]
    fn assert_found(history: &[Happening], texts: &[&str]) {
        let found = of(history);
        assert_eq!(found.len(), texts.len(), "{found:#?}");
        for text in texts {
            assert!(found.iter().any(|it| it.contains(text)), "{text}: {found:#?}");
        }
    }

    #[test]
    fn a_good_history_has_no_faults_and_neither_have_failures_and_duplicates() {
        assert_found(&good(), &[]);
        let [first, second, _] = events();
        let mut history = vec![received(1, &first), received(1, &first), accepted(1), received(1, &first), accepted(1)];
        history.push(received(2, &second));
        history.extend(good().into_iter().skip(2));
        history.extend([received(2, &second), accepted(2)]);
        assert_found(&history, &[]);
        assert_eq!(duplicates(&history), 2);
        assert_eq!(longest_delay(&story(&events()), &told(&history)), TimeDelta::seconds(3));
    }

    #[test]
    fn what_was_never_told_is_missed() {
        assert_found(&good()[..4], &["it happened, but was never told"]);
        let nothing: Vec<String> = of(&[]);
        assert_eq!(nothing.len(), 3);
    }

    #[test]
    fn what_was_sent_but_never_accepted_is_missed() {
        let mut history = good();
        history.truncate(5);
        assert_found(&history, &["delivery 3 was never accepted", "it happened, but was never told"]);
    }

    #[test]
    fn a_gap_is_noticed() {
        let [first, second, third] = events();
        let history =
            [received(1, &first), accepted(1), received(2, &second), accepted(2), received(4, &third), accepted(4)];
        assert_found(
            &history,
            &["delivery 4 was sent before", "delivery 4 was accepted first after 2", "delivery 3 was never accepted"],
        );
    }

    #[test]
    fn overtaking_is_noticed_even_where_acceptances_are_in_order() {
        let mut history = good();
        // The third arrives before the second is accepted.
        history.swap(3, 4);
        assert_found(&history, &["delivery 3 was sent before the one before it was accepted"]);
        history.swap(4, 5);
        assert_found(
            &history,
            &[
                "delivery 3 was sent before",
                "delivery 3 was accepted first after 1",
                "delivery 2 was accepted first after 3",
            ],
        );
    }

    #[test]
    fn another_body_or_id_for_the_same_number_is_noticed() {
        let [first, ..] = events();
        let change = |change: fn(&mut Receipt)| {
            let Happening::Received(mut receipt) = received(1, &first) else { unreachable!() };
            change(&mut receipt);
            let mut history = good();
            history.push(Happening::Received(receipt));
            history
        };
        assert_found(&change(|receipt| receipt.digest = [9; 32]), &["delivery 1 was not the same"]);
        assert_found(&change(|receipt| receipt.id = "other".into()), &["delivery 1 was not the same"]);
        assert_found(&change(|receipt| receipt.complaints.push("not signed".into())), &["delivery 1: not signed"]);
    }

    #[test]
    fn an_id_for_two_numbers_or_two_hooks_is_noticed() {
        let mut history = good();
        let Happening::Received(receipt) = &mut history[2] else { unreachable!() };
        receipt.id = "id-1".into();
        assert_found(&history, &["deliveries 1 and 2 have the same id"]);
        assert_eq!(shared_ids(&[good(), Vec::new()]).len(), 0);
        assert_eq!(shared_ids(&[good(), good()]).len(), 3);
    }

    #[test]
    fn the_order_of_one_ref_counts_and_that_between_refs_does_not() {
        let told = |places: [usize; 3]| {
            let numbered = (1..).zip(places.map(|place| events()[place].clone()));
            numbered.flat_map(|(number, event)| [received(number, &event), accepted(number)]).collect::<Vec<_>>()
        };
        assert_found(&told([1, 0, 2]), &[]);
        assert_found(&told([2, 1, 0]), &["was told in another order"]);
    }

    #[test]
    fn what_was_told_under_two_numbers_is_noticed() {
        let mut history = good();
        history.extend([received(4, &events()[2]), accepted(4)]);
        assert_found(&history, &["it was told, but did not happen so often"]);
    }

    #[test]
    fn a_hook_must_be_told_of_its_project_and_of_tags_if_it_wants_them() {
        let row = |project: i64, name: &str| Logged {
            project: project.into(),
            generation: 1,
            name: name.into(),
            old: None,
            new: Some("1".into()),
            at: DateTime::UNIX_EPOCH,
        };
        let log = [row(1, "refs/heads/a"), row(1, "refs/tags/a"), row(2, "refs/heads/a"), row(2, "refs/kept/a")];
        let told = |project, tags| concerns(&Hook { id: 1, project, token: String::new(), tags }, &log).count();
        assert_eq!([told(Some(1), false), told(Some(1), true), told(Some(2), true)], [1, 2, 1]);
        assert_eq!([told(None, false), told(None, true)], [2, 3]);
        let hook = Hook { id: 1, project: Some(2), token: String::new(), tags: false };
        let before = &happened(&hook, &log).into_values().next().unwrap()[0].0.before;
        assert_eq!(before, &"0".repeat(40));
    }
}
