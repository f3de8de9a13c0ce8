//! A simple model of pipelines: after every operation, all statuses are recomputed by the rules.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::plan::{Job, STAGES, When};

pub type Time = DateTime<Utc>;

/// A running build fails if its runner is silent for longer than this.
const STALE_AFTER: TimeDelta = TimeDelta::hours(1);
/// The time that a build may run beyond its timeout.
const TIMEOUT_GRACE: TimeDelta = TimeDelta::minutes(15);
/// A build fails if no runner claims it for longer than this.
const MAX_PENDING: TimeDelta = TimeDelta::hours(24);

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
    pub const fn as_str(self) -> &'static str {
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

    /// Returns whether the status can still change without a user.
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
    pub claim: Option<Claim>,
}

/// The claim of a build by a runner.
#[derive(Clone, Debug)]
pub struct Claim {
    pub runner: i64,
    pub token: String,
    pub timeout: TimeDelta,
    pub contacted_at: Time,
    pub trace_length: usize,
}

#[derive(Debug)]
pub struct Pipeline {
    pub id: i64,
    /// All builds by id, including those that were retried.
    pub builds: Vec<Build>,
    pub status: Status,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
    pub duration: Option<i64>,
    /// Set if several builds failed as stale one after the other.
    pub may_have_started_at: Option<Time>,
}

/// Returns the combined status of builds, or `of_none` if there are none.
fn combined_status(builds: &[&Build], of_none: Status) -> Status {
    if builds.is_empty() {
        return of_none;
    }
    let counts = |build: &&&Build| match build.status {
        Failed | Canceled => !build.job.allow_failure,
        Skipped => !matches!(build.job.when, When::Manual | When::OnFailure),
        _ => true,
    };
    let counted: Vec<Status> = builds.iter().filter(counts).map(|build| build.status).collect();
    let all = |some: &[Status]| counted.iter().all(|status| some.contains(status));
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
    } else if counted.iter().any(|status| status.is_active()) {
        Running
    } else {
        Failed
    }
}

/// Returns the status of a build when its stage is reached, after earlier stages with the status `before`.
fn status_after(when: When, before: Status) -> Status {
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
        pipeline.update_statuses(now);
        pipeline
    }

    /// Adds a build. Its id is that of the server, or an impossible number if the server did not create it.
    fn add(&mut self, job: Job, status: Status, ids: &BTreeMap<String, i64>, user: i64, now: Time) {
        let id = ids.get(&job.name).copied().unwrap_or(i64::MAX);
        let (started_at, finished_at, taken) = (None, None, None);
        self.builds.push(Build { id, job, status, user, started_at, finished_at, pending_since: now, claim: taken });
        self.builds.sort_by_key(|build| build.id);
    }

    pub fn build(&self, id: i64) -> &Build {
        self.builds.iter().find(|build| build.id == id).unwrap()
    }

    fn build_mut(&mut self, id: i64) -> &mut Build {
        self.builds.iter_mut().find(|build| build.id == id).unwrap()
    }

    /// Returns whether this is the latest build of its name. Only such builds count for the status of the pipeline.
    fn is_latest(&self, build: &Build) -> bool {
        !self.builds.iter().any(|other| other.job.name == build.job.name && other.id > build.id)
    }

    fn latest(&self) -> Vec<&Build> {
        self.builds.iter().filter(|build| self.is_latest(build)).collect()
    }

    pub fn is_finished(&self) -> bool {
        !self.builds.iter().any(|build| build.status.is_active())
    }

    /// Recomputes the builds of reached stages and the pipeline itself, after every change.
    fn update_statuses(&mut self, now: Time) {
        for stage in 0..STAGES {
            let earlier: Vec<&Build> = self.latest().into_iter().filter(|build| build.job.stage < stage).collect();
            let before = combined_status(&earlier, Success);
            if !before.is_complete() {
                continue;
            }
            for build in &mut self.builds {
                if build.job.stage == stage && build.status == Created {
                    build.status = status_after(build.job.when, before);
                    build.pending_since = now;
                }
            }
        }
        let status = combined_status(&self.latest(), Skipped);
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

    /// Returns the number of seconds in which at least one of the latest builds ran.
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

    /// Assigns a build to a runner.
    pub fn claim_build(&mut self, id: i64, claim: Claim, now: Time) {
        let build = self.build_mut(id);
        build.status = Running;
        build.started_at = Some(now);
        build.claim = Some(claim);
        self.update_statuses(now);
    }

    /// Ends a build with the status that its runner reported.
    pub fn finish_build(&mut self, id: i64, status: Status, now: Time) {
        let build = self.build_mut(id);
        build.status = status;
        build.finished_at = Some(now);
        self.update_statuses(now);
    }

    /// Records a heartbeat of the runner, or the length of an appended part of the trace.
    pub fn record_contact(&mut self, id: i64, bytes: usize, now: Time) {
        let claim = self.build_mut(id).claim.as_mut().unwrap();
        claim.contacted_at = now;
        claim.trace_length += bytes;
    }

    /// Cancels the active builds that `which` selects.
    pub fn cancel(&mut self, which: impl Fn(&Build) -> bool, now: Time) {
        for build in &mut self.builds {
            if which(build) && build.status.is_active() {
                build.status = Canceled;
                build.finished_at = Some(now);
            }
        }
        self.update_statuses(now);
    }

    pub fn is_retryable(&self, id: i64) -> bool {
        let build = self.build(id);
        build.status.is_complete() && self.is_latest(build)
    }

    /// Retries a build, and reopens the skipped builds of later stages.
    pub fn retry_build(&mut self, id: i64, ids: &BTreeMap<String, i64>, user: i64, now: Time) {
        let job = self.build(id).job.clone();
        let stage = job.stage;
        self.add(job, Pending, ids, user, now);
        self.reopen_after(stage, user);
        self.update_statuses(now);
    }

    pub fn has_retryable(&self) -> bool {
        self.latest().iter().any(|build| matches!(build.status, Failed | Canceled))
    }

    /// Retries the failed and canceled builds of a pipeline.
    pub fn retry(&mut self, ids: &BTreeMap<String, i64>, user: i64, now: Time) {
        let again = self.latest().into_iter().filter(|build| matches!(build.status, Failed | Canceled));
        let again: Vec<Job> = again.map(|build| build.job.clone()).collect();
        let Some(first) = again.iter().map(|job| job.stage).min() else { return };
        for job in again {
            let status = if job.stage == first { Pending } else { Created };
            self.add(job, status, ids, user, now);
        }
        self.reopen_after(first, user);
        self.update_statuses(now);
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

    /// Plays a manual build.
    pub fn play(&mut self, id: i64, user: i64, now: Time) {
        let build = self.build_mut(id);
        build.status = Pending;
        build.user = user;
        build.pending_since = now;
        self.update_statuses(now);
    }

    /// Fails stale builds, and returns the reasons.
    pub fn fail_stale(&mut self, now: Time) -> Vec<&'static str> {
        let mut given_up = Vec::new();
        for build in &mut self.builds {
            if let Some((_, why)) = deadlines(build).into_iter().find(|(deadline, _)| now > *deadline) {
                build.status = Failed;
                build.finished_at = Some(now);
                given_up.push(why);
            }
        }
        // Between the failures of two stale builds the combined status may be `running`; their order is unspecified.
        if given_up.len() > 1 && self.started_at.is_none() {
            self.may_have_started_at = Some(now);
        }
        self.update_statuses(now);
        given_up
    }

    /// Returns whether the time is exactly a deadline, where the result is not specified.
    pub fn is_at_deadline(&self, now: Time) -> bool {
        self.builds.iter().flat_map(deadlines).any(|(deadline, _)| deadline == now)
    }
}

fn deadlines(build: &Build) -> Vec<(Time, &'static str)> {
    match (build.status, &build.claim) {
        (Pending, _) => vec![(build.pending_since + MAX_PENDING, "pending too long")],
        (Running, Some(taken)) => {
            let end = build.started_at.unwrap() + taken.timeout + TIMEOUT_GRACE;
            vec![(taken.contacted_at + STALE_AFTER, "silent"), (end, "running too long")]
        }
        _ => Vec::new(),
    }
}
