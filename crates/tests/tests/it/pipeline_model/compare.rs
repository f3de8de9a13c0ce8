//! What the server shows, line by line, against what the model says.

use std::collections::BTreeSet;

use serde_json::Value;

use super::driver::Play;
use super::model::{Build, Pipeline, Time};

impl Play {
    /// All builds from the first one under way on, with the statuses of their pipelines.
    pub async fn compare(&mut self, after: &str) {
        let first = self.live.iter().flat_map(|history| &history.pipeline.builds).map(|build| build.id).min();
        let Some(first) = first else { return };
        self.compared += 1;
        self.compare_builds(first, after).await;
    }

    async fn compare_builds(&self, first: i64, after: &str) {
        let pipelines = self.over.iter().chain(self.live.iter().map(|history| &history.pipeline));
        // The rest of them is older.
        let pipelines = pipelines.filter(|pipeline| pipeline.builds.last().is_some_and(|build| build.id >= first));
        let builds = pipelines.flat_map(|pipeline| pipeline.builds.iter().map(move |build| (pipeline, build)));
        let mut builds: Vec<_> = builds.filter(|(_, build)| build.id >= first).collect();
        builds.sort_by_key(|(_, build)| -build.id);
        let expected: Vec<String> = builds.iter().map(|(pipeline, build)| build_line(pipeline, build)).collect();
        let size = (expected.len() + 1).min(100);
        let mut shown = Vec::new();
        for page in 1.. {
            let listed = self.get(&format!("builds?per_page={size}&page={page}")).await;
            let listed = listed.body.as_array().unwrap();
            let count = listed.len();
            let wanted = listed.iter().filter(|it| it["id"].as_i64().unwrap() >= first);
            let wanted: Vec<String> = wanted.map(shown_build_line).collect();
            let is_last = wanted.len() < size || count < size;
            shown.extend(wanted);
            if is_last {
                break;
            }
        }
        if shown != expected {
            self.fail(&format!("after {after}:\n{}", difference(&expected, &shown)));
        }
    }

    /// Where it is open whether a pipeline was running for a moment, the server says.
    pub async fn learn_starts(&mut self) {
        for at in 0..self.live.len() {
            let pipeline = &mut self.live[at].pipeline;
            let (id, open) = (pipeline.id, pipeline.may_have_started_at.take());
            if open.is_some() && self.get(&format!("pipelines/{id}")).await.body["started_at"] == stamp(open) {
                self.live[at].pipeline.started_at = open;
            }
        }
    }

    /// Times and duration as well.
    pub async fn compare_pipeline(&self, at: usize) {
        let pipeline = &self.live[at].pipeline;
        let shown = self.get(&format!("pipelines/{}", pipeline.id)).await;
        let (expected, shown) = (pipeline_line(pipeline), shown_pipeline_line(&shown.body));
        if shown != expected {
            self.fail(&difference(&[expected], &[shown]));
        }
    }

    /// Whatever became of other pipelines afterwards: nothing that is over has changed.
    pub async fn compare_all(&mut self) {
        let first = self.over.iter().flat_map(|pipeline| &pipeline.builds).map(|build| build.id).min();
        let Some(first) = first else { return };
        self.compare_builds(first, "everything").await;
        self.over.sort_by_key(|pipeline| -pipeline.id);
        let expected: Vec<String> = self.over.iter().map(pipeline_line).collect();
        let known: BTreeSet<i64> = self.over.iter().map(|pipeline| pipeline.id).collect();
        let mut shown = Vec::new();
        for page in 1.. {
            let listed = self.get(&format!("pipelines?per_page=100&page={page}")).await;
            let listed = listed.body.as_array().unwrap();
            // Pushes left pipelines without builds.
            let made_here = |it: &&Value| it["id"].as_i64().is_some_and(|id| known.contains(&id));
            shown.extend(listed.iter().filter(made_here).map(shown_pipeline_line));
            if listed.len() < 100 {
                break;
            }
        }
        if shown != expected {
            self.fail(&difference(&expected, &shown));
        }
    }
}

pub fn stamp(time: Option<Time>) -> String {
    time.map_or("-".into(), |time| time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}

fn or_dash(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn build_line(pipeline: &Pipeline, build: &Build) -> String {
    let runner = build.taken.as_ref().map_or("-".into(), |taken| taken.runner.to_string());
    format!(
        "#{} {} ({}) {}, from {} to {}, of user {}, by runner {runner}, in #{} {}",
        build.id,
        build.job.name,
        build.job.stage_name,
        build.status.word(),
        stamp(build.started_at),
        stamp(build.finished_at),
        build.user,
        pipeline.id,
        pipeline.status.word(),
    )
}

fn shown_build_line(it: &Value) -> String {
    let word = |value: &Value| or_dash(value);
    format!(
        "#{} {} ({}) {}, from {} to {}, of user {}, by runner {}, in #{} {}",
        it["id"],
        word(&it["name"]),
        word(&it["stage"]),
        word(&it["status"]),
        word(&it["started_at"]),
        word(&it["finished_at"]),
        word(&it["user"]["id"]),
        word(&it["runner"]["id"]),
        it["pipeline"]["id"],
        word(&it["pipeline"]["status"]),
    )
}

fn pipeline_line(pipeline: &Pipeline) -> String {
    let (id, status) = (pipeline.id, pipeline.status.word());
    let (from, to) = (stamp(pipeline.started_at), stamp(pipeline.finished_at));
    let duration = pipeline.duration.map_or("-".into(), |seconds| seconds.to_string());
    format!("pipeline #{id} {status}, from {from} to {to}, {duration} s")
}

fn shown_pipeline_line(it: &Value) -> String {
    let (from, to) = (or_dash(&it["started_at"]), or_dash(&it["finished_at"]));
    let (status, duration) = (or_dash(&it["status"]), or_dash(&it["duration"]));
    format!("pipeline #{} {status}, from {from} to {to}, {duration} s", it["id"])
}

/// Only what differs, each way.
fn difference(expected: &[String], shown: &[String]) -> String {
    let missing = expected.iter().filter(|line| !shown.contains(line)).map(|line| format!("- the model: {line}\n"));
    let extra = shown.iter().filter(|line| !expected.contains(line)).map(|line| format!("+ the server: {line}\n"));
    missing.chain(extra).collect()
}
