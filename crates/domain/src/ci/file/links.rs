//! What jobs say of stages and of one another.

use std::collections::HashMap;

use super::Job;
use super::environment::{Environment, EnvironmentAction};

/// Gives every job the place of its stage. What is wrong is told job by job; here names keep their case.
pub(super) fn check(jobs: &mut [Job], stages: &[String]) -> Result<(), String> {
    let mut places = HashMap::new();
    for (place, stage) in stages.iter().enumerate() {
        places.entry(stage.as_str()).or_insert(place);
    }
    let by_name: HashMap<&str, &Job> = jobs.iter().map(|job| (job.name.as_str(), job)).collect();
    let mut found = Vec::with_capacity(jobs.len());
    for job in &*jobs {
        let of_job = |what: String| format!("{} job: {what}", job.name);
        let Some(&place) = places.get(job.stage.as_str()) else {
            return Err(of_job(format!("stage parameter should be {}", stages.join(", "))));
        };
        for name in job.dependencies.iter().flatten() {
            let Some(dependency) = by_name.get(name.as_str()) else {
                return Err(of_job(format!("undefined dependency: {name}")));
            };
            if places.get(dependency.stage.as_str()).is_none_or(|earlier| *earlier >= place) {
                return Err(of_job(format!("dependency {name} is not defined in prior stages")));
            }
        }
        if let Some(environment) = &job.environment {
            check_stop(environment, &by_name).map_err(of_job)?;
        }
        found.push(place);
    }
    for (job, place) in jobs.iter_mut().zip(found) {
        job.stage_index = place;
    }
    Ok(())
}

/// What stops an environment is a job of the same environment.
fn check_stop(environment: &Environment, jobs: &HashMap<&str, &Job>) -> Result<(), String> {
    let Some(name) = &environment.on_stop else { return Ok(()) };
    let wrong = |what: &str| Err(format!("on_stop job {name} {what}"));
    let Some(job) = jobs.get(name.as_str()) else { return wrong("is not defined") };
    let Some(stopped) = &job.environment else { return wrong("does not have environment defined") };
    if stopped.name != environment.name {
        return wrong("have different environment name");
    }
    if stopped.action != EnvironmentAction::Stop {
        return wrong("needs to have action stop defined");
    }
    Ok(())
}
