//! Pushes to one node with git, and checks whether the outcome is allowed.

use std::path::Path;
use std::time::Instant;

use super::Harness;
use super::faults::Attempt;
use super::history::{AttemptedUpdate, Push, UpdateOutcome};
use super::node::Node;
use super::rest::Project;

/// The outcome that a client expects of a ref update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No other client updates this ref, so the update must succeed.
    Success,
    /// Another client may update this ref concurrently.
    Anything,
    Rejection,
}

#[derive(Clone, Debug)]
pub struct RefUpdate {
    pub name: String,
    /// The new object id, or `None` to delete the ref.
    pub new: Option<String>,
    pub is_forced: bool,
    pub expected: Expected,
}

impl RefUpdate {
    fn refspec(&self) -> String {
        format!("{}{}:{}", if self.is_forced { "+" } else { "" }, self.new.as_deref().unwrap_or_default(), self.name)
    }

    pub fn attempted(&self, outcome: &UpdateOutcome) -> AttemptedUpdate {
        AttemptedUpdate { name: self.name.clone(), new: self.new.clone(), outcome: outcome.clone() }
    }
}

/// Pushes ref updates from a local repository, records the push, and returns the outcome of each update.
pub async fn push(
    harness: &Harness,
    repository: &Path,
    project: &Project,
    node: &Node,
    updates: &[RefUpdate],
    is_atomic: bool,
) -> anyhow::Result<Vec<UpdateOutcome>> {
    let url = project.url(node);
    let refspecs: Vec<String> = updates.iter().map(RefUpdate::refspec).collect();
    let mut arguments = vec!["push", "--porcelain"];
    arguments.extend(is_atomic.then_some("--atomic"));
    arguments.push(&url);
    arguments.extend(refspecs.iter().map(String::as_str));
    let (run, since) = (node.life(), Instant::now());
    let ended = harness.git.run(repository, &arguments, b"").await?;
    let was_killed = run.is_none() || node.life() != run;

    let is_stale = ended.stderr.contains("remote ref does not exist");
    let missing =
        || if is_stale { UpdateOutcome::Rejected("there is no such ref".into()) } else { UpdateOutcome::Unknown };
    let outcomes: Vec<UpdateOutcome> =
        updates.iter().map(|wish| parse_outcome(&wish.name, &ended.stdout).unwrap_or_else(missing)).collect();
    let attempted = updates.iter().zip(&outcomes).map(|(wish, fate)| wish.attempted(fate));
    let push = Push { project: project.id, node: node.name.clone(), is_atomic, refs: attempted.collect() };
    let can_be_rejected = updates.iter().any(|wish| wish.expected != Expected::Success) && (is_atomic || is_stale);
    let output = format!("{}\n{}", ended.stdout.trim(), ended.stderr.trim());
    check_outcomes(harness, &push, updates, PushContext { was_killed, can_be_rejected, output: &output, since });
    harness.history.record(push);
    Ok(outcomes)
}

/// The circumstances that decide which outcomes are allowed.
pub struct PushContext<'a> {
    pub was_killed: bool,
    /// Whether one rejected update can cause the rejection of the others in this push.
    pub can_be_rejected: bool,
    pub output: &'a str,
    pub since: Instant,
}

/// Reports a violation if an outcome is neither expected nor explained by a kill or a fault.
pub fn check_outcomes(harness: &Harness, push: &Push, updates: &[RefUpdate], context: PushContext<'_>) {
    let PushContext { was_killed, can_be_rejected, output, since } = context;
    let attempt = Attempt { node: &push.node, project: Some(push.project), since };
    let has_failed = push.refs.iter().any(|it| match it.outcome {
        UpdateOutcome::Unknown => !was_killed,
        UpdateOutcome::Failed(_) => true,
        _ => false,
    });
    let is_explained = has_failed && harness.is_explained(attempt, output);
    let violation = updates.iter().zip(&push.refs).find_map(|(wish, it)| match (&it.outcome, wish.expected) {
        (UpdateOutcome::Unknown, _) if !was_killed && !is_explained => {
            Some("a push was interrupted although its node was not killed")
        }
        (UpdateOutcome::Failed(_), _) if !is_explained => Some("a push failed although its node was running"),
        (UpdateOutcome::Rejected(_), Expected::Success) if !can_be_rejected => {
            Some("a ref update was rejected although no other client updates the ref")
        }
        (UpdateOutcome::Updated { .. }, Expected::Rejection) => Some("a ref update was accepted that must be rejected"),
        _ => None,
    });
    if let Some(violation) = violation {
        harness
            .history
            .report_violation(format!("seed {}: {violation}: {push:?} of {updates:?}\n{output}", harness.seed));
    }
}

/// Parses the outcome of one ref from the output of `git push --porcelain`. Returns `None` if the ref is not in it.
fn parse_outcome(name: &str, output: &str) -> Option<UpdateOutcome> {
    let mut lines = output.lines().filter_map(|line| {
        let (flag, rest) = line.split_once('\t')?;
        let (refs, summary) = rest.split_once('\t')?;
        (refs.rsplit_once(':')?.1 == name).then_some((flag, summary))
    });
    let (flag, summary) = lines.next()?;
    let ids = summary.split(' ').next().unwrap_or_default();
    Some(match flag {
        "*" => UpdateOutcome::Updated { old: Some(None) },
        " " | "+" => UpdateOutcome::Updated { old: Some(ids.split_once("..").map(|(old, _)| old.to_owned())) },
        "-" => UpdateOutcome::Updated { old: None },
        "=" => UpdateOutcome::Unchanged,
        _ if summary.starts_with("[remote failure]") => UpdateOutcome::Unknown,
        _ if is_rejection(summary) => UpdateOutcome::Rejected(summary.to_owned()),
        _ => UpdateOutcome::Failed(summary.to_owned()),
    })
}

/// Returns whether the text is one of the reasons for which the server or git rejects a ref update. All other reasons
/// are errors.
pub fn is_rejection(summary: &str) -> bool {
    const REASONS: [&str; 11] = [
        "fetch first",
        "non-fast-forward",
        "stale info",
        "already exists",
        "needs force",
        "atomic push failed",
        "there is no such ref",
        "conflicts with an existing ref",
        "You are not allowed to",
        "The default branch cannot be deleted",
        "remote ref does not exist",
    ];
    REASONS.iter().any(|reason| summary.contains(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_line_of_a_push_report_is_parsed() {
        let output = "To http://127.0.0.1/a/b.git\n \t11:refs/heads/a\t00..11\n*\t11:refs/heads/b\t[new branch]\n\
            +\t11:refs/heads/c\t22...11 (forced update)\n-\t:refs/heads/d\t[deleted]\n=\t11:refs/heads/e\t[up to date]\n\
            !\t11:refs/heads/f\t[remote rejected] (fetch first)\n!\t11:refs/heads/g\t[remote rejected] (unpacker error)\nDone\n";
        let of = |name: &str| parse_outcome(&format!("refs/heads/{name}"), output);
        let moved = |old: &str| Some(UpdateOutcome::Updated { old: Some(Some(old.into())) });
        assert_eq!([of("a"), of("c")], [moved("00"), moved("22")]);
        assert_eq!(of("b"), Some(UpdateOutcome::Updated { old: Some(None) }));
        assert_eq!(of("d"), Some(UpdateOutcome::Updated { old: None }));
        assert_eq!(of("e"), Some(UpdateOutcome::Unchanged));
        assert!(matches!(of("f"), Some(UpdateOutcome::Rejected(_))));
        assert!(matches!(of("g"), Some(UpdateOutcome::Failed(_))));
        assert_eq!(of("h"), None);
    }
}
