//! What must become of a pipeline, the plain way: whatever happens, all of it is worked out anew by the rules.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::plan::{Job, STAGES, When};

pub type Time = DateTime<Utc>;

/// A runner that says nothing for longer is taken for dead.
const SILENT_AFTER: TimeDelta = TimeDelta::hours(1);
/// What a build may run over its timeout.
const GRACE: TimeDelta = TimeDelta::minutes(15);
/// A build that no runner wants for longer is given up.
const PENDING_AT_MOST: TimeDelta = TimeDelta::hours(24);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    Created,
    Pending,
    Running,
    Success,
    Failed,
    Canceled,
    Skipped,
}

use Status::*;

impl Status {
    pub const fn word(self) -> &'static str {
        match self {
            Created => "created",
            Pending => "pending",
            Running => "running",
            Success => "success",
            Failed => "failed",
            Canceled => "canceled",
            Skipped => "skipped",
        }
    }

    /// Something may still come of it by itself.
    pub const fn is_active(self) -> bool {
        matches!(self, Created | Pending | Running)
    }

    pub const fn is_complete(self) -> bool {
        matches!(self, Success | Failed | Canceled)
    }
}

#[derive(Clone, Debug)]
pub struct Build {
    pub id: i64,
    pub job: Job,
    pub status: Status,
    pub user: i64,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
    pub pending_since: Time,
    pub taken: Option<Taken>,
}

/// By a runner.
#[derive(Clone, Debug)]
pub struct Taken {
    pub runner: i64,
    pub token: String,
    pub timeout: TimeDelta,
    pub heard_at: Time,
    pub trace_length: usize,
}

#[derive(Debug)]
pub struct Pipeline {
    pub id: i64,
    /// By id; those that were retried stay.
    pub builds: Vec<Build>,
    pub status: Status,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
    pub duration: Option<i64>,
    /// If builds were given up one after another.
    pub may_have_started_at: Option<Time>,
}

/// Rule 2; what none at all come to depends on who asks.
fn status_of(builds: &[&Build], of_none: Status) -> Status {
    if builds.is_empty() {
        return of_none;
    }
    let counts = |build: &&&Build| match build.status {
        Failed | Canceled => !build.job.allow_failure,
        Skipped => !matches!(build.job.when, When::Manual | When::OnFailure),
        _ => true,
    };
    let left: Vec<Status> = builds.iter().filter(counts).map(|build| build.status).collect();
    let all = |some: &[Status]| left.iter().all(|status| some.contains(status));
    if all(&[Success]) {
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
    } else if left.iter().any(|status| status.is_active()) {
        Running
    } else {
        Failed
    }
}

/// What a build comes to whose turn it is after stages of that status.
fn turn(when: When, before: Status) -> Status {
    let runs = match when {
        When::OnSuccess => before == Success,
        When::OnFailure => before == Failed,
        When::Always => before == Success || before == Failed,
        When::Manual => false,
    };
    if runs { Pending } else { Skipped }
}

impl Pipeline {
    pub fn new(id: i64, jobs: &[Job], ids: &BTreeMap<String, i64>, user: i64, now: Time) -> Self {
        let (started_at, finished_at, duration, may_have_started_at) = Default::default();
        let (builds, status) = (Vec::new(), Created);
        let mut pipeline = Self { id, builds, status, started_at, finished_at, duration, may_have_started_at };
        for job in jobs {
            pipeline.add(job.clone(), Created, ids, user, now);
        }
        pipeline.settle(now);
        pipeline
    }

    /// The server numbers builds; one that it did not make shows by an impossible number.
    fn add(&mut self, job: Job, status: Status, ids: &BTreeMap<String, i64>, user: i64, now: Time) {
        let id = ids.get(&job.name).copied().unwrap_or(i64::MAX);
        let (started_at, finished_at, taken) = (None, None, None);
        self.builds.push(Build { id, job, status, user, started_at, finished_at, pending_since: now, taken });
        self.builds.sort_by_key(|build| build.id);
    }

    pub fn build(&self, id: i64) -> &Build {
        self.builds.iter().find(|build| build.id == id).unwrap()
    }

    fn build_mut(&mut self, id: i64) -> &mut Build {
        self.builds.iter_mut().find(|build| build.id == id).unwrap()
    }

    /// Rule 1.
    fn is_latest(&self, build: &Build) -> bool {
        !self.builds.iter().any(|other| other.job.name == build.job.name && other.id > build.id)
    }

    fn latest(&self) -> Vec<&Build> {
        self.builds.iter().filter(|build| self.is_latest(build)).collect()
    }

    pub fn is_over(&self) -> bool {
        !self.builds.iter().any(|build| build.status.is_active())
    }

    /// Rules 3 and 10, after every change.
    fn settle(&mut self, now: Time) {
        for stage in 0..STAGES {
            let earlier: Vec<&Build> = self.latest().into_iter().filter(|build| build.job.stage < stage).collect();
            let before = status_of(&earlier, Success);
            if !before.is_complete() {
                continue;
            }
            for build in &mut self.builds {
                if build.job.stage == stage && build.status == Created {
                    build.status = turn(build.job.when, before);
                    build.pending_since = now;
                }
            }
        }
        let status = status_of(&self.latest(), Skipped);
        if status == self.status {
            return;
        }
        self.status = status;
        if status == Running && self.started_at.is_none() {
            self.started_at = Some(now);
        }
        if status.is_complete() {
            self.finished_at = Some(now);
            let was_started = self.latest().iter().any(|build| build.started_at.is_some());
            self.duration = was_started.then(|| self.busy_seconds());
        }
    }

    /// Seconds in which at least one of the latest builds ran.
    fn busy_seconds(&self) -> i64 {
        let times = self.latest().into_iter().filter_map(|build| build.started_at.zip(build.finished_at));
        let mut times: Vec<(Time, Time)> = times.collect();
        times.sort();
        let mut sum = TimeDelta::zero();
        let mut counted_to = DateTime::<Utc>::MIN_UTC;
        for (from, to) in times {
            let from = from.max(counted_to);
            if to > from {
                sum += to - from;
                counted_to = to;
            }
        }
        sum.num_seconds()
    }

    /// Rule 4.
    pub fn take(&mut self, id: i64, taken: Taken, now: Time) {
        let build = self.build_mut(id);
        build.status = Running;
        build.started_at = Some(now);
        build.taken = Some(taken);
        self.settle(now);
    }

    /// Rule 5.
    pub fn finish(&mut self, id: i64, status: Status, now: Time) {
        let build = self.build_mut(id);
        build.status = status;
        build.finished_at = Some(now);
        self.settle(now);
    }

    /// Its runner said something: that it is at it, or so many bytes of its trace.
    pub fn hear(&mut self, id: i64, bytes: usize, now: Time) {
        let taken = self.build_mut(id).taken.as_mut().unwrap();
        taken.heard_at = now;
        taken.trace_length += bytes;
    }

    /// Rule 6, of some builds.
    pub fn cancel(&mut self, which: impl Fn(&Build) -> bool, now: Time) {
        for build in &mut self.builds {
            if which(build) && build.status.is_active() {
                build.status = Canceled;
                build.finished_at = Some(now);
            }
        }
        self.settle(now);
    }

    pub fn is_retryable(&self, id: i64) -> bool {
        let build = self.build(id);
        build.status.is_complete() && self.is_latest(build)
    }

    /// Rule 7.
    pub fn retry_build(&mut self, id: i64, ids: &BTreeMap<String, i64>, user: i64, now: Time) {
        let job = self.build(id).job.clone();
        let stage = job.stage;
        self.add(job, Pending, ids, user, now);
        self.reopen_after(stage, user);
        self.settle(now);
    }

    pub fn has_something_to_retry(&self) -> bool {
        self.latest().iter().any(|build| matches!(build.status, Failed | Canceled))
    }

    /// Rule 8.
    pub fn retry(&mut self, ids: &BTreeMap<String, i64>, user: i64, now: Time) {
        let again = self.latest().into_iter().filter(|build| matches!(build.status, Failed | Canceled));
        let again: Vec<Job> = again.map(|build| build.job.clone()).collect();
        let Some(first) = again.iter().map(|job| job.stage).min() else { return };
        for job in again {
            let status = if job.stage == first { Pending } else { Created };
            self.add(job, status, ids, user, now);
        }
        self.reopen_after(first, user);
        self.settle(now);
    }

    fn reopen_after(&mut self, stage: usize, user: i64) {
        for build in &mut self.builds {
            if build.job.stage > stage && build.status == Skipped {
                build.status = Created;
                build.user = user;
            }
        }
    }

    pub fn is_playable(&self, id: i64) -> bool {
        let build = self.build(id);
        build.job.when == When::Manual && matches!(build.status, Created | Skipped)
    }

    /// Rule 9.
    pub fn play(&mut self, id: i64, user: i64, now: Time) {
        let build = self.build_mut(id);
        build.status = Pending;
        build.user = user;
        build.pending_since = now;
        self.settle(now);
    }

    /// Rule 12; what is given up, and why.
    pub fn tend(&mut self, now: Time) -> Vec<&'static str> {
        let mut given_up = Vec::new();
        for build in &mut self.builds {
            if let Some((_, why)) = deadlines(build).into_iter().find(|(deadline, _)| now > *deadline) {
                build.status = Failed;
                build.finished_at = Some(now);
                given_up.push(why);
            }
        }
        // Between two that are given up it runs, as far as rule 2 goes, if the first may not fail; no order is promised.
        if given_up.len() > 1 && self.started_at.is_none() {
            self.may_have_started_at = Some(now);
        }
        self.settle(now);
        given_up
    }

    /// The very moment of a deadline is nobody's business: neither side of it is promised.
    pub fn is_at_a_deadline(&self, now: Time) -> bool {
        self.builds.iter().flat_map(deadlines).any(|(deadline, _)| deadline == now)
    }
}

fn deadlines(build: &Build) -> Vec<(Time, &'static str)> {
    match (build.status, &build.taken) {
        (Pending, _) => vec![(build.pending_since + PENDING_AT_MOST, "pending too long")],
        (Running, Some(taken)) => {
            let end = build.started_at.unwrap() + taken.timeout + GRACE;
            vec![(taken.heard_at + SILENT_AFTER, "silent"), (end, "running too long")]
        }
        _ => Vec::new(),
    }
}
