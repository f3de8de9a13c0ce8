//! The users of an export, and who they are here.

use std::collections::{BTreeMap, HashMap, HashSet};

use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_domain::violations::is_control;
use holdfast_store::Connection;
use holdfast_store::accounts::{ghost, user};
use holdfast_store::namespaces::bot;
use serde::{Deserialize, Serialize};

use super::records::{Issuable, Member};
use crate::{App, Result};

/// Maximum number of placeholders of a project. The texts of further users belong to the ghost account. Arbitrary.
const MAX_PLACEHOLDERS: usize = 10_000;
/// Maximum number of characters of the name of a placeholder.
const MAX_NAME_CHARS: usize = 255;

/// What is known of the users of an export when the import begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceUsers {
    /// The ids of local users, by the id in the export.
    pub mapped: BTreeMap<i64, UserId>,
    /// The names of users, by the id in the export. At most [`MAX_PLACEHOLDERS`].
    pub names: BTreeMap<i64, String>,
}

/// The usernames of the members in an export, with their ids. At most [`MAX_PLACEHOLDERS`].
pub type Usernames = HashMap<String, i64>;

impl SourceUsers {
    /// Adds the names that an issue or a merge request contains: those of the authors of its notes.
    pub fn add_note_authors(&mut self, issuable: &Issuable) {
        for note in &issuable.notes.0 {
            let name = note.author.as_ref().and_then(|author| author.name.as_deref());
            if let (Some(id), Some(name)) = (note.author_id, name) {
                self.add_name(id, name, true);
            }
        }
    }

    /// Adds the username of a member, which is also the name unless another one is known.
    pub fn add_member(&mut self, member: &Member, usernames: &mut Usernames) {
        let username = member.user.as_ref().and_then(|user| user.username.as_deref());
        if let (Some(id), Some(username)) = (member.user_id, username) {
            self.add_name(id, username, false);
            if usernames.len() < MAX_PLACEHOLDERS && username.len() <= MAX_NAME_CHARS {
                usernames.insert(username.to_lowercase(), id);
            }
        }
    }

    /// Adds a name. One that is preferred replaces a username, whichever comes first in the archive.
    fn add_name(&mut self, id: i64, name: &str, is_preferred: bool) {
        let name: String = name.chars().filter(|char| !is_control(*char)).take(MAX_NAME_CHARS).collect();
        let name = name.trim();
        if name.is_empty() {
            return;
        }
        let has_room = self.names.len() < MAX_PLACEHOLDERS;
        match self.names.get_mut(&id) {
            Some(known) if is_preferred => name.clone_into(known),
            None if has_room => _ = self.names.insert(id, name.to_owned()),
            _ => {}
        }
    }
}

/// The users of an import, with the placeholders that exist.
pub struct ImportedUsers {
    project: ProjectId,
    source: SourceUsers,
    placeholders: HashMap<i64, UserId>,
    ghost: UserId,
    /// The mapped users that the current transaction has locked.
    locked: HashSet<UserId>,
}

impl ImportedUsers {
    pub async fn load(app: &App, project: ProjectId, source: SourceUsers) -> Result<Self> {
        let mut connection = app.database.connection().await?;
        let found = bot::list_placeholders(&mut connection, project, MAX_PLACEHOLDERS as i64).await?;
        let placeholders = found.into_iter().map(|it| (it.imported_id, it.user_id.into())).collect();
        // Before the locks of the transactions that follow, as for the deletion of a user.
        let ghost = ghost::find_or_insert(&mut connection, app.clock.now()).await?;
        Ok(Self { project, source, placeholders, ghost, locked: HashSet::new() })
    }

    /// Forgets the locks of the transaction before.
    pub fn begin_transaction(&mut self) {
        self.locked.clear();
    }

    /// Returns the local user to whom a user of the export was mapped, and locks the user, who is not deleted before the end
    /// of the transaction. A user who was deleted before is no longer mapped.
    pub async fn mapped(&mut self, connection: &mut Connection, id: Option<i64>) -> Result<Option<UserId>> {
        let mapped = id.and_then(|id| Some((id, *self.source.mapped.get(&id)?)));
        let Some((id, user)) = mapped else { return Ok(None) };
        if !self.locked.contains(&user) {
            if user::lock_key_shared(connection, &[user.get()]).await?.is_empty() {
                self.source.mapped.remove(&id);
                return Ok(None);
            }
            self.locked.insert(user);
        }
        Ok(Some(user))
    }

    /// Returns the local user or the placeholder for a user of the export. Inserts a placeholder if there is none yet.
    pub async fn find(&mut self, app: &App, connection: &mut Connection, id: Option<i64>) -> Result<UserId> {
        if let Some(user) = self.mapped(connection, id).await? {
            return Ok(user);
        }
        let Some(id) = id.filter(|id| *id > 0) else { return Ok(self.ghost) };
        if let Some(placeholder) = self.placeholders.get(&id) {
            return Ok(*placeholder);
        }
        if self.placeholders.len() >= MAX_PLACEHOLDERS {
            return Ok(self.ghost);
        }
        // A path of the form of the bots of access tokens, so that no person is likely to have it.
        let username = format!("project_{}_user_{id}_{}", self.project, app.entropy.hex::<4>());
        let name = self.source.names.get(&id).cloned().unwrap_or_else(|| format!("User {id}"));
        let email = format!("{username}@noreply.invalid");
        let now = app.clock.now();
        let placeholder = bot::insert_placeholder(connection, self.project, id, &username, &name, &email, now).await?;
        self.placeholders.insert(id, placeholder);
        Ok(placeholder)
    }
}
