//! Checks the references of jobs to stages and to other jobs. Git refs are in `ref_filters`.

use std::collections::HashMap;

use super::Job;
use super::environment::{Environment, EnvironmentAction};

/// Checks the references of all jobs and sets their stage indexes. Unlike in other errors, names keep their case.
pub(super) fn check(jobs: &mut [Job], stages: &[String]) -> Result<(), String> {
    let mut index_by_stage = HashMap::new();
    for (index, stage) in stages.iter().enumerate() {
        index_by_stage.entry(stage.as_str()).or_insert(index);
    }
    let by_name: HashMap<&str, &Job> = jobs.iter().map(|job| (job.name.as_str(), job)).collect();
    let mut stage_indexes = Vec::with_capacity(jobs.len());
    for job in &*jobs {
        let job_error = |what: String| format!("{} job: {what}", job.name);
        let Some(&stage_index) = index_by_stage.get(job.stage.as_str()) else {
            return Err(job_error(format!("stage parameter should be {}", stages.join(", "))));
        };
        for name in job.dependencies.iter().flatten() {
            let Some(dependency) = by_name.get(name.as_str()) else {
                return Err(job_error(format!("undefined dependency: {name}")));
            };
            if index_by_stage.get(dependency.stage.as_str()).is_none_or(|earlier| *earlier >= stage_index) {
                return Err(job_error(format!("dependency {name} is not defined in prior stages")));
            }
        }
        if let Some(environment) = &job.environment {
            check_on_stop(environment, &by_name).map_err(job_error)?;
        }
        stage_indexes.push(stage_index);
    }
    for (job, stage_index) in jobs.iter_mut().zip(stage_indexes) {
        job.stage_index = stage_index;
    }
    Ok(())
}

/// Checks that the `on_stop` job of an environment exists, belongs to the same environment and stops it.
fn check_on_stop(environment: &Environment, jobs: &HashMap<&str, &Job>) -> Result<(), String> {
    let Some(name) = &environment.on_stop else { return Ok(()) };
    let error = |what: &str| Err(format!("on_stop job {name} {what}"));
    let Some(job) = jobs.get(name.as_str()) else { return error("is not defined") };
    let Some(stopped) = &job.environment else { return error("does not have environment defined") };
    if stopped.name != environment.name {
        return error("have different environment name");
    }
    if stopped.action != EnvironmentAction::Stop {
        return error("needs to have action stop defined");
    }
    Ok(())
}
