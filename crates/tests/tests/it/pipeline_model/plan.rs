//! Random CI files.

use std::fmt::Write;

use holdfast_tests::SeededRng;

/// Maximum number of stages in one file.
pub const STAGES: usize = 4;
const MAX_JOBS: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    OnSuccess,
    OnFailure,
    Always,
    Manual,
}

impl When {
    const fn as_str(self) -> &'static str {
        match self {
            Self::OnSuccess => "on_success",
            Self::OnFailure => "on_failure",
            Self::Always => "always",
            Self::Manual => "manual",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Job {
    pub name: String,
    pub stage: usize,
    pub stage_name: &'static str,
    pub when: When,
    pub allow_failure: bool,
    pub tags: Vec<&'static str>,
}

/// A branch and the jobs of its CI file.
pub struct Plan {
    pub branch: String,
    pub jobs: Vec<Job>,
    pub text: String,
}

impl Plan {
    pub fn random(rng: &mut SeededRng, branch: String) -> Self {
        // The order of the stages is that of the file, not the alphabetical one.
        let mut names = vec!["build", "test", "deploy", "zip", "ask"];
        let stages: Vec<&str> =
            (0..rng.next_between(1, STAGES)).map(|_| names.swap_remove(rng.next_below(names.len()))).collect();
        let jobs: Vec<Job> = (0..rng.next_between(1, MAX_JOBS)).map(|number| job(rng, &stages, number)).collect();
        let mut text = format!("stages: [{}]\n", stages.join(", "));
        for job in &jobs {
            write!(text, "{}:\n  stage: {}\n  script: [\"true\"]\n", job.name, job.stage_name).unwrap();
            if job.when != When::OnSuccess || rng.one_in(3) {
                writeln!(text, "  when: {}", job.when.as_str()).unwrap();
            }
            if job.allow_failure || rng.one_in(5) {
                writeln!(text, "  allow_failure: {}", job.allow_failure).unwrap();
            }
            if !job.tags.is_empty() {
                writeln!(text, "  tags: [{}]", job.tags.join(", ")).unwrap();
            }
        }
        Self { branch, jobs, text }
    }
}

fn job(rng: &mut SeededRng, stages: &[&'static str], number: usize) -> Job {
    let stage = rng.next_below(stages.len());
    let when = match rng.next_below(20) {
        0..11 => When::OnSuccess,
        11..14 => When::OnFailure,
        14..17 => When::Always,
        _ => When::Manual,
    };
    let tags = match rng.next_below(20) {
        0..11 => &[][..],
        11..13 => &["a"],
        13..15 => &["b"],
        15 => &["c"],
        16 => &["a", "b"],
        17 => &["b", "c"],
        18 => &["a", "b", "c"],
        // No active runner has this tag.
        _ => &["a", "rare"],
    };
    Job {
        name: format!("job {number}"),
        stage,
        stage_name: stages[stage],
        when,
        allow_failure: rng.one_in(4),
        tags: tags.to_vec(),
    }
}

/// Returns all branches as a `git fast-import` stream. Pushing them creates no builds.
pub fn import_stream(plans: &[Plan]) -> Vec<u8> {
    let mut stream = String::new();
    let message = "Plan\n\n[ci skip]\n";
    for Plan { branch, text, .. } in plans {
        write!(
            stream,
            "commit refs/heads/{branch}\ncommitter Ada <ada@example.com> 1767323045 +0000\n\
             data {}\n{message}\nM 100644 inline .gitlab-ci.yml\ndata {}\n{text}\n",
            message.len(),
            text.len(),
        )
        .unwrap();
    }
    stream.into_bytes()
}
