//! The names in a line of the filter language, and the labels of a list. Lists of issues and of merge requests share them.

use std::collections::BTreeSet;

use holdfast_domain::Field;
use holdfast_domain::ids::{MilestoneId, UserId};
use holdfast_domain::planning::{ListQuery, MilestoneFilter, PersonFilter};
use holdfast_store::Connection;
use holdfast_store::planning::label::{self, TitledLabel};
use holdfast_store::planning::milestone;

use super::assignee;
use super::issue_form::FormChoices;
use super::label::{Label, list_by_titles};
use crate::projects::project::Project;
use crate::{Actor, App, Result};

/// What the names in a query refer to.
pub(crate) struct ResolvedNames {
    /// The labels that are required or excluded.
    pub labels: Vec<TitledLabel>,
    pub milestone: Option<MilestoneId>,
    /// The assignee. Null means that there is none.
    pub assignee: Field<UserId>,
    pub author: Option<UserId>,
}

/// Finds what the names in a query refer to, and reports those that do not exist. Returns None if nothing can fulfill the
/// query.
pub(crate) async fn resolve(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    query: &ListQuery,
    problems: &mut Vec<String>,
) -> Result<Option<ResolvedNames>> {
    let titles: Vec<&str> = query.labels.iter().chain(&query.excluded_labels).map(String::as_str).collect();
    let labels = match titles.is_empty() {
        true => Vec::new(),
        false => label::find_by_titles(connection, project.id, &titles).await?,
    };
    let missing: Vec<&&str> = titles.iter().filter(|title| labels.iter().all(|label| label.title != **title)).collect();
    problems.extend(missing.iter().map(|title| format!("There is no label \u{201c}{title}\u{201d}.")));
    let milestone = match &query.milestone {
        None | Some(MilestoneFilter::Missing) => None,
        Some(MilestoneFilter::Title(title)) => match milestone::find_id(connection, project.id, title).await? {
            None => {
                problems.push(format!("There is no milestone \u{201c}{title}\u{201d}."));
                return Ok(None);
            }
            found => found,
        },
    };
    let assignee = find_person(connection, actor, query.assignee.as_ref()).await?;
    let author = find_person(connection, actor, query.author.as_ref()).await?;
    let (Some(assignee), Some(author)) = (assignee, author) else { return Ok(None) };
    let has_required = query.labels.iter().all(|title| labels.iter().any(|label| label.title == *title));
    Ok(has_required.then(|| ResolvedNames { labels, milestone, assignee, author: author.value() }))
}

/// Finds a person of a query. Returns None if there is no such user; the page does not say so, because not every viewer
/// may know which usernames exist.
async fn find_person(
    connection: &mut Connection,
    actor: &Actor,
    person: Option<&PersonFilter>,
) -> Result<Option<Field<UserId>>> {
    let found = match person {
        None => return Ok(Some(Field::Absent)),
        Some(PersonFilter::Missing) => return Ok(Some(Field::Null)),
        Some(PersonFilter::Viewer) => actor.user_id(),
        Some(PersonFilter::Username(username)) => assignee::find_by_name(connection, actor, username).await?,
    };
    Ok(found.map(Field::Value))
}

/// Loads the labels among these titles that are not among the choices of the page.
pub(crate) async fn load_other_labels<'a>(
    app: &App,
    actor: &Actor,
    project: &Project,
    choices: &FormChoices,
    titles: impl Iterator<Item = &'a String>,
) -> Result<Vec<Label>> {
    let titles: BTreeSet<&str> = titles.map(String::as_str).collect();
    let is_known = |title: &str| choices.labels.iter().any(|label| label.title == title);
    let titles: Vec<&str> = titles.into_iter().filter(|title| !is_known(title)).collect();
    match titles.is_empty() {
        true => Ok(Vec::new()),
        false => list_by_titles(&mut *app.database.connection().await?, actor, project, &titles).await,
    }
}
