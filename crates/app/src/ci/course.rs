//! The one place where builds and pipelines change their state. Whoever changes one has its pipeline locked, so that all
//! of a pipeline changes in one order; what follows from a change is part of it: stages that are reached, the queue of
//! those who wait, the pipeline's own state, and what is told of it.

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_domain::ci::progress::{self, Step};
use holdfast_domain::ci::{Event, Status};
use holdfast_domain::ids::{BuildId, PipelineId, UserId};
use holdfast_store::Connection;
use holdfast_store::ci::build::{self, Course as Place};
use holdfast_store::ci::pipeline::{self, Pipeline};
use holdfast_store::ci::queue::{self, Taken, Waiting};
use holdfast_store::ci::run;
use holdfast_store::ci::runner::Runner;

use super::notice;
use crate::{App, Error, Result, Thing};

/// A pipeline that is held, with the newest build of each name.
pub(super) struct Course {
    pub pipeline: Pipeline,
    builds: Vec<Place>,
    /// As it is written down.
    written: Vec<Option<Status>>,
    is_new: bool,
}

impl Course {
    pub async fn open(connection: &mut Connection, id: PipelineId) -> Result<Self> {
        let pipeline = pipeline::lock(connection, id).await?.ok_or(Error::NotFound(Thing::Record))?;
        let builds = build::of_pipeline(connection, id).await?;
        let written = builds.iter().map(|it| Some(it.step.status)).collect();
        Ok(Self { pipeline, builds, written, is_new: false })
    }

    /// One that was made just now: all of it is news.
    pub async fn begin(connection: &mut Connection, id: PipelineId) -> Result<Self> {
        let mut course = Self::open(connection, id).await?;
        course.written.fill(None);
        course.is_new = true;
        Ok(course)
    }

    pub fn builds(&self) -> &[Place] {
        &self.builds
    }

    pub fn find(&self, id: BuildId) -> Option<&Place> {
        self.builds.iter().find(|it| it.id == id)
    }

    /// False if that cannot happen to it.
    pub fn happen(&mut self, id: BuildId, event: Event, now: DateTime<Utc>) -> bool {
        let Some(it) = self.builds.iter_mut().find(|it| it.id == id) else { return false };
        apply(it, event, now)
    }

    pub fn fail(&mut self, id: BuildId, reason: &str, now: DateTime<Utc>) -> bool {
        let failed = self.happen(id, Event::Fail, now);
        if let (true, Some(it)) = (failed, self.builds.iter_mut().find(|it| it.id == id)) {
            it.failure_reason = Some(reason.to_owned());
        }
        failed
    }

    pub fn set_user(&mut self, id: BuildId, user: Option<UserId>) {
        if let Some(it) = self.builds.iter_mut().find(|it| it.id == id) {
            it.user_id = user;
        }
    }

    /// What another service says of it, which need not follow any order.
    pub fn set_external(&mut self, id: BuildId, status: Status, now: DateTime<Utc>) {
        let Some(it) = self.builds.iter_mut().find(|it| it.id == id && it.external) else { return };
        it.step.status = status;
        if status == Status::Running || status.is_complete() {
            it.started_at.get_or_insert(now);
        }
        it.finished_at = if status.is_complete() { Some(now) } else { None };
    }

    /// Runs these builds again. They are builds of this user, and so are those of later stages that were skipped and that run
    /// because of them. Returns the first of the copies.
    pub async fn retry(
        &mut self,
        connection: &mut Connection,
        ids: &[BuildId],
        user: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<Option<BuildId>> {
        let stages = || ids.iter().filter_map(|id| self.find(*id)).map(|it| it.step.stage);
        let Some(first) = stages().min() else { return Ok(None) };
        let copies = build::copy(connection, ids, user, now).await?;
        for (id, copy) in ids.iter().zip(&copies) {
            let Some(place) = self.builds.iter().position(|it| it.id == *id) else { continue };
            let it = &mut self.builds[place];
            it.id = *copy;
            it.user_id = user;
            it.step.status = Status::Created;
            (it.queued_at, it.started_at, it.finished_at, it.failure_reason) = (None, None, None, None);
            self.written[place] = None;
            if it.step.stage == first {
                apply(it, Event::Enqueue, now);
            }
        }
        // What was passed over because of them has a turn again.
        for it in self.builds.iter_mut().filter(|it| it.step.stage > first) {
            if apply(it, Event::Reset, now) {
                it.user_id = user;
            }
        }
        Ok(copies.first().copied())
    }

    /// Writes it all down, with what follows from it.
    pub async fn close(mut self, app: &App, connection: &mut Connection, now: DateTime<Utc>) -> Result<Pipeline> {
        let mut steps: Vec<Step> = self.builds.iter().map(|it| it.step).collect();
        for (place, event) in progress::advance(&mut steps) {
            apply(&mut self.builds[place], event, now);
        }
        let was = |place: usize| self.written[place].unwrap_or(Status::Created);
        let changed: Vec<usize> = (0..self.builds.len())
            .filter(|place| self.written[*place] != Some(self.builds[*place].step.status))
            .collect();
        let places: Vec<&Place> = changed.iter().map(|place| &self.builds[*place]).collect();
        if !places.is_empty() {
            build::save(connection, &places).await?;
        }
        let ids = |is: &dyn Fn(usize) -> bool| -> Vec<BuildId> {
            changed.iter().filter(|place| is(**place)).map(|place| self.builds[*place].id).collect()
        };
        let gone = ids(&|place| was(place) == Status::Pending);
        if !gone.is_empty() {
            queue::leave(connection, &gone).await?;
        }
        let ended = ids(&|place| was(place) == Status::Running);
        if !ended.is_empty() {
            run::end(connection, &ended).await?;
        }
        let waits = |it: &&Place| it.step.status == Status::Pending && !it.external;
        let waiting: Vec<(BuildId, &[String])> =
            places.iter().copied().filter(waits).map(|it| (it.id, it.tags.as_slice())).collect();
        if !waiting.is_empty() {
            queue::enter(connection, self.pipeline.project_id, self.pipeline.id, &waiting, now).await?;
        }
        let moved = self.settle(&steps, now);
        if moved || !changed.is_empty() {
            pipeline::save(connection, &self.pipeline).await?;
        }
        let news: Vec<BuildId> = changed
            .iter()
            .filter(|place| {
                let status = self.builds[**place].step.status;
                self.written[**place].is_none() || status == Status::Running || status.is_complete()
            })
            .map(|place| self.builds[*place].id)
            .collect();
        notice::tell(app, connection, &self.pipeline, moved, &news, now).await?;
        Ok(self.pipeline)
    }

    /// What its builds make of the pipeline; whether that is news.
    fn settle(&mut self, steps: &[Step], now: DateTime<Utc>) -> bool {
        // One without builds is what it was made as.
        let status = if steps.is_empty() { self.pipeline.status } else { progress::overall(steps) };
        if status == self.pipeline.status && !self.is_new {
            return false;
        }
        let it = &mut self.pipeline;
        it.status = status;
        it.updated_at = now;
        if status == Status::Running {
            it.started_at.get_or_insert(now);
        }
        if status.is_complete() {
            it.finished_at = Some(now);
            let period = |it: &Place| Some((it.started_at?.timestamp_millis(), it.finished_at?.timestamp_millis()));
            it.duration = progress::busy_seconds(self.builds.iter().filter_map(period).collect());
        }
        true
    }
}

fn apply(it: &mut Place, event: Event, now: DateTime<Utc>) -> bool {
    let Some(status) = it.step.status.after(event) else { return false };
    it.step.status = status;
    match event {
        Event::Enqueue => it.queued_at = Some(now),
        Event::Take => it.started_at = Some(now),
        Event::Succeed | Event::Fail | Event::Cancel => it.finished_at = Some(now),
        Event::Skip | Event::Reset => {}
    }
    true
}

/// A runner ends its build by itself; so long it has for saying so.
const GRACE: TimeDelta = TimeDelta::minutes(15);

/// A runner has a build from now on. The other builds need not be looked at: a pipeline one of whose builds runs, runs.
pub(super) async fn take(
    app: &App,
    connection: &mut Connection,
    it: &Waiting,
    runner: &Runner,
    token_digest: &[u8],
    now: DateTime<Utc>,
) -> Result<Taken> {
    let own = app.settings.ci.build_timeout;
    let longest = runner.longest_run.map_or(own, |seconds| own.min(TimeDelta::seconds(seconds.into())));
    pipeline::hold(connection, it.pipeline).await?;
    let taken = queue::take(connection, it, runner, token_digest, now, now + longest + GRACE).await?;
    if taken.taken {
        notice::tell_taken(app, connection, it, taken.begun, now).await?;
    }
    Ok(taken)
}
