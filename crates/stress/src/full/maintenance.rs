//! Runs maintenance commands of operators (`repack` and `sweep`) at random moments.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use crate::Harness;
use crate::faults::Attempt;
use crate::node::Program;

const INTERVAL_MILLIS: std::ops::Range<u64> = 4000..10_000;
const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);

pub async fn run(harness: Arc<Harness>, program: Arc<Program>) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(harness.seed.wrapping_add(0x5eeb));
    let can_sweep = program.admin_command(&["sweep", "--help"]).output().await?.status.success();
    while harness.pause(Duration::from_millis(random.random_range(INTERVAL_MILLIS))).await {
        let project = {
            let projects = harness.projects();
            projects.choose(&mut random).cloned()
        };
        let Some(project) = project else { continue };
        if can_sweep && random.random_bool(0.4) {
            run_admin(&harness, &program, &["sweep"], None).await?;
        } else {
            run_admin(&harness, &program, &["repo", "repack", &project.path], Some(project.id)).await?;
        }
    }
    Ok(())
}

async fn run_admin(
    harness: &Harness,
    program: &Program,
    arguments: &[&str],
    project: Option<i64>,
) -> anyhow::Result<()> {
    let since = Instant::now();
    let (is_success, stderr) =
        match tokio::time::timeout(COMMAND_TIMEOUT, program.admin_command(arguments).output()).await {
            Ok(ended) => {
                let output = ended?;
                (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
            }
            Err(_) => (false, "no answer within two minutes".to_owned()),
        };
    harness.history.count(|counts| counts.admin_commands += 1);
    if is_success {
        return Ok(());
    }
    // A node maintains the same repository, or the project was deleted concurrently.
    let race_texts = ["there is no project", "is already running", "changed by another process"];
    let was_raced = race_texts.iter().any(|text| stderr.contains(text));
    let attempt = Attempt { node: "operator", project, since };
    if !was_raced && harness.faults.explaining_fault(attempt, &stderr).is_none() {
        harness.history.report_violation(format!(
            "seed {}: admin {arguments:?} failed: {}",
            harness.seed,
            stderr.trim()
        ));
    }
    harness.history.count(|counts| counts.failed_admin_commands += 1);
    Ok(())
}
