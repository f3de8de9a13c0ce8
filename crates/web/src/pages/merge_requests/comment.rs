//! Comments on merge requests and their discussions: create, edit and delete.

use holdfast_app::Error;
use holdfast_app::merge_requests::action::{self, Comment, CommentPlace, EditableNote};
use holdfast_app::merge_requests::review::{self, NewDraftPlace};
use holdfast_domain::Violations;
use holdfast_domain::ids::{DiscussionId, NoteId};
use holdfast_domain::page::MAX_PAGE_SIZE;
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::overview::{OneMergeRequest, load_page};
use super::review::changes_address;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::markdown::{self, LinkContext};
use crate::pages::Pages;
use crate::pages::planning::issue::EnteredComment;
use crate::pages::planning::issue_form::with_unix_lines;
use crate::pages::planning::note::{Transition, event};
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::merge_requests::note_form::request_note_form_page;
use crate::views::planning::comment_form::{CommentForm, NoteFormPage};
use crate::views::prose::Prose;

pub fn declare(pages: &mut Pages) {
    const NOTE: &str = "/:namespace/:project/merge_requests/:iid/notes/:note_id";
    let write = Access::Project(ProjectAction::CommentOnMergeRequests);
    pages
        .post("/:namespace/:project/merge_requests/:iid/notes", write, Cost::Normal, "Comment", create)
        .api("POST /projects/:id/merge_requests/:merge_request_id/notes");
    pages
        .post(
            "/:namespace/:project/merge_requests/:iid/discussions/:discussion_id/notes",
            write,
            Cost::Normal,
            "Reply",
            reply,
        )
        .api("POST /projects/:id/merge_requests/:merge_request_id/discussions/:discussion_id/notes");
    pages
        .get(NOTE, write, Cost::Normal, "Edit a comment", show)
        .api("GET /projects/:id/merge_requests/:merge_request_id/notes/:note_id");
    pages
        .post(NOTE, write, Cost::Normal, "Save a comment", update)
        .api("PUT /projects/:id/merge_requests/:merge_request_id/notes/:note_id");
    pages
        .post(
            "/:namespace/:project/merge_requests/:iid/notes/:note_id/delete",
            write,
            Cost::Normal,
            "Delete a comment",
            delete,
        )
        .api("DELETE /projects/:id/merge_requests/:merge_request_id/notes/:note_id");
}

params! {
    struct CreateNote {
        flatten path: OneMergeRequest,
        optional note: String,
        /// Starts a discussion, which can be resolved.
        optional discussion: bool,
        /// Closes or reopens the merge request after the comment.
        optional state: Transition,
        /// Shows the comment as it will look, and saves nothing.
        optional preview: String,
    }
}

async fn create(context: RequestContext, params: CreateNote) -> PageResult {
    let CreateNote { path, note, discussion, state, preview } = params;
    let text = with_unix_lines(note.as_deref());
    if preview.is_some() {
        let entered = EnteredComment { text, is_preview: true, ..EnteredComment::default() };
        return respond::html(&load_page(&context, &path, entered).await?);
    }
    let place = if discussion == Some(true) { CommentPlace::NewDiscussion } else { CommentPlace::Alone };
    save(context, path, text, place, state.map(event)).await
}

params! {
    struct Reply {
        flatten path: OneMergeRequest,
        required discussion_id: DiscussionId,
        optional note: String,
        /// Adds the reply to the review of the viewer, instead of publishing it at once.
        optional review: bool,
        /// The address of the page with the changes that the form is on.
        optional to: String,
    }
}

async fn reply(context: RequestContext, Reply { path, discussion_id, note, review, to }: Reply) -> PageResult {
    let text = with_unix_lines(note.as_deref());
    let to = changes_address(&path.project.links(), path.iid, to.as_deref());
    if review == Some(true) {
        return add_to_review(context, path, text, discussion_id, to).await;
    }
    let place = CommentPlace::Discussion(discussion_id);
    let Some(to) = to else { return save(context, path, text, place, None).await };
    let reference = path.project.reference();
    match action::comment(context.app(), &context.actor, &reference, path.iid, &text, place, None).await {
        Ok(comment) => {
            let anchor = comment.note.map(|id| format!("#note_{id}")).unwrap_or_default();
            Ok(respond::see_other(format!("{to}{anchor}")).with_flash(FlashCode::NoteAdded))
        }
        Err(Error::Invalid(violations)) => reject(&context, &path, text, violations).await,
        Err(error) => Err(error.into()),
    }
}

async fn add_to_review(
    context: RequestContext,
    path: OneMergeRequest,
    text: String,
    discussion: DiscussionId,
    to: Option<String>,
) -> PageResult {
    let (reference, place) = (path.project.reference(), NewDraftPlace::Discussion(discussion));
    match review::add_draft(context.app(), &context.actor, &reference, path.iid, &text, place).await {
        Ok(_) => {
            let address = to.unwrap_or_else(|| path.project.links().merge_request(path.iid));
            let address = format!("{address}#discussion_{discussion}");
            Ok(respond::see_other(address).with_flash(FlashCode::DraftAdded))
        }
        Err(Error::Invalid(violations)) => reject(&context, &path, text, violations).await,
        Err(error) => Err(error.into()),
    }
}

/// Responds with the overview, whose form has the text that was rejected.
pub async fn reject(
    context: &RequestContext,
    path: &OneMergeRequest,
    text: String,
    violations: Violations,
) -> PageResult {
    let entered = EnteredComment { text, violations, is_preview: false };
    respond::rejected(&load_page(context, path, entered).await?)
}

async fn save(
    context: RequestContext,
    path: OneMergeRequest,
    text: String,
    place: CommentPlace,
    state: Option<StateEvent>,
) -> PageResult {
    let reference = path.project.reference();
    match action::comment(context.app(), &context.actor, &reference, path.iid, &text, place, state).await {
        Ok(comment) => Ok(redirect(&comment, state)),
        Err(Error::Invalid(violations)) => reject(&context, &path, text, violations).await,
        Err(error) => Err(error.into()),
    }
}

fn redirect(comment: &Comment, state: Option<StateEvent>) -> respond::PageResponse {
    let links = ProjectLinks::new(&comment.request.project_path);
    let iid = comment.request.iid;
    let page = comment.preceding_count / MAX_PAGE_SIZE + 1;
    let on_page = |note| links.merge_request_note_on_page(iid, note, page);
    let address = comment.note.map_or_else(|| links.merge_request(iid), on_page);
    respond::see_other(address).with_flash(match state {
        Some(_) if comment.is_state_refused => FlashCode::MergeRequestNotReopened,
        Some(StateEvent::Close) => FlashCode::MergeRequestClosed,
        Some(StateEvent::Reopen) => FlashCode::MergeRequestReopened,
        None => FlashCode::NoteAdded,
    })
}

params! {
    struct OneNote {
        flatten path: OneMergeRequest,
        required note_id: NoteId,
    }
}

params! {
    struct UpdateNote {
        flatten one: OneNote,
        optional note: String,
        optional preview: String,
    }
}

params! {
    struct DeleteNote {
        flatten one: OneNote,
        /// Sent by the form that asks before the comment is deleted.
        optional confirm: bool,
    }
}

async fn find(context: &RequestContext, one: &OneNote) -> Result<EditableNote, Error> {
    let reference = one.path.project.reference();
    action::show_note(context.app(), &context.actor, &reference, one.path.iid, one.note_id).await
}

fn page(context: &RequestContext, found: &EditableNote, comment: CommentForm) -> NoteFormPage {
    let abilities = Abilities::new(&found.project, &context.actor);
    let mut layout = context.layout_with_record(found.project.id.get(), ":merge_request_id", found.request.id);
    layout.api_call = layout.api_call.map(|call| call.replace(":note_id", &found.note.id.to_string()));
    request_note_form_page(layout, abilities, found, comment)
}

async fn show(context: RequestContext, one: OneNote) -> PageResult {
    let found = find(&context, &one).await?;
    ensure_address(&context, &found.project)?;
    let comment = CommentForm::new(&found.note.body, &Violations::default(), None);
    respond::html(&page(&context, &found, comment))
}

async fn update(context: RequestContext, UpdateNote { one, note, preview }: UpdateNote) -> PageResult {
    let text = with_unix_lines(note.as_deref());
    if preview.is_some() {
        let found = find(&context, &one).await?;
        let links = LinkContext::for_texts(&found.project.full_path());
        let preview = Prose::new(&text, markdown::render(&text, &links));
        return respond::html(&page(&context, &found, CommentForm::new(&text, &Violations::default(), preview)));
    }
    let (reference, iid) = (one.path.project.reference(), one.path.iid);
    match action::update_note(context.app(), &context.actor, &reference, iid, one.note_id, &text).await {
        Ok(saved) => {
            let links = ProjectLinks::new(&saved.project.full_path());
            let address = links.merge_request_note_on_page(iid, saved.note.id, 1);
            Ok(respond::see_other(address).with_flash(FlashCode::NoteSaved))
        }
        Err(Error::Invalid(violations)) => {
            let found = find(&context, &one).await?;
            respond::rejected(&page(&context, &found, CommentForm::new(&text, &violations, None)))
        }
        Err(error) => Err(error.into()),
    }
}

async fn delete(context: RequestContext, DeleteNote { one, confirm }: DeleteNote) -> PageResult {
    if confirm != Some(true) {
        let found = find(&context, &one).await?;
        let comment = CommentForm::new(&found.note.body, &Violations::default(), None);
        return respond::rejected(&page(&context, &found, comment));
    }
    let (reference, iid) = (one.path.project.reference(), one.path.iid);
    let deleted = action::delete_note(context.app(), &context.actor, &reference, iid, one.note_id).await?;
    let address = ProjectLinks::new(&deleted.project.full_path()).merge_request(iid);
    Ok(respond::see_other(address).with_flash(FlashCode::NoteDeleted))
}
