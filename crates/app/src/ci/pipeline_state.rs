//! State transitions of builds and pipelines.
//!
//! [`LockedPipeline`] and [`claim_build`] are the only code that changes the status of a build (ADR 0021). Both hold
//! the row lock of the pipeline until the caller commits, so transitions of one pipeline are serialized.
//!
//! [`LockedPipeline::save`] also applies everything that follows from a transition, in the same transaction: it starts
//! the next stage, updates the build queue, recomputes the pipeline's status and publishes webhook events.

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_domain::ci::transitions::{self, BuildStep};
use holdfast_domain::ci::{BuildEvent, FailureReason, Status};
use holdfast_domain::ids::{BuildId, PipelineId, UserId};
use holdfast_git::ObjectId;
use holdfast_store::Connection;
use holdfast_store::ci::build::{self, BuildState};
use holdfast_store::ci::pipeline::{self, Pipeline};
use holdfast_store::ci::queue::{self, Claim, QueuedBuild};
use holdfast_store::ci::runner::Runner;
use holdfast_store::ci::running_build;
use holdfast_store::merge_requests::waiting;
use holdfast_store::planning::todo;
use holdfast_store::worker::merge_requests;

use super::events;
use crate::{App, Error, Resource, Result};

/// A pipeline whose row is locked, with the latest build of each name.
pub(super) struct LockedPipeline {
    pub pipeline: Pipeline,
    builds: Vec<BuildState>,
    /// The status of each build in the database; `None` if the build is new.
    stored_statuses: Vec<Option<Status>>,
    is_new: bool,
}

impl LockedPipeline {
    pub async fn lock(connection: &mut Connection, id: PipelineId) -> Result<Self> {
        let pipeline = pipeline::lock(connection, id).await?.ok_or(Error::NotFound(Resource::Record))?;
        let builds = build::list_latest(connection, id).await?;
        let stored_statuses = builds.iter().map(|it| Some(it.step.status)).collect();
        Ok(Self { pipeline, builds, stored_statuses, is_new: false })
    }

    /// Locks a pipeline that was created in this transaction: [`Self::save`] treats all of it as changed.
    pub async fn lock_new(connection: &mut Connection, id: PipelineId) -> Result<Self> {
        let mut locked = Self::lock(connection, id).await?;
        locked.stored_statuses.fill(None);
        locked.is_new = true;
        Ok(locked)
    }

    pub fn builds(&self) -> &[BuildState] {
        &self.builds
    }

    pub fn find(&self, id: BuildId) -> Option<&BuildState> {
        self.builds.iter().find(|it| it.id == id)
    }

    /// Applies an event to a build. Returns false if the build's status does not allow it.
    pub fn apply_event(&mut self, id: BuildId, event: BuildEvent, now: DateTime<Utc>) -> bool {
        let Some(build) = self.builds.iter_mut().find(|it| it.id == id) else { return false };
        apply_transition(build, event, now)
    }

    pub fn fail(&mut self, id: BuildId, reason: FailureReason, now: DateTime<Utc>) -> bool {
        let has_failed = self.apply_event(id, BuildEvent::Fail, now);
        if let (true, Some(build)) = (has_failed, self.builds.iter_mut().find(|it| it.id == id)) {
            build.failure_reason = Some(reason);
        }
        has_failed
    }

    pub fn set_user(&mut self, id: BuildId, user: Option<UserId>) {
        if let Some(build) = self.builds.iter_mut().find(|it| it.id == id) {
            build.user_id = user;
        }
    }

    /// Sets the status of an external commit status, which may change in any order.
    pub fn set_external(&mut self, id: BuildId, status: Status, now: DateTime<Utc>) {
        let Some(build) = self.builds.iter_mut().find(|it| it.id == id && it.is_external) else { return };
        build.step.status = status;
        if status == Status::Running || status.is_complete() {
            build.started_at.get_or_insert(now);
        }
        build.finished_at = if status.is_complete() { Some(now) } else { None };
    }

    /// Retries these builds and returns the id of the first new build. The new builds, and the skipped builds of later
    /// stages that are reset because of them, get this user.
    pub async fn retry(
        &mut self,
        connection: &mut Connection,
        ids: &[BuildId],
        user: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<Option<BuildId>> {
        let stages = || ids.iter().filter_map(|id| self.find(*id)).map(|it| it.step.stage);
        let Some(first) = stages().min() else { return Ok(None) };
        let copies = build::insert_retries(connection, ids, user, now).await?;
        for (id, copy) in ids.iter().zip(&copies) {
            let Some(index) = self.builds.iter().position(|it| it.id == *id) else { continue };
            let build = &mut self.builds[index];
            build.id = *copy;
            build.user_id = user;
            build.step.status = Status::Created;
            (build.queued_at, build.started_at, build.finished_at, build.failure_reason) = (None, None, None, None);
            self.stored_statuses[index] = None;
            if build.step.stage == first {
                apply_transition(build, BuildEvent::Enqueue, now);
            }
        }
        // Builds of later stages that were skipped because of them may run now.
        for build in self.builds.iter_mut().filter(|it| it.step.stage > first) {
            if apply_transition(build, BuildEvent::Reset, now) {
                build.user_id = user;
            }
        }
        Ok(copies.first().copied())
    }

    /// Writes all changes, with everything that follows from them.
    pub async fn save(mut self, app: &App, connection: &mut Connection, now: DateTime<Utc>) -> Result<Pipeline> {
        let mut steps: Vec<BuildStep> = self.builds.iter().map(|it| it.step).collect();
        for (index, event) in transitions::advance_stages(&mut steps) {
            apply_transition(&mut self.builds[index], event, now);
        }
        let old_status = |index: usize| self.stored_statuses[index].unwrap_or(Status::Created);
        let changed: Vec<usize> = (0..self.builds.len())
            .filter(|index| self.stored_statuses[*index] != Some(self.builds[*index].step.status))
            .collect();
        let changed_builds: Vec<&BuildState> = changed.iter().map(|index| &self.builds[*index]).collect();
        if !changed_builds.is_empty() {
            build::save(connection, &changed_builds).await?;
        }
        let ids = |predicate: &dyn Fn(usize) -> bool| -> Vec<BuildId> {
            changed.iter().filter(|index| predicate(**index)).map(|index| self.builds[*index].id).collect()
        };
        let dequeued = ids(&|index| old_status(index) == Status::Pending);
        if !dequeued.is_empty() {
            queue::dequeue(connection, &dequeued).await?;
        }
        let finished = ids(&|index| old_status(index) == Status::Running);
        if !finished.is_empty() {
            running_build::delete(connection, &finished).await?;
        }
        let is_queued = |it: &&BuildState| it.step.status == Status::Pending && !it.is_external;
        let queued: Vec<(BuildId, &[String])> =
            changed_builds.iter().copied().filter(is_queued).map(|it| (it.id, it.tags.as_slice())).collect();
        if !queued.is_empty() {
            queue::enqueue(connection, self.pipeline.project_id, self.pipeline.id, &queued, now).await?;
        }
        let had_failed = !self.is_new && self.pipeline.status == Status::Failed;
        let has_status_changed = self.update_pipeline_status(&steps, now);
        if has_status_changed || !changed.is_empty() {
            pipeline::save(connection, &self.pipeline).await?;
        }
        if has_status_changed && self.pipeline.status.allows_merge() {
            self.accept_waiting_merge_requests(connection).await?;
        }
        self.update_todos(connection, had_failed, now).await?;
        let published: Vec<BuildId> = changed
            .iter()
            .filter(|index| {
                let status = self.builds[**index].step.status;
                self.stored_statuses[**index].is_none() || status == Status::Running || status.is_complete()
            })
            .map(|index| self.builds[*index].id)
            .collect();
        events::publish_changes(app, connection, &self.pipeline, has_status_changed, &published, now).await?;
        Ok(self.pipeline)
    }

    /// Enqueues the job that merges the requests which wait for this pipeline, if there are any.
    async fn accept_waiting_merge_requests(&self, connection: &mut Connection) -> Result<()> {
        let (project, sha) = (self.pipeline.project_id, &self.pipeline.sha);
        let Ok(head) = ObjectId::from_hex(sha.as_bytes()) else { return Ok(()) };
        if !waiting::list(connection, project, head).await?.is_empty() {
            merge_requests::enqueue_waiting_merges(connection, project, sha).await?;
        }
        Ok(())
    }

    /// Creates the todos of the authors of merge requests whose head has failed, and completes them when it is tried again.
    async fn update_todos(&self, connection: &mut Connection, had_failed: bool, now: DateTime<Utc>) -> Result<()> {
        let has_failed = self.pipeline.status == Status::Failed;
        if self.pipeline.tag || has_failed == had_failed {
            return Ok(());
        }
        let (project, branch) = (self.pipeline.project_id, &self.pipeline.ref_name);
        let Ok(head) = ObjectId::from_hex(self.pipeline.sha.as_bytes()) else { return Ok(()) };
        if !has_failed {
            return Ok(todo::complete_for_pipeline(connection, project, branch, head).await?);
        }
        Ok(todo::insert_for_failed_pipeline(connection, project, branch, head, now).await?)
    }

    /// Recomputes the status of the pipeline. Returns whether it changed or the pipeline is new.
    fn update_pipeline_status(&mut self, steps: &[BuildStep], now: DateTime<Utc>) -> bool {
        // A pipeline without builds keeps the status that it was created with.
        let status = if steps.is_empty() { self.pipeline.status } else { transitions::pipeline_status(steps) };
        if status == self.pipeline.status && !self.is_new {
            return false;
        }
        let pipeline = &mut self.pipeline;
        pipeline.status = status;
        pipeline.updated_at = now;
        if status == Status::Running {
            pipeline.started_at.get_or_insert(now);
        }
        if status.is_complete() {
            pipeline.finished_at = Some(now);
            let period =
                |it: &BuildState| Some((it.started_at?.timestamp_millis(), it.finished_at?.timestamp_millis()));
            pipeline.duration = transitions::covered_seconds(self.builds.iter().filter_map(period).collect());
        }
        true
    }
}

fn apply_transition(build: &mut BuildState, event: BuildEvent, now: DateTime<Utc>) -> bool {
    let Some(status) = build.step.status.transition(event) else { return false };
    build.step.status = status;
    match event {
        BuildEvent::Enqueue => build.queued_at = Some(now),
        BuildEvent::Claim => build.started_at = Some(now),
        BuildEvent::Succeed | BuildEvent::Fail | BuildEvent::Cancel => build.finished_at = Some(now),
        BuildEvent::Skip | BuildEvent::Reset => {}
    }
    true
}

/// How long a runner may take to report the result after the timeout of a build, which the runner enforces itself.
const FINISH_GRACE: TimeDelta = TimeDelta::minutes(15);

/// Assigns a queued build to a runner. The other builds are not loaded: a pipeline with a running build is running.
pub(super) async fn claim_build(
    app: &App,
    connection: &mut Connection,
    queued: &QueuedBuild,
    runner: &Runner,
    token_digest: &[u8],
    now: DateTime<Utc>,
) -> Result<Claim> {
    let default_timeout = app.settings.ci.build_timeout;
    let timeout = runner
        .max_run_seconds
        .map_or(default_timeout, |seconds| default_timeout.min(TimeDelta::seconds(seconds.into())));
    pipeline::lock_row(connection, queued.pipeline).await?;
    let claim = queue::claim(connection, queued, runner, token_digest, now, now + timeout + FINISH_GRACE).await?;
    if claim.is_claimed {
        events::publish_claim(app, connection, queued, claim.has_pipeline_started, now).await?;
    }
    Ok(claim)
}
