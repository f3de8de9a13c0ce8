//! One push to one node, and what its client learns of it.

use std::path::Path;
use std::time::Instant;

use super::World;
use super::full::Attempt;
use super::ledger::{Fate, Push, Tried};
use super::node::Node;
use super::rest::Project;

/// What a client has a right to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nobody else moves this ref.
    Success,
    /// Somebody may be quicker.
    Anything,
    Refusal,
}

#[derive(Clone, Debug)]
pub struct Wish {
    pub name: String,
    /// None to delete it.
    pub new: Option<String>,
    pub force: bool,
    pub expected: Expected,
}

impl Wish {
    fn refspec(&self) -> String {
        format!("{}{}:{}", if self.force { "+" } else { "" }, self.new.as_deref().unwrap_or_default(), self.name)
    }

    pub fn tried(&self, fate: &Fate) -> Tried {
        Tried { name: self.name.clone(), new: self.new.clone(), fate: fate.clone() }
    }
}

/// What became of each wish.
pub async fn push(
    world: &World,
    repository: &Path,
    project: &Project,
    node: &Node,
    wishes: &[Wish],
    atomic: bool,
) -> anyhow::Result<Vec<Fate>> {
    let url = project.url(node);
    let refspecs: Vec<String> = wishes.iter().map(Wish::refspec).collect();
    let mut arguments = vec!["push", "--porcelain"];
    arguments.extend(atomic.then_some("--atomic"));
    arguments.push(&url);
    arguments.extend(refspecs.iter().map(String::as_str));
    let (life, since) = (node.life(), Instant::now());
    let ended = world.git.run(repository, &arguments, b"").await?;
    let was_harmed = life.is_none() || node.life() != life;

    let is_stale = ended.said.contains("remote ref does not exist");
    let missing = || if is_stale { Fate::Refused("there is no such ref".into()) } else { Fate::Unknown };
    let fates: Vec<Fate> =
        wishes.iter().map(|wish| fate_of(&wish.name, &ended.output).unwrap_or_else(missing)).collect();
    let tried = wishes.iter().zip(&fates).map(|(wish, fate)| wish.tried(fate));
    let push = Push { project: project.id, node: node.name.clone(), atomic, refs: tried.collect() };
    let may_lose = wishes.iter().any(|wish| wish.expected != Expected::Success) && (atomic || is_stale);
    let said = format!("{}\n{}", ended.output.trim(), ended.said.trim());
    judge(world, &push, wishes, Circumstances { was_harmed, may_lose, said: &said, since });
    world.ledger.record(push);
    Ok(fates)
}

/// What it depends on whether an answer is right.
pub struct Circumstances<'a> {
    pub was_harmed: bool,
    /// One ref that others move may cost the push the others.
    pub may_lose: bool,
    pub said: &'a str,
    pub since: Instant,
}

/// Whether a client may be told this.
pub fn judge(world: &World, push: &Push, wishes: &[Wish], circumstances: Circumstances<'_>) {
    let Circumstances { was_harmed, may_lose, said, since } = circumstances;
    let attempt = Attempt { node: &push.node, project: Some(push.project), since };
    let has_failed = push.refs.iter().any(|it| match it.fate {
        Fate::Unknown => !was_harmed,
        Fate::Failed(_) => true,
        _ => false,
    });
    let is_excused = has_failed && world.excuses(attempt, said);
    let wrong = wishes.iter().zip(&push.refs).find_map(|(wish, it)| match (&it.fate, wish.expected) {
        (Fate::Unknown, _) if !was_harmed && !is_excused => Some("a push broke off though its node was not killed"),
        (Fate::Failed(_), _) if !is_excused => Some("a push failed though its node was alive to say so"),
        (Fate::Refused(_), Expected::Success) if !may_lose => Some("a ref was refused though nobody else moves it"),
        (Fate::Moved { .. }, Expected::Refusal) => Some("a ref was moved though it must not be"),
        _ => None,
    });
    if let Some(wrong) = wrong {
        world.ledger.violate(format!("seed {}: {wrong}: {push:?} of {wishes:?}\n{said}", world.seed));
    }
}

/// What `git push --porcelain` tells of one ref; none if it tells nothing.
fn fate_of(name: &str, output: &str) -> Option<Fate> {
    let mut lines = output.lines().filter_map(|line| {
        let (flag, rest) = line.split_once('\t')?;
        let (refs, summary) = rest.split_once('\t')?;
        (refs.rsplit_once(':')?.1 == name).then_some((flag, summary))
    });
    let (flag, summary) = lines.next()?;
    let ids = summary.split(' ').next().unwrap_or_default();
    Some(match flag {
        "*" => Fate::Moved { old: Some(None) },
        " " | "+" => Fate::Moved { old: Some(ids.split_once("..").map(|(old, _)| old.to_owned())) },
        "-" => Fate::Moved { old: None },
        "=" => Fate::Same,
        _ if summary.starts_with("[remote failure]") => Fate::Unknown,
        _ if is_refusal(summary) => Fate::Refused(summary.to_owned()),
        _ => Fate::Failed(summary.to_owned()),
    })
}

/// A reason that the server or git itself gives for a ref.
pub fn is_refusal(summary: &str) -> bool {
    const REASONS: [&str; 11] = [
        "fetch first",
        "non-fast-forward",
        "stale info",
        "already exists",
        "needs force",
        "atomic push failed",
        "there is no such ref",
        "another ref is in the way",
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
    fn every_line_of_a_report_is_understood() {
        let output = "To http://127.0.0.1/a/b.git\n \t11:refs/heads/a\t00..11\n*\t11:refs/heads/b\t[new branch]\n\
            +\t11:refs/heads/c\t22...11 (forced update)\n-\t:refs/heads/d\t[deleted]\n=\t11:refs/heads/e\t[up to date]\n\
            !\t11:refs/heads/f\t[remote rejected] (fetch first)\n!\t11:refs/heads/g\t[remote rejected] (unpacker error)\nDone\n";
        let of = |name: &str| fate_of(&format!("refs/heads/{name}"), output);
        let moved = |old: &str| Some(Fate::Moved { old: Some(Some(old.into())) });
        assert_eq!([of("a"), of("c")], [moved("00"), moved("22")]);
        assert_eq!(of("b"), Some(Fate::Moved { old: Some(None) }));
        assert_eq!(of("d"), Some(Fate::Moved { old: None }));
        assert_eq!(of("e"), Some(Fate::Same));
        assert!(matches!(of("f"), Some(Fate::Refused(_))));
        assert!(matches!(of("g"), Some(Fate::Failed(_))));
        assert_eq!(of("h"), None);
    }
}
