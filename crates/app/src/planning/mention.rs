//! Issues and users that the texts of a page mention.

use std::collections::BTreeSet;

use holdfast_domain::planning::{Mention, find_mentions};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::planning::mention;

pub use holdfast_store::planning::mention::Mentioned;

use super::issue_visibility::confidential_access;
use crate::projects::project::Project;
use crate::{Actor, App, Result, access};

/// Maximum number of issues, and of users, that the texts of one page link to. The number is arbitrary.
const MAX_MENTIONED: usize = 200;

/// Finds the issues and users that texts mention and that the actor may see, with one statement. Anonymous visitors see
/// no users.
pub(crate) async fn find<'a>(
    app: &App,
    actor: &Actor,
    project: &Project,
    texts: impl Iterator<Item = &'a str>,
) -> Result<Mentioned> {
    let (mut issues, mut usernames) = (BTreeSet::new(), BTreeSet::new());
    for found in texts.flat_map(find_mentions) {
        match found.mention {
            Mention::Issue(number) if issues.len() < MAX_MENTIONED => drop(issues.insert(number)),
            Mention::User(name) if usernames.len() < MAX_MENTIONED => drop(usernames.insert(name.to_ascii_lowercase())),
            _ => {}
        }
    }
    if actor.user_id().is_none() {
        usernames.clear();
    }
    if !access::is_authorized(actor, project, ProjectAction::ReadIssues) {
        issues.clear();
    }
    if issues.is_empty() && usernames.is_empty() {
        return Ok(Mentioned::default());
    }
    let (issues, usernames): (Vec<i64>, Vec<String>) = (issues.into_iter().collect(), usernames.into_iter().collect());
    let mut connection = app.database.connection().await?;
    Ok(mention::find(&mut connection, project.id, confidential_access(actor, project), &issues, &usernames).await?)
}
