use axum::http::Method;
use chrono::{DateTime, Utc};
use holdfast_app::planning::note::{self, NoteKind, NoteOrder, NoteSelection};
use holdfast_domain::ids::NoteId;
use holdfast_domain::policy::ProjectAction::{CreateIssue, ReadIssues};

use super::ApiResult;
use super::issues::OneIssue;
use super::issues::list_params::OrderBy;
use super::projects::Sort;
use crate::params::Unsupported;
use crate::present::v4::note::{NoteDetail, present_note};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    pub enum Activity { All = "all_notes", Comments = "only_comments", System = "only_activity" }
}

params! {
    /// The order and the kind of the notes in a list.
    pub struct SelectionParams {
        /// Sort direction, `desc` by default.
        optional sort: Sort,
        /// Sort key, `created_at` by default, which is the order in which the notes were written.
        optional order_by: OrderBy,
        /// Only notes of users, or only system notes. `all_notes` by default.
        optional activity_filter: Activity,
    }
}

impl SelectionParams {
    pub fn into_selection(self) -> NoteSelection {
        NoteSelection {
            kind: match self.activity_filter.unwrap_or(Activity::All) {
                Activity::All => NoteKind::All,
                Activity::Comments => NoteKind::Comment,
                Activity::System => NoteKind::System,
            },
            order: match (self.order_by.unwrap_or(OrderBy::CreatedAt), self.sort.unwrap_or(Sort::Descending)) {
                (OrderBy::CreatedAt, Sort::Ascending) => NoteOrder::OldestFirst,
                (OrderBy::CreatedAt, Sort::Descending) => NoteOrder::NewestFirst,
                (OrderBy::UpdatedAt, Sort::Ascending) => NoteOrder::LeastRecentlyUpdated,
                (OrderBy::UpdatedAt, Sort::Descending) => NoteOrder::LastUpdated,
            },
        }
    }
}

params! {
    struct ListNotes {
        flatten issue: OneIssue,
        flatten selection: SelectionParams,
    }
}

async fn list(context: RequestContext, params: ListNotes) -> ApiResult<PageBody<NoteDetail>> {
    let target = params.issue.find_target(&context).await?;
    let (actor, selection) = (&context.actor, params.selection.into_selection());
    let page = note::list(context.app(), actor, &params.issue.id, target, selection, context.page).await?;
    Ok(PageBody(page.map(|note| present_note(note, context.site()))))
}

params! {
    struct OneNote {
        flatten issue: OneIssue,
        required note_id: NoteId,
    }
}

async fn show(context: RequestContext, params: OneNote) -> ApiResult<Body<NoteDetail>> {
    let target = params.issue.find_target(&context).await?;
    let note = note::show(context.app(), &context.actor, &params.issue.id, target, params.note_id).await?;
    Ok(Body(present_note(note, context.site())))
}

params! {
    pub struct NewNoteParams {
        /// Text of the note.
        required body: String,
        /// Time of creation. Ignored unless the current user is an owner of the project.
        optional created_at: DateTime<Utc>,
        /// Must be false: there are no notes that only members see.
        optional internal: Unsupported,
        /// The older name of `internal`.
        optional confidential: Unsupported,
    }
}

params! {
    struct CreateNote {
        flatten issue: OneIssue,
        flatten note: NewNoteParams,
    }
}

async fn create(context: RequestContext, params: CreateNote) -> ApiResult<Created<NoteDetail>> {
    let target = params.issue.find_target(&context).await?;
    let NewNoteParams { body, created_at, .. } = params.note;
    let note = note::create(context.app(), &context.actor, &params.issue.id, target, &body, created_at).await?;
    Ok(Created(present_note(note, context.site())))
}

params! {
    struct UpdateNote {
        flatten note: OneNote,
        /// Text of the note.
        required body: String,
    }
}

async fn update(context: RequestContext, params: UpdateNote) -> ApiResult<Body<NoteDetail>> {
    let OneNote { issue, note_id } = params.note;
    let target = issue.find_target(&context).await?;
    let note = note::update(context.app(), &context.actor, &issue.id, target, note_id, &params.body).await?;
    Ok(Body(present_note(note, context.site())))
}

async fn delete(context: RequestContext, params: OneNote) -> ApiResult<NoContent> {
    let target = params.issue.find_target(&context).await?;
    note::delete(context.app(), &context.actor, &params.issue.id, target, params.note_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/issues/:issue_iid/notes";
    const ONE: &str = "/projects/:id/issues/:issue_iid/notes/:note_id";
    let (read, write) = (Access::Project(ReadIssues), Access::Project(CreateIssue));
    routes.add(Method::GET, PATH, read, "List the notes of an issue", list);
    routes.add(Method::GET, ONE, read, "Get an issue note", show);
    routes.add(Method::POST, PATH, write, "Create an issue note", create);
    routes.add(Method::PUT, ONE, write, "Update an issue note", update);
    routes.add(Method::DELETE, ONE, write, "Delete an issue note", delete);
}
