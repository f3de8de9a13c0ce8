//! The board of a project: its lists, each of which shows the issues with one label, and moving issues between them.

use std::collections::BTreeSet;

use holdfast_domain::Violations;
use holdfast_domain::ids::{BoardId, BoardListId, IssueId, LabelId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::violations::{BLANK, TAKEN};
use holdfast_store::planning::board::{self, CardRange};
use holdfast_store::planning::board_list;
use holdfast_store::planning::label;
use holdfast_store::{Connection, Transaction};

pub use holdfast_store::planning::board::BoardCard;
pub use holdfast_store::planning::board_list::BoardList;
pub use holdfast_store::planning::label::TitledLabel;

use super::issue::{self, Issue};
use super::issue_list;
use super::issue_update::IssueUpdate;
use super::issue_visibility;
use super::label::{Label, list_by_titles};
use crate::error::OnConstraint;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

pub struct Board {
    pub id: BoardId,
    pub project: Project,
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
    let lists = board_list::list_all(&mut connection, project.id).await?;
    Ok(Board { id: board_id(&project), project, lists })
}

/// Like [`show`], but fails if the board does not have this id.
#[crate::boxed]
pub async fn show_by_id(app: &App, actor: &Actor, project: &ProjectRef, id: BoardId) -> Result<Board> {
    let board = show(app, actor, project).await?;
    check(&board.project, id)?;
    Ok(board)
}

/// Maximum number of lists on the page of a board. Arbitrary.
pub const MAX_SHOWN_LISTS: i32 = 20;
/// Maximum number of cards that the page of a board shows for a list. Arbitrary.
pub const MAX_SHOWN_CARDS: usize = 30;
/// Maximum number of labels that are offered for new lists. Arbitrary.
const MAX_OFFERED_LABELS: i64 = 100;

/// A board with what its page shows.
#[derive(Debug)]
pub struct BoardWithIssues {
    pub project: Project,
    /// The first lists from left to right, at most [`MAX_SHOWN_LISTS`].
    pub lists: Vec<BoardList>,
    /// The newest issues of the backlog and of each list: one more than [`MAX_SHOWN_CARDS`], if there are more.
    pub cards: Vec<BoardCard>,
    /// The labels of the lists and of the cards, with the numbers of their issues.
    pub labels: Vec<Label>,
    /// The first labels without a list, if the current user may add lists.
    pub free_labels: Vec<TitledLabel>,
}

/// Returns the board with the first issues of each list.
#[crate::boxed]
pub async fn show_with_issues(app: &App, actor: &Actor, project: &ProjectRef) -> Result<BoardWithIssues> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    let mut lists = board_list::list_all(&mut connection, project.id).await?;
    lists.retain(|list| list.position < MAX_SHOWN_LISTS);
    let range = CardRange { lists: MAX_SHOWN_LISTS, cards_per_list: MAX_SHOWN_CARDS as i64 + 1 };
    let access_to_confidential = issue_visibility::confidential_access(actor, &project);
    let cards = board::list_cards(&mut connection, project.id, access_to_confidential, range).await?;
    let of_cards = cards.iter().flat_map(|card| &card.labels);
    let titles: BTreeSet<&str> = lists.iter().map(|list| &list.title).chain(of_cards).map(String::as_str).collect();
    let titles: Vec<&str> = titles.into_iter().collect();
    let labels = list_by_titles(&mut connection, actor, &project, &titles).await?;
    let free_labels = match access::is_authorized(actor, &project, ProjectAction::ManageBoardLists) {
        true => label::list_without_board_list(&mut connection, project.id, MAX_OFFERED_LABELS).await?,
        false => Vec::new(),
    };
    Ok(BoardWithIssues { project, lists, cards, labels, free_labels })
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

/// Appends lists for these labels at the right end of the board. Fails if one of the labels has a list already, or if
/// there are more labels than [`MAX_SHOWN_LISTS`].
#[crate::boxed]
pub async fn create_lists(app: &App, actor: &Actor, project: &ProjectRef, labels: &[LabelId]) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageBoardLists).await?;
    if labels.is_empty() {
        return Err(Violations::single("label", BLANK).into());
    }
    if labels.len() > MAX_SHOWN_LISTS as usize {
        return Err(Violations::single("label", format!("has too many values (maximum is {MAX_SHOWN_LISTS})")).into());
    }
    for label in labels {
        if !label::exists(&mut transaction, project.id, *label).await? {
            return Err(Error::RejectedWith("Label not found!"));
        }
        board_list::insert(&mut transaction, project.id, *label, app.clock.now())
            .await
            .on_constraint("board_lists_label_key", || Violations::single("label", TAKEN).into())?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(())
}

/// Moves a list to another position on the board. Without a board, the only one of the project is meant.
#[crate::boxed]
pub async fn move_list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: Option<BoardId>,
    id: BoardListId,
    position: i32,
) -> Result<BoardList> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageBoardLists).await?;
    board.map_or(Ok(()), |board| check(&project, board))?;
    let list = find_list(&mut transaction, &project, id).await?;
    let count = board_list::count(&mut transaction, project.id).await?;
    if !(0..count).contains(&position) {
        return Err(Error::RejectedWith("List could not be moved!"));
    }
    board_list::set_position(&mut transaction, project.id, id, list.position, position).await?;
    holdfast_store::commit(transaction).await?;
    Ok(BoardList { position, ..list })
}

/// Deletes a board list and returns it as it was before. Without a board, the only one of the project is meant.
#[crate::boxed]
pub async fn delete_list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    board: Option<BoardId>,
    id: BoardListId,
) -> Result<BoardList> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::DeleteBoardList).await?;
    board.map_or(Ok(()), |board| check(&project, board))?;
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
    move_locked(app, transaction, actor, &project, id, ListMove { from, to }).await
}

/// The lists that an issue is moved from and to. None stands for the backlog.
#[derive(Clone, Copy, Debug)]
pub struct ListMove {
    pub from: Option<BoardListId>,
    pub to: Option<BoardListId>,
}

/// Like [`move_between_lists`], for an issue by its number within the project, and its only board.
#[crate::boxed]
pub async fn move_issue(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    list_move: ListMove,
) -> Result<Issue> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageIssues).await?;
    let id = holdfast_store::planning::issue::find_id(&mut transaction, project.id, iid).await?;
    let id = id.ok_or(Error::NotFound(Resource::Issue))?;
    move_locked(app, transaction, actor, &project, id, list_move).await
}

/// Moves an issue and commits. The caller holds the lock of the project.
async fn move_locked(
    app: &App,
    mut transaction: Transaction,
    actor: &Actor,
    project: &Project,
    id: IssueId,
    ListMove { from, to }: ListMove,
) -> Result<Issue> {
    let issue = issue_visibility::find_visible(&mut transaction, actor, project, id).await?;
    let mut labels = label::list_for_issue(&mut transaction, issue.id).await?;
    if let Some(from) = from {
        let from = find_list(&mut transaction, project, from).await?;
        labels.retain(|label| label.id != from.label_id);
    }
    if let Some(to) = to {
        let to = find_list(&mut transaction, project, to).await?;
        labels.retain(|label| label.id != to.label_id);
        labels.push(TitledLabel { id: to.label_id, title: to.title });
    }
    let after = IssueUpdate { attributes: (&issue).into(), labels: Some(labels), commit: None };
    issue::save(app, transaction, actor, project, issue, after, app.clock.now()).await
}
