//! How the builds of a pipeline follow each other, and what that makes of the pipeline.

use super::file::When;
use super::status::{Event, Status};

/// What of a build decides. Of several builds of one name only the newest is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub stage: i32,
    pub status: Status,
    pub when: When,
    pub allow_failure: bool,
}

impl Step {
    /// Whether its end says nothing about the pipeline.
    const fn is_ignored(&self) -> bool {
        match self.status {
            Status::Failed | Status::Canceled => self.allow_failure,
            Status::Skipped => matches!(self.when, When::Manual | When::OnFailure),
            _ => false,
        }
    }
}

/// What the builds together come to.
pub fn overall<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Status {
    let mut any = false;
    let mut counts = [0usize; Status::ALL.len()];
    let mut total = 0;
    for step in steps {
        any = true;
        if !step.is_ignored() {
            counts[step.status as usize] += 1;
            total += 1;
        }
    }
    let all = |among: &[Status]| among.iter().map(|status| counts[*status as usize]).sum::<usize>() == total;
    let some = |among: &[Status]| among.iter().any(|status| counts[*status as usize] > 0);
    use Status::{Canceled, Created, Failed, Pending, Running, Skipped, Success};
    if !any {
        Skipped
    } else if all(&[Success]) {
        Success
    } else if all(&[Created]) {
        Created
    } else if all(&[Skipped]) {
        Skipped
    } else if all(&[Success, Skipped]) {
        Success
    } else if all(&[Success, Skipped, Canceled]) {
        Canceled
    } else if all(&[Created, Skipped, Pending]) {
        Pending
    } else if some(&[Running, Pending, Created]) {
        Running
    } else {
        Failed
    }
}

/// What is to happen to builds whose stage is reached: their places, and whether they run or not. `steps` are left as they
/// are then.
pub fn advance(steps: &mut [Step]) -> Vec<(usize, Event)> {
    let mut stages: Vec<i32> = steps.iter().filter(|it| it.status == Status::Created).map(|it| it.stage).collect();
    stages.sort_unstable();
    stages.dedup();
    let mut events = Vec::new();
    for stage in stages {
        let mut before = steps.iter().filter(|it| it.stage < stage).peekable();
        let before = if before.peek().is_none() { Status::Success } else { overall(before) };
        if !before.is_complete() {
            // So it is for all stages behind this one.
            break;
        }
        for (place, step) in steps.iter_mut().enumerate() {
            if step.stage != stage || step.status != Status::Created {
                continue;
            }
            let runs = match step.when {
                When::OnSuccess => before == Status::Success,
                When::OnFailure => before == Status::Failed,
                When::Always => before != Status::Canceled,
                When::Manual => false,
            };
            let event = if runs { Event::Enqueue } else { Event::Skip };
            step.status = if runs { Status::Pending } else { Status::Skipped };
            events.push((place, event));
        }
    }
    events
}

/// Seconds in which at least one of these ran; none if none did.
pub fn busy_seconds(mut periods: Vec<(i64, i64)>) -> Option<i64> {
    periods.sort_unstable();
    let (mut milliseconds, mut until) = (0, i64::MIN);
    for &(from, to) in &periods {
        let from = from.max(until);
        milliseconds += (to - from).max(0);
        until = until.max(to);
    }
    if periods.is_empty() { None } else { Some(milliseconds / 1000) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_step() -> impl Strategy<Value = Step> {
        let whens = prop::sample::select(vec![When::OnSuccess, When::OnFailure, When::Always, When::Manual]);
        (0..4, prop::sample::select(Status::ALL.to_vec()), whens, any::<bool>())
            .prop_map(|(stage, status, when, allow_failure)| Step { stage, status, when, allow_failure })
    }

    proptest! {
        /// What lets a runner's taking of a build say what its pipeline is without looking at the others.
        #[test]
        fn a_pipeline_with_a_running_build_runs(mut steps in prop::collection::vec(any_step(), 0..6), mut one in any_step()) {
            one.status = Status::Running;
            steps.push(one);
            prop_assert_eq!(overall(&steps), Status::Running);
        }

        #[test]
        fn advancing_once_is_enough(mut steps in prop::collection::vec(any_step(), 0..8)) {
            let before = steps.clone();
            let events = advance(&mut steps);
            for (place, event) in &events {
                prop_assert_eq!(before[*place].status.after(*event), Some(steps[*place].status));
            }
            prop_assert_eq!(advance(&mut steps), vec![]);
        }
    }

    #[test]
    fn overlapping_times_count_once() {
        assert_eq!(busy_seconds(vec![]), None);
        assert_eq!(busy_seconds(vec![(5_000, 9_000), (0, 2_000), (1_000, 3_500), (6_000, 7_000)]), Some(7));
        assert_eq!(busy_seconds(vec![(1, 1)]), Some(0));
    }
}
