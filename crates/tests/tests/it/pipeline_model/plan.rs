//! Files of pipelines, made by chance.

use std::fmt::Write;

use holdfast_tests::Dice;

/// At most, in one file.
pub const STAGES: usize = 4;
const JOBS: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    OnSuccess,
    OnFailure,
    Always,
    Manual,
}

impl When {
    const fn word(self) -> &'static str {
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

/// A branch and what its file says.
pub struct Plan {
    pub branch: String,
    pub jobs: Vec<Job>,
    pub text: String,
}

impl Plan {
    pub fn random(dice: &mut Dice, branch: String) -> Self {
        // Their order is the file's, not the alphabet's.
        let mut names = vec!["build", "test", "deploy", "zip", "ask"];
        let stages: Vec<&str> =
            (0..dice.between(1, STAGES)).map(|_| names.swap_remove(dice.below(names.len()))).collect();
        let jobs: Vec<Job> = (0..dice.between(1, JOBS)).map(|number| job(dice, &stages, number)).collect();
        let mut text = format!("stages: [{}]\n", stages.join(", "));
        for job in &jobs {
            write!(text, "{}:\n  stage: {}\n  script: [\"true\"]\n", job.name, job.stage_name).unwrap();
            if job.when != When::OnSuccess || dice.one_in(3) {
                writeln!(text, "  when: {}", job.when.word()).unwrap();
            }
            if job.allow_failure || dice.one_in(5) {
                writeln!(text, "  allow_failure: {}", job.allow_failure).unwrap();
            }
            if !job.tags.is_empty() {
                writeln!(text, "  tags: [{}]", job.tags.join(", ")).unwrap();
            }
        }
        Self { branch, jobs, text }
    }
}

fn job(dice: &mut Dice, stages: &[&'static str], number: usize) -> Job {
    let stage = dice.below(stages.len());
    let when = match dice.below(20) {
        0..11 => When::OnSuccess,
        11..14 => When::OnFailure,
        14..17 => When::Always,
        _ => When::Manual,
    };
    let tags = match dice.below(20) {
        0..11 => &[][..],
        11..13 => &["a"],
        13..15 => &["b"],
        15 => &["c"],
        16 => &["a", "b"],
        17 => &["b", "c"],
        18 => &["a", "b", "c"],
        // No runner has this one.
        _ => &["a", "rare"],
    };
    Job {
        name: format!("job {number}"),
        stage,
        stage_name: stages[stage],
        when,
        allow_failure: dice.one_in(4),
        tags: tags.to_vec(),
    }
}

/// All of them as a stream for `git fast-import`; their pushes make no pipelines.
pub fn stream(plans: &[Plan]) -> Vec<u8> {
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
