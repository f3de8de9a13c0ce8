//! Whether a ref may be moved as somebody wants to move it. The texts are for the person who pushes.

use std::collections::HashSet;
use std::sync::Arc;

use holdfast_domain::AccessLevel;
use holdfast_domain::repository::{Protection, Rule};
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::protocol::receive::Command;
use holdfast_git::reader::{Kind, Reader};
use holdfast_git::{ObjectId, RefName};
use holdfast_store::repository::ref_change::Move;
use holdfast_store::repository::snapshot::Snapshot;

use super::fetch::Opened;
use super::ref_change::HEAD_DELETED;
use crate::{Actor, Error};

pub type Verdict<T> = std::result::Result<T, String>;

const PROTECTED: &str = "You are not allowed to push code to protected branches on this project.";
const FORCED: &str = "You are not allowed to force push code to a protected branch on this project.";
const DELETED: &str = "You are not allowed to delete protected branches from this project.";
pub(super) const TAG_CHANGED: &str = "You are not allowed to change existing tags on this project.";

/// Who wants to, and by which rules.
pub struct Judge {
    level: Option<AccessLevel>,
    is_administrator: bool,
    rules: Vec<Rule>,
    refs: Arc<Snapshot>,
    head: Option<String>,
    returns: bool,
}

impl Judge {
    pub fn new(actor: &Actor, opened: &Opened, rules: Vec<Rule>) -> Self {
        Self {
            level: opened.project.level(),
            is_administrator: actor.is_administrator(),
            rules,
            refs: opened.refs.clone(),
            head: opened.project.repository.head.clone(),
            returns: false,
        }
    }

    /// For refs that are put back to where they were. Nobody forces a push to a protected branch; to undo one, or what
    /// should not have been pushed, is for masters.
    pub fn of_return(self) -> Self {
        Self { returns: true, ..self }
    }

    fn is_at_least(&self, level: AccessLevel) -> bool {
        self.is_administrator || self.level >= Some(level)
    }

    /// What can be said without a look at the objects.
    pub fn of_name(&self, command: &Command) -> Verdict<RefName> {
        let name = RefName::parse(&command.name).map_err(|problem| problem.to_string())?;
        if command.old.is_none() && command.new.is_none() {
            return Err("there is no such ref".into());
        }
        if let Some(branch) = name.as_branch() {
            let protection = Protection::of(&self.rules, branch);
            // The first branch becomes the default one, which is protected.
            let least = if self.head.is_none() { AccessLevel::Master } else { protection.least_to_push() };
            if !self.is_at_least(least) {
                return Err(PROTECTED.into());
            }
            if command.new.is_none() && self.head.as_deref() == Some(name.as_str()) {
                return Err(HEAD_DELETED.into());
            }
            if command.new.is_none() && protection.protected {
                return Err(DELETED.into());
            }
        }
        // A tag that others may have taken for granted.
        let exists = self.refs.find(name.as_str()).is_some();
        if name.as_tag().is_some() && exists && !self.is_at_least(AccessLevel::Master) {
            return Err(TAG_CHANGED.into());
        }
        Ok(name)
    }

    /// What only the objects tell.
    pub fn of_objects(&self, reader: &Reader, name: &RefName, command: &Command) -> Result<Verdict<Move>, Error> {
        let Some(new) = command.new else {
            return Ok(Ok(Move { name: name.clone(), old: command.old, new: None }));
        };
        let (target, kind) = reader.peel(new)?;
        if let Some(branch) = name.as_branch() {
            if target.peeled.is_some() || kind != Kind::Commit {
                return Ok(Err("a branch must point at a commit".into()));
            }
            if let Some(old) = command.old
                && Protection::of(&self.rules, branch).protected
                && !(self.returns && self.is_at_least(AccessLevel::Master))
                && !self.is_forward(reader, old, new)?
            {
                return Ok(Err(FORCED.into()));
            }
        }
        Ok(Ok(Move { name: name.clone(), old: command.old, new: Some(target) }))
    }

    /// What the client takes for the old value may be no commit of ours at all.
    fn is_forward(&self, reader: &Reader, old: ObjectId, new: ObjectId) -> Result<bool, Error> {
        Ok(reader.kind(old)?.is_some() && reader.is_ancestor(old, new)?)
    }
}

/// Names that are given twice: of these none is moved.
pub fn repeated(commands: &[Command]) -> HashSet<&[u8]> {
    let mut seen = HashSet::new();
    commands.iter().map(|it| it.name.as_slice()).filter(|name| !seen.insert(*name)).collect()
}
