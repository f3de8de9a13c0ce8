//! Todos of users: issues and merge requests that need their attention.
//!
//! They are created and completed in the transactions of the changes that they come from. Who acts on a target has dealt
//! with it: comments, updates, merges and pushes complete the own todo.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{NoteId, ProjectId, TodoId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::{Mention, TodoAction, find_mentions};
use holdfast_store::Connection;
use holdfast_store::merge_requests::merge_request::{self, MergeRequest};
use holdfast_store::planning::issue::{self, Issue};
use holdfast_store::planning::todo::{self, NewTodo};
use holdfast_store::planning::todo_list;
use holdfast_store::projects::project;

pub use holdfast_store::planning::todo::{Filter, TargetKind};
pub use holdfast_store::planning::todo_list::TodoRow;

use super::note::{self, NoteTarget};
use super::system_note::CommonAttributes;
use crate::accounts::user::{UserSummary, lock_author};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// What a todo is about.
#[derive(Debug)]
pub enum TodoTarget {
    Issue(Box<Issue>),
    MergeRequest(Box<MergeRequest>),
}

/// A todo with its project and its target, as it is now.
#[derive(Debug)]
pub struct Todo {
    pub id: TodoId,
    pub project: Project,
    pub target: TodoTarget,
    pub action: TodoAction,
    /// The user whose action it comes from.
    pub author: UserSummary,
    /// The note that mentions the user, with its text.
    pub note: Option<(NoteId, String)>,
    pub is_done: bool,
    pub created_at: DateTime<Utc>,
}

/// Lists the todos of the current user, newest first, without those whose target the user may not read any more.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, filter: &Filter, page: PageRequest) -> Result<Page<Todo>> {
    let user = access::authorize_own_account(actor)?.account.id();
    let page = todo::list(&app.database, user, filter, app.today(), page).await?;
    let mut connection = app.database.connection().await?;
    let items = load(&mut connection, user, &page.items).await?;
    Ok(Page { items, request: page.request, total: page.total, has_next: page.has_next })
}

/// Like [`list`], but with what a row of a list shows instead of the whole targets.
#[crate::boxed]
pub async fn list_rows(app: &App, actor: &Actor, filter: &Filter, page: PageRequest) -> Result<Page<TodoRow>> {
    let user = access::authorize_own_account(actor)?.account.id();
    Ok(todo_list::list(&mut *app.database.connection().await?, user, filter, app.today(), page).await?)
}

/// Loads the projects and targets of todos, with one statement for each kind. A todo whose target was deleted meanwhile is
/// left out.
async fn load(connection: &mut Connection, user: UserId, todos: &[todo::Todo]) -> Result<Vec<Todo>> {
    let (mut issue_ids, mut request_ids) = (Vec::new(), Vec::new());
    for target in todos.iter().filter_map(todo::Todo::target) {
        match target {
            NoteTarget::Issue(id) => issue_ids.push(id),
            NoteTarget::MergeRequest(id) => request_ids.push(id),
        }
    }
    let issues = issue::find_many(connection, &issue_ids, user).await?;
    let requests = merge_request::find_many(connection, &request_ids, user).await?;
    let projects = issues.iter().map(|it| it.project_id).chain(requests.iter().map(|it| it.project_id));
    let projects: Vec<ProjectId> = projects.collect::<BTreeSet<_>>().into_iter().collect();
    let projects = project::find_many(connection, &projects).await?;
    let load_one = |todo: &todo::Todo| {
        let (project, target) = match todo.target()? {
            NoteTarget::Issue(id) => {
                let issue = issues.iter().find(|issue| issue.id == id)?.clone();
                (issue.project_id, TodoTarget::Issue(Box::new(issue)))
            }
            NoteTarget::MergeRequest(id) => {
                let request = requests.iter().find(|request| request.id == id)?.clone();
                (request.project_id, TodoTarget::MergeRequest(Box::new(request)))
            }
        };
        Some(Todo {
            id: todo.id,
            project: projects.iter().find(|it| it.id == project)?.clone(),
            target,
            action: todo.action,
            author: todo.author.clone(),
            note: todo.note().map(|(id, body)| (id, body.to_owned())),
            is_done: todo.done,
            created_at: todo.created_at,
        })
    };
    Ok(todos.iter().filter_map(load_one).collect())
}

async fn find(app: &App, connection: &mut Connection, user: UserId, id: TodoId) -> Result<Todo> {
    let found = todo::find(connection, user, id, app.today()).await?;
    let loaded = load(connection, user, found.as_slice()).await?;
    loaded.into_iter().next().ok_or(Error::NotFound(Resource::Record))
}

/// Creates a todo of the current user. Returns None if there is a pending one for the same target.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, target: NoteTarget) -> Result<Option<Todo>> {
    let mut transaction = app.database.begin().await?;
    let action = note::write_action(target);
    let project = access::authorize_project(app, &mut transaction, actor, project, action).await?;
    note::find_noteable(&mut transaction, actor, &project, target).await?;
    let author = lock_author(&mut transaction, actor).await?;
    let new = NewTodo { target, note: None, author, action: TodoAction::Marked };
    let Some(id) = todo::insert(&mut transaction, author, new, app.clock.now()).await? else { return Ok(None) };
    let created = find(app, &mut transaction, author, id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(Some(created))
}

/// Completes a todo of the current user, and returns it. One that is done already stays done.
#[crate::boxed]
pub async fn complete_one(app: &App, actor: &Actor, id: TodoId) -> Result<Todo> {
    let user = access::authorize_own_account(actor)?.account.id();
    let mut connection = app.database.connection().await?;
    let found = find(app, &mut connection, user, id).await?;
    todo::complete_one(&mut connection, user, id).await?;
    Ok(Todo { is_done: true, ..found })
}

/// Completes the todos of the current user that the list shows, and returns their number.
#[crate::boxed]
pub async fn complete_all(app: &App, actor: &Actor, filter: &Filter) -> Result<u64> {
    let user = access::authorize_own_account(actor)?.account.id();
    Ok(todo::complete_all(&mut *app.database.connection().await?, user, filter, app.today()).await?)
}

/// Completes the todo of the author of a change, and creates those of a new assignee and of the users whom the changed
/// texts mention for the first time. `before` is None for a new issue or merge request.
pub(crate) async fn update(
    app: &App,
    connection: &mut Connection,
    author: UserId,
    project: ProjectId,
    target: NoteTarget,
    before: Option<CommonAttributes<'_>>,
    after: CommonAttributes<'_>,
) -> Result<()> {
    if before.is_some() {
        todo::complete(connection, author, target).await?;
    }
    let assignee = after.assignee.map(|assignee| assignee.id);
    let previous_assignee = before.and_then(|it| it.assignee).map(|assignee| assignee.id);
    if let Some(assignee) = assignee.filter(|assignee| Some(*assignee) != previous_assignee) {
        let new = NewTodo { target, note: None, author, action: TodoAction::Assigned };
        todo::insert(connection, assignee, new, app.clock.now()).await?;
    }
    let texts = |it: CommonAttributes<'_>| format!("{}\n{}", it.title, it.description.unwrap_or_default());
    let new = NewTodo { target, note: None, author, action: TodoAction::Mentioned };
    create_for_mentioned(app, connection, project, new, &before.map(texts).unwrap_or_default(), &texts(after)).await
}

/// Completes the todo of the author of a note, and creates those of the users whom it mentions and did not mention before.
pub(super) async fn update_for_note(
    app: &App,
    connection: &mut Connection,
    author: UserId,
    project: ProjectId,
    note: &note::Note,
    body_before: &str,
) -> Result<()> {
    let target = note.target();
    todo::complete(connection, author, target).await?;
    let new = NewTodo { target, note: Some(note.id), author, action: TodoAction::Mentioned };
    create_for_mentioned(app, connection, project, new, body_before, &note.body).await
}

async fn create_for_mentioned(
    app: &App,
    connection: &mut Connection,
    project: ProjectId,
    new: NewTodo,
    text_before: &str,
    text: &str,
) -> Result<()> {
    let mentioned_before = mentioned_usernames(text_before);
    let usernames: Vec<String> = mentioned_usernames(text).difference(&mentioned_before).cloned().collect();
    if usernames.is_empty() {
        return Ok(());
    }
    let (today, now) = (app.today(), app.clock.now());
    Ok(todo::insert_for_usernames(connection, project, &usernames, new, today, now).await?)
}

/// Returns the names of users that a text mentions, in lower case.
fn mentioned_usernames(text: &str) -> BTreeSet<String> {
    let username = |mention: Mention<'_>| match mention {
        Mention::User(name) => Some(name.to_ascii_lowercase()),
        Mention::Issue(_) => None,
    };
    find_mentions(text).into_iter().filter_map(|found| username(found.mention)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usernames_are_found_once_in_any_case() {
        let expected = BTreeSet::from(["ada".to_owned(), "bob".to_owned()]);
        assert_eq!(mentioned_usernames("@Ada, @bob and @ADA, but not #7 or a@b"), expected);
    }
}
