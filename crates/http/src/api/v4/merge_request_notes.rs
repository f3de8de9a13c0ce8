use axum::http::Method;
use holdfast_app::merge_requests::thread;
use holdfast_app::planning::note::{self, Note, NoteTarget};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{MergeRequestId, NoteId};
use holdfast_domain::policy::ProjectAction::{CommentOnMergeRequests, ReadMergeRequests};

use super::ApiResult;
use super::merge_requests::OneMergeRequest;
use super::notes::{NewNoteParams, SelectionParams};
use crate::present::v4::note::{NoteDetail, present_discussed_note, present_note};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ListNotes {
        flatten request: OneMergeRequest,
        flatten selection: SelectionParams,
    }
}

async fn list(context: RequestContext, params: ListNotes) -> ApiResult<PageBody<NoteDetail>> {
    let request = params.request.find_id(&context).await?;
    let (actor, selection) = (&context.actor, params.selection.into_selection());
    let page = thread::list_notes(context.app(), actor, &params.request.id, request, selection, context.page).await?;
    Ok(PageBody(page.map(|note| present_discussed_note(note, context.site()))))
}

params! {
    struct OneNote {
        flatten request: OneMergeRequest,
        required note_id: NoteId,
    }
}

/// Presents a note with the discussion that it belongs to.
pub async fn present_with_discussion(
    context: &RequestContext,
    project: &ProjectRef,
    request: MergeRequestId,
    note: Note,
) -> ApiResult<NoteDetail> {
    let note = thread::with_discussion(context.app(), &context.actor, project, request, note).await?;
    Ok(present_discussed_note(note, context.site()))
}

async fn show(context: RequestContext, params: OneNote) -> ApiResult<Body<NoteDetail>> {
    let request = params.request.find_id(&context).await?;
    let (id, target) = (&params.request.id, NoteTarget::MergeRequest(request));
    let note = note::show(context.app(), &context.actor, id, target, params.note_id).await?;
    Ok(Body(present_with_discussion(&context, id, request, note).await?))
}

params! {
    struct CreateNote {
        flatten request: OneMergeRequest,
        flatten note: NewNoteParams,
    }
}

async fn create(context: RequestContext, params: CreateNote) -> ApiResult<Created<NoteDetail>> {
    let target = NoteTarget::MergeRequest(params.request.find_id(&context).await?);
    let NewNoteParams { body, created_at, .. } = params.note;
    let note = note::create(context.app(), &context.actor, &params.request.id, target, &body, created_at).await?;
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
    let OneNote { request: one, note_id } = params.note;
    let request = one.find_id(&context).await?;
    let target = NoteTarget::MergeRequest(request);
    let note = note::update(context.app(), &context.actor, &one.id, target, note_id, &params.body).await?;
    Ok(Body(present_with_discussion(&context, &one.id, request, note).await?))
}

async fn delete(context: RequestContext, params: OneNote) -> ApiResult<NoContent> {
    let target = NoteTarget::MergeRequest(params.request.find_id(&context).await?);
    note::delete(context.app(), &context.actor, &params.request.id, target, params.note_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/merge_requests/:merge_request_iid/notes";
    const ONE: &str = "/projects/:id/merge_requests/:merge_request_iid/notes/:note_id";
    let (read, write) = (Access::Project(ReadMergeRequests), Access::Project(CommentOnMergeRequests));
    routes.add(Method::GET, PATH, read, "List the notes of a merge request", list);
    routes.add(Method::GET, ONE, read, "Get a merge request note", show);
    routes.add(Method::POST, PATH, write, "Create a merge request note", create);
    routes.add(Method::PUT, ONE, write, "Update a merge request note", update);
    routes.add(Method::DELETE, ONE, write, "Delete a merge request note", delete);
}
