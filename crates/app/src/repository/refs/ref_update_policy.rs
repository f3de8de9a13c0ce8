//! Checks whether an actor may make a ref update. The texts are shown to the pushing user.

use std::collections::HashSet;
use std::sync::Arc;

use holdfast_domain::AccessLevel;
use holdfast_domain::repository::{Protection, Rule};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::receive::PushCommand;
use holdfast_git::reader::{Kind, Reader};
use holdfast_git::{ObjectId, RefName};
use holdfast_store::repository::ref_update::RefUpdate;
use holdfast_store::repository::snapshot::Snapshot;

use super::ref_update::HEAD_DELETED;
use crate::repository::open_repository::OpenRepository;
use crate::{Actor, Error};

pub type PolicyResult<T> = std::result::Result<T, String>;

const PROTECTED_PUSH: &str = "You are not allowed to push code to protected branches on this project.";
const PROTECTED_FORCE_PUSH: &str = "You are not allowed to force push code to a protected branch on this project.";
const PROTECTED_DELETE: &str = "You are not allowed to delete protected branches from this project.";
pub(super) const TAG_CHANGED: &str = "You are not allowed to change existing tags on this project.";

/// The permissions of an actor and the protection rules of a project.
pub struct RefUpdatePolicy {
    level: Option<AccessLevel>,
    is_administrator: bool,
    rules: Vec<Rule>,
    refs: Arc<Snapshot>,
    head: Option<String>,
    is_restore: bool,
}

impl RefUpdatePolicy {
    pub fn new(actor: &Actor, repository: &OpenRepository, rules: Vec<Rule>) -> Self {
        Self {
            level: repository.project.level(),
            is_administrator: actor.is_administrator(),
            rules,
            refs: repository.refs.clone(),
            head: repository.project.repository.head.clone(),
            is_restore: false,
        }
    }

    /// Returns the policy for restoring refs. Force pushes to a protected branch are rejected for everyone, but masters
    /// may restore an earlier value of it.
    pub fn for_restore(self) -> Self {
        Self { is_restore: true, ..self }
    }

    /// Returns whether the actor may restore a ref, as far as this does not depend on objects. A restore usually removes
    /// commits from the ref, which only masters may do with a protected branch.
    pub fn can_restore(&self, command: &PushCommand) -> bool {
        let Ok(name) = self.check_name(command) else { return false };
        let is_protected = name.as_branch().is_some_and(|name| Protection::for_branch(&self.rules, name).is_protected);
        !is_protected || self.has_level(AccessLevel::Master)
    }

    /// Returns whether the actor may merge into a branch.
    pub fn can_merge_into(&self, branch: &str) -> bool {
        self.has_level(Protection::for_branch(&self.rules, branch).min_level_to_merge())
    }

    /// Returns whether the actor's level allows to push to a branch.
    pub fn can_push_to(&self, branch: &str) -> bool {
        self.has_level(Protection::for_branch(&self.rules, branch).min_level_to_push())
    }

    fn has_level(&self, level: AccessLevel) -> bool {
        self.is_administrator || self.level >= Some(level)
    }

    /// Checks what does not depend on objects. Returns the parsed name of the ref.
    pub fn check_name(&self, command: &PushCommand) -> PolicyResult<RefName> {
        let name = RefName::parse(&command.name).map_err(|problem| problem.to_string())?;
        if command.old.is_none() && command.new.is_none() {
            return Err("there is no such ref".into());
        }
        if let Some(branch) = name.as_branch() {
            let protection = Protection::for_branch(&self.rules, branch);
            // The first branch becomes the default one, which is protected.
            let min_level = if self.head.is_none() { AccessLevel::Master } else { protection.min_level_to_push() };
            if !self.has_level(min_level) {
                return Err(PROTECTED_PUSH.into());
            }
            if command.new.is_none() && self.head.as_deref() == Some(name.as_str()) {
                return Err(HEAD_DELETED.into());
            }
            if command.new.is_none() && protection.is_protected {
                return Err(PROTECTED_DELETE.into());
            }
        }
        // Other users may rely on an existing tag, so only masters change it.
        let exists = self.refs.find(name.as_str()).is_some();
        if name.as_tag().is_some() && exists && !self.has_level(AccessLevel::Master) {
            return Err(TAG_CHANGED.into());
        }
        Ok(name)
    }

    /// Checks what depends on objects. Returns the ref update.
    pub fn check_objects(
        &self,
        reader: &Reader,
        name: &RefName,
        command: &PushCommand,
    ) -> Result<PolicyResult<RefUpdate>, Error> {
        let Some(new) = command.new else {
            return Ok(Ok(RefUpdate { name: name.clone(), old: command.old, new: None }));
        };
        let (target, kind) = reader.peel(new)?;
        if let Some(branch) = name.as_branch() {
            if target.peeled.is_some() || kind != Kind::Commit {
                return Ok(Err("a branch must point at a commit".into()));
            }
            if let Some(old) = command.old
                && Protection::for_branch(&self.rules, branch).is_protected
                && !(self.is_restore && self.has_level(AccessLevel::Master))
                && !self.is_fast_forward(reader, old, new)?
            {
                return Ok(Err(PROTECTED_FORCE_PUSH.into()));
            }
        }
        Ok(Ok(RefUpdate { name: name.clone(), old: command.old, new: Some(target) }))
    }

    /// Returns whether an update is a fast-forward. The old value comes from the client and need not exist here.
    fn is_fast_forward(&self, reader: &Reader, old: ObjectId, new: ObjectId) -> Result<bool, Error> {
        Ok(reader.kind(old)?.is_some() && reader.is_ancestor(old, new)?)
    }
}

/// Returns the names that occur more than once. All commands with such a name are rejected.
pub fn duplicate_names(commands: &[PushCommand]) -> HashSet<&[u8]> {
    let mut seen = HashSet::new();
    commands.iter().map(|it| it.name.as_slice()).filter(|name| !seen.insert(*name)).collect()
}
