//! Derives the status of a pipeline from its builds, and decides which builds run when a stage is reached.

use super::file::When;
use super::status::{BuildEvent, Status};

/// The properties of a build that determine transitions. Of several builds with one name, only the newest is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildStep {
    pub stage: i32,
    pub status: Status,
    pub when: When,
    pub allow_failure: bool,
}

impl BuildStep {
    /// Returns whether the pipeline's status does not depend on this build.
    const fn is_ignored(&self) -> bool {
        match self.status {
            Status::Failed | Status::Canceled => self.allow_failure,
            Status::Skipped => matches!(self.when, When::Manual | When::OnFailure),
            _ => false,
        }
    }
}

/// Returns the status of a pipeline with these builds.
pub fn pipeline_status<'a>(steps: impl IntoIterator<Item = &'a BuildStep>) -> Status {
    let mut has_steps = false;
    let mut counts = [0usize; Status::ALL.len()];
    let mut total = 0;
    for step in steps {
        has_steps = true;
        if !step.is_ignored() {
            counts[step.status as usize] += 1;
            total += 1;
        }
    }
    let all_in = |among: &[Status]| among.iter().map(|status| counts[*status as usize]).sum::<usize>() == total;
    let any_in = |among: &[Status]| among.iter().any(|status| counts[*status as usize] > 0);
    use Status::{Canceled, Created, Failed, Pending, Running, Skipped, Success};
    if !has_steps {
        Skipped
    } else if all_in(&[Success]) {
        Success
    } else if all_in(&[Created]) {
        Created
    } else if all_in(&[Skipped]) {
        Skipped
    } else if all_in(&[Success, Skipped]) {
        Success
    } else if all_in(&[Success, Skipped, Canceled]) {
        Canceled
    } else if all_in(&[Created, Skipped, Pending]) {
        Pending
    } else if any_in(&[Running, Pending, Created]) {
        Running
    } else {
        Failed
    }
}

/// Determines which builds run and which are skipped because their stage was reached. Updates `steps`, and returns the
/// indexes of the changed steps with their events.
pub fn advance_stages(steps: &mut [BuildStep]) -> Vec<(usize, BuildEvent)> {
    let mut stages: Vec<i32> = steps.iter().filter(|it| it.status == Status::Created).map(|it| it.stage).collect();
    stages.sort_unstable();
    stages.dedup();
    let mut events = Vec::new();
    for stage in stages {
        let mut earlier_steps = steps.iter().filter(|it| it.stage < stage).peekable();
        let earlier_status =
            if earlier_steps.peek().is_none() { Status::Success } else { pipeline_status(earlier_steps) };
        if !earlier_status.is_complete() {
            // Later stages cannot have been reached either.
            break;
        }
        for (index, step) in steps.iter_mut().enumerate() {
            if step.stage != stage || step.status != Status::Created {
                continue;
            }
            let should_run = match step.when {
                When::OnSuccess => earlier_status == Status::Success,
                When::OnFailure => earlier_status == Status::Failed,
                When::Always => earlier_status != Status::Canceled,
                When::Manual => false,
            };
            let event = if should_run { BuildEvent::Enqueue } else { BuildEvent::Skip };
            step.status = if should_run { Status::Pending } else { Status::Skipped };
            events.push((index, event));
        }
    }
    events
}

/// Returns the seconds in which at least one build ran, or None without periods. Periods are in milliseconds.
pub fn covered_seconds(mut periods: Vec<(i64, i64)>) -> Option<i64> {
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

    fn any_step() -> impl Strategy<Value = BuildStep> {
        let whens = prop::sample::select(vec![When::OnSuccess, When::OnFailure, When::Always, When::Manual]);
        (0..4, prop::sample::select(Status::ALL.to_vec()), whens, any::<bool>())
            .prop_map(|(stage, status, when, allow_failure)| BuildStep { stage, status, when, allow_failure })
    }

    proptest! {
        /// Lets the claim of a build set the pipeline's status to running without reading the other builds.
        #[test]
        fn a_pipeline_with_a_running_build_runs(mut steps in prop::collection::vec(any_step(), 0..6), mut one in any_step()) {
            one.status = Status::Running;
            steps.push(one);
            prop_assert_eq!(pipeline_status(&steps), Status::Running);
        }

        #[test]
        fn advance_is_idempotent(mut steps in prop::collection::vec(any_step(), 0..8)) {
            let before = steps.clone();
            let events = advance_stages(&mut steps);
            for (place, event) in &events {
                prop_assert_eq!(before[*place].status.transition(*event), Some(steps[*place].status));
            }
            prop_assert_eq!(advance_stages(&mut steps), vec![]);
        }
    }

    #[test]
    fn overlapping_builds_count_once_in_the_duration() {
        assert_eq!(covered_seconds(vec![]), None);
        assert_eq!(covered_seconds(vec![(5_000, 9_000), (0, 2_000), (1_000, 3_500), (6_000, 7_000)]), Some(7));
        assert_eq!(covered_seconds(vec![(1, 1)]), Some(0));
    }
}
