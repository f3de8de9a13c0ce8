//! The board of a project: its lists, each of which shows the issues with one label, and moving issues between them.

use holdfast_domain::Violations;
use holdfast_domain::ids::{BoardId, BoardListId, IssueId, LabelId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::violations::TAKEN;
use holdfast_store::Connection;
use holdfast_store::planning::board_list;
use holdfast_store::planning::label::{self, TitledLabel};

pub use holdfast_store::planning::board_list::BoardList;

use super::issue::{self, Issue};
use super::issue_list;
use super::issue_update::IssueUpdate;
use super::issue_visibility;
use crate::error::OnConstraint;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

pub struct Board {
    pub id: BoardId,
    pub lists: Vec<BoardList>,
}

/// Returns the id of a project's only board, which equals the id of the project.
fn board_id(project: &Project) -> BoardId {
    project.id.get().into()
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Board> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBoards).await?;
    Ok(Board { id: board_id(&project), lists: board_list::list_all(&mut connection, project.id).await? })
}

#[crate::boxed]
pub async fn list_lists(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    page: PageRequest,
) -> Result<Page<BoardList>> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadBoards).await?;
    check(&project, board)?;
    Ok(board_list::list(&app.database, project.id, page).await?)
}

fn check(project: &Project, board: BoardId) -> Result<()> {
    if board == board_id(project) { Ok(()) } else { Err(Error::NotFound(Resource::Board)) }
}

async fn find_list(connection: &mut Connection, project: &Project, id: BoardListId) -> Result<BoardList> {
    board_list::find(connection, project.id, id).await?.ok_or(Error::NotFound(Resource::Record))
}

#[crate::boxed]
pub async fn show_list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    id: BoardListId,
) -> Result<BoardList> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBoards).await?;
    check(&project, board)?;
    find_list(&mut connection, &project, id).await
}

/// Appends a list at the right end of the board. A missing label is reported before missing permission, as existing
/// clients expect.
#[crate::boxed]
pub async fn create_list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    label: LabelId,
) -> Result<BoardList> {
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::ReadBoards).await?;
    check(&project, board)?;
    if !label::exists(&mut transaction, project.id, label).await? {
        return Err(Error::RejectedWith("Label not found!"));
    }
    let project = ProjectRef::Id(project.id);
    let project = access::lock_project(app, &mut transaction, actor, &project, ProjectAction::ManageBoardLists).await?;
    let id = board_list::insert(&mut transaction, project.id, label, app.clock.now())
        .await
        .on_constraint("board_lists_label_id_fkey", || Error::RejectedWith("Label not found!"))
        .on_constraint("board_lists_label_key", || Violations::single("label_id", TAKEN).into())?;
    let created = find_list(&mut transaction, &project, id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(created)
}

/// Moves a list to another position on the board.
#[crate::boxed]
pub async fn move_list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    id: BoardListId,
    position: i32,
) -> Result<BoardList> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageBoardLists).await?;
    check(&project, board)?;
    let list = find_list(&mut transaction, &project, id).await?;
    let count = board_list::count(&mut transaction, project.id).await?;
    if !(0..count).contains(&position) {
        return Err(Error::RejectedWith("List could not be moved!"));
    }
    board_list::set_position(&mut transaction, project.id, id, list.position, position).await?;
    holdfast_store::commit(transaction).await?;
    Ok(BoardList { position, ..list })
}

/// Deletes a board list and returns it as it was before.
#[crate::boxed]
pub async fn delete_list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    id: BoardListId,
) -> Result<BoardList> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::DeleteBoardList).await?;
    check(&project, board)?;
    let list = find_list(&mut transaction, &project, id).await?;
    board_list::delete(&mut transaction, project.id, id, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(list)
}

/// Lists the open issues of a board list.
#[crate::boxed]
pub async fn list_issues(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    list: BoardListId,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    check(&project, board)?;
    let list = find_list(&mut connection, &project, list).await?;
    issue_list::list_for_label(app, &mut connection, actor, &project, list.label_id, page).await
}

/// Moves an issue from one list to another by changing its labels. None stands for the backlog: the issues that are in
/// no list.
#[crate::boxed]
pub async fn move_between_lists(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: BoardId,
    id: IssueId,
    from: Option<BoardListId>,
    to: Option<BoardListId>,
) -> Result<Issue> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageIssues).await?;
    check(&project, board)?;
    let issue = issue_visibility::find_visible(&mut transaction, actor, &project, id).await?;
    let mut labels = label::list_for_issue(&mut transaction, issue.id).await?;
    if let Some(from) = from {
        let from = find_list(&mut transaction, &project, from).await?;
        labels.retain(|label| label.id != from.label_id);
    }
    if let Some(to) = to {
        let to = find_list(&mut transaction, &project, to).await?;
        labels.retain(|label| label.id != to.label_id);
        labels.push(TitledLabel { id: to.label_id, title: to.title });
    }
    let after = IssueUpdate { attributes: (&issue).into(), labels: Some(labels), commit: None };
    issue::save(app, transaction, actor, &project, issue, after, app.clock.now()).await
}
