//! Notes on merge requests, also by their older name, comments.

use axum::http::Method;
use chrono::{DateTime, Utc};
use holdfast_app::planning::note::{self, NoteSelection, NoteTarget};
use holdfast_domain::ids::NoteId;
use holdfast_domain::policy::ProjectAction::{CommentOnMergeRequests, ReadMergeRequests};

use super::ApiResult;
use super::merge_requests::OneMergeRequest;
use crate::error::ApiError;
use crate::present::note::{CommentBody, NoteBody, present_comment, present_note};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneMergeRequest) -> ApiResult<PageBody<NoteBody>> {
    let target = NoteTarget::MergeRequest(params.merge_request_id);
    let page =
        note::list(context.app(), &context.actor, &params.id, target, NoteSelection::default(), context.page).await?;
    Ok(PageBody(page.map(|note| present_note(note, context.site()))))
}

async fn list_comments(context: RequestContext, params: OneMergeRequest) -> ApiResult<PageBody<CommentBody>> {
    let target = NoteTarget::MergeRequest(params.merge_request_id);
    let page =
        note::list(context.app(), &context.actor, &params.id, target, NoteSelection::default(), context.page).await?;
    Ok(PageBody(page.map(|note| present_comment(note, context.site()))))
}

params! {
    struct OneNote {
        flatten request: OneMergeRequest,
        required note_id: NoteId,
    }
}

async fn show(context: RequestContext, params: OneNote) -> ApiResult<Body<NoteBody>> {
    let OneMergeRequest { id, merge_request_id } = params.request;
    let target = NoteTarget::MergeRequest(merge_request_id);
    let note = note::show(context.app(), &context.actor, &id, target, params.note_id).await?;
    Ok(Body(present_note(note, context.site())))
}

params! {
    struct CreateNote {
        flatten request: OneMergeRequest,
        /// Text of the note.
        required body: String,
        /// Time of creation. Ignored unless the current user is an owner of the project.
        optional created_at: DateTime<Utc>,
    }
}

/// Creates a note. Invalid values result in 404, as existing clients expect.
async fn create(context: RequestContext, params: CreateNote) -> ApiResult<Created<NoteBody>> {
    let OneMergeRequest { id, merge_request_id } = params.request;
    let target = NoteTarget::MergeRequest(merge_request_id);
    let note = note::create(context.app(), &context.actor, &id, target, &params.body, params.created_at).await;
    let note = note.map_err(|error| ApiError::from(error).invalid_as_not_found())?;
    Ok(Created(present_note(note, context.site())))
}

params! {
    struct CreateComment {
        flatten request: OneMergeRequest,
        /// Text of the note.
        required note: String,
    }
}

async fn create_comment(context: RequestContext, params: CreateComment) -> ApiResult<Created<CommentBody>> {
    let OneMergeRequest { id, merge_request_id } = params.request;
    let target = NoteTarget::MergeRequest(merge_request_id);
    let note = note::create(context.app(), &context.actor, &id, target, &params.note, None).await?;
    Ok(Created(present_comment(note, context.site())))
}

params! {
    struct UpdateNote {
        flatten note: OneNote,
        /// Text of the note.
        required body: String,
    }
}

async fn update(context: RequestContext, params: UpdateNote) -> ApiResult<Body<NoteBody>> {
    let OneNote { request: OneMergeRequest { id, merge_request_id }, note_id } = params.note;
    let target = NoteTarget::MergeRequest(merge_request_id);
    let note = note::update(context.app(), &context.actor, &id, target, note_id, &params.body).await?;
    Ok(Body(present_note(note, context.site())))
}

async fn delete(context: RequestContext, params: OneNote) -> ApiResult<Body<NoteBody>> {
    let OneMergeRequest { id, merge_request_id } = params.request;
    let target = NoteTarget::MergeRequest(merge_request_id);
    let note = note::delete(context.app(), &context.actor, &id, target, params.note_id).await?;
    Ok(Body(present_note(note, context.site())))
}

/// Declares the routes of the notes of one merge request.
macro_rules! note_routes {
    ($routes:ident, $one:literal) => {
        let read = Access::Project(ReadMergeRequests);
        let write = Access::Project(CommentOnMergeRequests);
        $routes.add(Method::GET, concat!($one, "/notes"), read, "List the notes of a merge request", list);
        $routes.add(Method::POST, concat!($one, "/notes"), write, "Create a merge request note", create);
        $routes.add(Method::GET, concat!($one, "/notes/:note_id"), read, "Get a merge request note", show);
        $routes.add(Method::PUT, concat!($one, "/notes/:note_id"), write, "Update a merge request note", update);
        $routes.add(Method::DELETE, concat!($one, "/notes/:note_id"), write, "Delete a merge request note", delete);
        $routes.add(
            Method::GET,
            concat!($one, "/comments"),
            read,
            "List the notes of a merge request, in an older form",
            list_comments,
        );
        $routes.add(
            Method::POST,
            concat!($one, "/comments"),
            write,
            "Create a merge request note, in an older form",
            create_comment,
        );
    };
}

pub fn routes(routes: &mut Routes) {
    note_routes!(routes, "/projects/:id/merge_requests/:merge_request_id");
    note_routes!(routes, "/projects/:id/merge_request/:merge_request_id");
}
