//! The board of a project: its lists with their issues, and the forms that move cards and change lists.

use holdfast_app::live::Watch;
use holdfast_app::planning::board::{self, ListMove};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::{Error, Resource};
use holdfast_domain::Violations;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::violations::BLANK;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::flash::FlashCode;
use crate::live::{self, Event, LiveSource, Update};
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::planning::board::{BoardPart, RenderedBoard, board_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadIssues);
    let move_cards = Access::Project(ProjectAction::ManageIssues);
    let manage = Access::Project(ProjectAction::ManageBoardLists);
    let delete = Access::Project(ProjectAction::DeleteBoardList);
    pages.get("/:namespace/:project/board", read, Cost::Normal, "Board", show).api("GET /projects/:id/boards");
    pages.get("/:namespace/:project/board/live", read, Cost::Normal, "Changes of the board", follow);
    pages
        .post("/:namespace/:project/board/move", move_cards, Cost::Cheap, "Move an issue", move_card)
        .api("PUT /projects/:id/boards/:board_id/issues/:issue_id");
    pages
        .post("/:namespace/:project/board/lists", manage, Cost::Cheap, "Add lists", create_lists)
        .api("POST /projects/:id/boards/:board_id/lists");
    pages
        .post("/:namespace/:project/board/lists/:id/move", manage, Cost::Cheap, "Move a list", move_list)
        .api("PUT /projects/:id/boards/:board_id/lists/:list_id");
    pages
        .post("/:namespace/:project/board/lists/:id/delete", delete, Cost::Cheap, "Delete a list", delete_list)
        .api("DELETE /projects/:id/boards/:board_id/lists/:list_id");
}

params! {
    struct FollowBoard {
        flatten project: ProjectPathParams,
        /// The digest of the board that the browser shows.
        optional from: String,
    }
}

params! {
    struct MoveCard {
        flatten project: ProjectPathParams,
        /// The number of the issue.
        optional issue: i64,
        /// The list that the card leaves; none for the backlog.
        optional from: i64,
        /// The list that the card enters; none for the backlog.
        optional to: i64,
    }
}

params! {
    struct CreateLists {
        flatten project: ProjectPathParams,
        /// The ids of labels.
        list labels: i64,
    }
}

params! {
    struct MoveList {
        flatten project: ProjectPathParams,
        required id: i64,
        optional position: i32,
    }
}

params! {
    struct OneList {
        flatten project: ProjectPathParams,
        required id: i64,
    }
}

async fn show(context: RequestContext, project: ProjectPathParams) -> PageResult {
    let found = board::show_with_issues(context.app(), &context.actor, &project.reference()).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    let part = BoardPart::new(&found, abilities, context.now());
    let rendered = render(&part)?;
    respond::html(&board_page(layout, &found.project, abilities, &part, rendered))
}

/// Renders the board. Fails only if a value cannot be formatted.
fn render(part: &BoardPart) -> Result<RenderedBoard, PageError> {
    part.render().map_err(|error| PageError::App(Error::Internal(error.into())))
}

/// The changes of a board as its viewer sees it.
struct BoardSource {
    project: ProjectRef,
    /// The board that the browser shows: the digest of the whole, and those of its columns after the first update.
    shown: Option<String>,
    columns: Vec<(String, String)>,
}

impl LiveSource for BoardSource {
    async fn update(&mut self, context: &RequestContext) -> Result<Update, PageError> {
        let found = board::show_with_issues(context.app(), &context.actor, &self.project).await?;
        let abilities = Abilities::new(&found.project, &context.actor);
        let part = BoardPart::new(&found, abilities, context.now());
        let rendered = render(&part)?;
        let digest = rendered.digest();
        let is_unchanged = self.shown.as_ref() == Some(&digest);
        if is_unchanged && !self.columns.is_empty() {
            return Ok(Update::default());
        }
        let before = std::mem::replace(&mut self.columns, rendered.column_digests());
        if is_unchanged {
            return Ok(Update::default());
        }
        self.shown = Some(digest.clone());
        let html = rendered.changed_since(&before, &self.columns);
        let event = Event { id: Some(digest), ..Event::new("part", html) };
        Ok(Update { events: vec![event], ..Update::default() })
    }
}

async fn follow(context: RequestContext, FollowBoard { project, from }: FollowBoard) -> PageResult {
    let reference = project.reference();
    let found = board::show(context.app(), &context.actor, &reference).await?;
    let shown = context.info.last_event_id.clone().or(from);
    let source = BoardSource { project: reference, shown, columns: Vec::new() };
    live::respond(context, Watch::Board(found.id), project.links().board(), source).await
}

async fn move_card(context: RequestContext, params: MoveCard) -> PageResult {
    let list_move = ListMove { from: params.from.map(Into::into), to: params.to.map(Into::into) };
    let reference = params.project.reference();
    let iid = params.issue.unwrap_or_default();
    let moved = board::move_issue(context.app(), &context.actor, &reference, iid, list_move).await;
    let issue = moved.map_err(|error| match error {
        Error::NotFound(Resource::Issue) if params.issue.is_none() => Violations::single("issue", BLANK).into(),
        error => error,
    })?;
    let links = ProjectLinks::new(&issue.project_path);
    Ok(respond::see_other(links.board()).with_flash(FlashCode::CardMoved))
}

async fn create_lists(context: RequestContext, CreateLists { project, labels }: CreateLists) -> PageResult {
    let labels: Vec<_> = labels.into_iter().map(Into::into).collect();
    board::create_lists(context.app(), &context.actor, &project.reference(), &labels).await?;
    Ok(respond::see_other(project.links().board()).with_flash(FlashCode::BoardListsAdded))
}

async fn move_list(context: RequestContext, MoveList { project, id, position }: MoveList) -> PageResult {
    // No list has a negative position, so a form without one is rejected.
    let position = position.unwrap_or(-1);
    let reference = project.reference();
    board::move_list(context.app(), &context.actor, &reference, None, id.into(), position).await?;
    Ok(respond::see_other(project.links().board()).with_flash(FlashCode::BoardListMoved))
}

async fn delete_list(context: RequestContext, OneList { project, id }: OneList) -> PageResult {
    board::delete_list(context.app(), &context.actor, &project.reference(), None, id.into()).await?;
    Ok(respond::see_other(project.links().board()).with_flash(FlashCode::BoardListDeleted))
}
