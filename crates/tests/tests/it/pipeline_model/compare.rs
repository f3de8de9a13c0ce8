//! Compares the responses of the server with the model, line by line.

use std::collections::BTreeSet;

use serde_json::Value;

use super::driver::Driver;
use super::model::{Build, Pipeline, Time};

impl Driver {
    /// Compares all builds since the first one of an active pipeline, with the statuses of their pipelines.
    pub async fn compare(&mut self, after: &str) {
        let first = self.active.iter().flat_map(|history| &history.pipeline.builds).map(|build| build.id).min();
        let Some(first) = first else { return };
        self.comparison_count += 1;
        self.compare_builds(first, after).await;
    }

    async fn compare_builds(&self, first: i64, after: &str) {
        let pipelines = self.finished.iter().chain(self.active.iter().map(|history| &history.pipeline));
        // Pipelines whose last build is older have no builds in this range.
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

    /// Reads from the server whether a pipeline was running for a moment, where the rules do not say.
    pub async fn read_start_times(&mut self) {
        for at in 0..self.active.len() {
            let pipeline = &mut self.active[at].pipeline;
            let (id, open) = (pipeline.id, pipeline.may_have_started_at.take());
            if open.is_some() && self.get(&format!("pipelines/{id}")).await.body["started_at"] == format_time(open) {
                self.active[at].pipeline.started_at = open;
            }
        }
    }

    /// Compares the times and the duration of a pipeline as well.
    pub async fn compare_pipeline(&self, at: usize) {
        let pipeline = &self.active[at].pipeline;
        let shown = self.get(&format!("pipelines/{}", pipeline.id)).await;
        let (expected, shown) = (pipeline_line(pipeline), shown_pipeline_line(&shown.body));
        if shown != expected {
            self.fail(&difference(&[expected], &[shown]));
        }
    }

    /// Compares all finished pipelines, which must not have changed since.
    pub async fn compare_all(&mut self) {
        let first = self.finished.iter().flat_map(|pipeline| &pipeline.builds).map(|build| build.id).min();
        let Some(first) = first else { return };
        self.compare_builds(first, "everything").await;
        self.finished.sort_by_key(|pipeline| -pipeline.id);
        let expected: Vec<String> = self.finished.iter().map(pipeline_line).collect();
        let known: BTreeSet<i64> = self.finished.iter().map(|pipeline| pipeline.id).collect();
        let mut shown = Vec::new();
        for page in 1.. {
            let listed = self.get(&format!("pipelines?per_page=100&page={page}")).await;
            let listed = listed.body.as_array().unwrap();
            // Pipelines that the pushes created have no builds and are not in the model.
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

pub fn format_time(time: Option<Time>) -> String {
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
    let runner = build.claim.as_ref().map_or("-".into(), |taken| taken.runner.to_string());
    format!(
        "#{} {} ({}) {}, from {} to {}, of user {}, by runner {runner}, in #{} {}",
        build.id,
        build.job.name,
        build.job.stage_name,
        build.status.as_str(),
        format_time(build.started_at),
        format_time(build.finished_at),
        build.user,
        pipeline.id,
        pipeline.status.as_str(),
    )
}

fn shown_build_line(build: &Value) -> String {
    let word = |value: &Value| or_dash(value);
    format!(
        "#{} {} ({}) {}, from {} to {}, of user {}, by runner {}, in #{} {}",
        build["id"],
        word(&build["name"]),
        word(&build["stage"]),
        word(&build["status"]),
        word(&build["started_at"]),
        word(&build["finished_at"]),
        word(&build["user"]["id"]),
        word(&build["runner"]["id"]),
        build["pipeline"]["id"],
        word(&build["pipeline"]["status"]),
    )
}

fn pipeline_line(pipeline: &Pipeline) -> String {
    let (id, status) = (pipeline.id, pipeline.status.as_str());
    let (from, to) = (format_time(pipeline.started_at), format_time(pipeline.finished_at));
    let duration = pipeline.duration.map_or("-".into(), |seconds| seconds.to_string());
    format!("pipeline #{id} {status}, from {from} to {to}, {duration} s")
}

fn shown_pipeline_line(pipeline: &Value) -> String {
    let (from, to) = (or_dash(&pipeline["started_at"]), or_dash(&pipeline["finished_at"]));
    let (status, duration) = (or_dash(&pipeline["status"]), or_dash(&pipeline["duration"]));
    format!("pipeline #{} {status}, from {from} to {to}, {duration} s", pipeline["id"])
}

/// Returns only the lines that differ, of both sides.
fn difference(expected: &[String], shown: &[String]) -> String {
    let missing = expected.iter().filter(|line| !shown.contains(line)).map(|line| format!("- the model: {line}\n"));
    let extra = shown.iter().filter(|line| !expected.contains(line)).map(|line| format!("+ the server: {line}\n"));
    missing.chain(extra).collect()
}
