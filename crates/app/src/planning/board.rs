//! A project's board: its lists, each the issues with one label, and moving issues between them.

use holdfast_domain::Violations;
use holdfast_domain::ids::{BoardId, BoardListId, IssueId, LabelId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::violations::TAKEN;
use holdfast_store::Connection;
use holdfast_store::planning::{board_list, label};

pub use holdfast_store::planning::board_list::BoardList;

use super::issue::{self, Issue};
use super::issue_change::Changed;
use super::issue_list;
use super::sight;
use crate::error::OnConstraint;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Result, Thing, access};

pub struct Board {
    pub id: BoardId,
    pub lists: Vec<BoardList>,
}

/// The one of the project.
fn id_of(project: &Project) -> BoardId {
    project.id.get().into()
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Board> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadBoards).await?;
    Ok(Board { id: id_of(&project), lists: board_list::all(&mut connection, project.id).await? })
}

pub async fn lists(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    page: PageRequest,
) -> Result<Page<BoardList>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadBoards).await?;
    drop(connection);
    check(&project, board)?;
    Ok(board_list::list(&app.database, project.id, page).await?)
}

fn check(project: &Project, board: BoardId) -> Result<()> {
    if board == id_of(project) { Ok(()) } else { Err(Error::NotFound(Thing::Board)) }
}

async fn find(connection: &mut Connection, project: &Project, id: BoardListId) -> Result<BoardList> {
    board_list::find(connection, project.id, id).await?.ok_or(Error::NotFound(Thing::Record))
}

pub async fn show_list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    id: BoardListId,
) -> Result<BoardList> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadBoards).await?;
    check(&project, board)?;
    find(&mut connection, &project, id).await
}

/// At the right end of the board. That there is no such label is told before who may do this, as existing clients know it.
pub async fn create_list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    label: LabelId,
) -> Result<BoardList> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::ReadBoards).await?;
    check(&project, board)?;
    if !label::exists(&mut transaction, project.id, label).await? {
        return Err(Error::RefusedWith("Label not found!"));
    }
    let project = ProjectRef::Id(project.id);
    let project =
        access::locked_project(app, &mut transaction, actor, &project, ProjectAction::ManageBoardLists).await?;
    let id = board_list::insert(&mut transaction, project.id, label, app.clock.now())
        .await
        .on_constraint("board_lists_label_id_fkey", || Error::RefusedWith("Label not found!"))
        .on_constraint("board_lists_label_key", || Violations::of("label_id", TAKEN).into())?;
    let made = find(&mut transaction, &project, id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(made)
}

/// To another place among the lists there are.
pub async fn move_list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    id: BoardListId,
    position: i32,
) -> Result<BoardList> {
    let mut transaction = app.database.begin().await?;
    let project =
        access::locked_project(app, &mut transaction, actor, project, ProjectAction::ManageBoardLists).await?;
    check(&project, board)?;
    let list = find(&mut transaction, &project, id).await?;
    let count = board_list::count(&mut transaction, project.id).await?;
    if !(0..count).contains(&position) {
        return Err(Error::RefusedWith("List could not be moved!"));
    }
    board_list::set_position(&mut transaction, project.id, id, list.position, position).await?;
    holdfast_store::commit(transaction).await?;
    Ok(BoardList { position, ..list })
}

/// As it was.
pub async fn delete_list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    id: BoardListId,
) -> Result<BoardList> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::DeleteBoardList).await?;
    check(&project, board)?;
    let list = find(&mut transaction, &project, id).await?;
    board_list::delete(&mut transaction, project.id, id, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(list)
}

/// The open issues in a list.
pub async fn cards(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    list: BoardListId,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    check(&project, board)?;
    let list = find(&mut connection, &project, list).await?;
    issue_list::of_label(app, &mut connection, actor, &project, list.label_id, page).await
}

/// From one list to another: its label follows. None is the backlog, where issues are that are in no list.
pub async fn move_card(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    id: IssueId,
    from: Option<BoardListId>,
    to: Option<BoardListId>,
) -> Result<Issue> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::ManageIssues).await?;
    check(&project, board)?;
    let issue = sight::find(&mut transaction, actor, &project, id).await?;
    let mut labels = label::of_issue(&mut transaction, issue.id).await?;
    if let Some(from) = from {
        let from = find(&mut transaction, &project, from).await?;
        labels.retain(|(id, _)| *id != from.label_id);
    }
    if let Some(to) = to {
        let to = find(&mut transaction, &project, to).await?;
        labels.retain(|(id, _)| *id != to.label_id);
        labels.push((to.label_id, to.title));
    }
    let after = Changed { attributes: (&issue).into(), labels: Some(labels), commit: None };
    issue::save(app, transaction, actor, &project, issue, after, app.clock.now()).await
}
