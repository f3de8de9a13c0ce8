//! Comments on issues: create, edit and delete.

use holdfast_app::Error;
use holdfast_app::planning::note_form::{self, EditableNote};
use holdfast_app::planning::{issue_action, issue_action::Comment};
use holdfast_domain::Violations;
use holdfast_domain::ids::NoteId;
use holdfast_domain::page::MAX_PAGE_SIZE;
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, choice, params};

use super::issue::{EnteredComment, OneIssue, load_page};
use super::issue_form::with_unix_lines;
use super::refusal::{refusal_flash, textless_refusal_flash};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::markdown::{self, LinkContext};
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::planning::comment_form::{CommentForm, NoteFormPage, note_form_page};
use crate::views::prose::Prose;

pub fn declare(pages: &mut Pages) {
    const NOTE: &str = "/:namespace/:project/issues/:iid/notes/:note_id";
    let write = Access::Project(ProjectAction::CreateIssue);
    pages
        .post("/:namespace/:project/issues/:iid/notes", write, Cost::Normal, "Comment on an issue", create)
        .api("POST /projects/:id/issues/:issue_id/notes");
    pages
        .get(NOTE, write, Cost::Normal, "Edit a comment", show)
        .api("GET /projects/:id/issues/:issue_id/notes/:note_id");
    pages
        .post(NOTE, write, Cost::Normal, "Save a comment", update)
        .api("PUT /projects/:id/issues/:issue_id/notes/:note_id");
    pages
        .post("/:namespace/:project/issues/:iid/notes/:note_id/delete", write, Cost::Normal, "Delete a comment", delete)
        .api("DELETE /projects/:id/issues/:issue_id/notes/:note_id");
}

choice! {
    pub enum Transition { Close = "close", Reopen = "reopen" }
}

params! {
    struct CreateNote {
        flatten path: OneIssue,
        optional note: String,
        /// Closes or reopens the issue after the comment.
        optional state: Transition,
        /// Shows the comment as it will look, and saves nothing.
        optional preview: String,
    }
}

async fn create(context: RequestContext, params: CreateNote) -> PageResult {
    let CreateNote { path, note, state, preview } = params;
    let text = with_unix_lines(note.as_deref());
    if preview.is_some() {
        let entered = EnteredComment { text, is_preview: true, ..EnteredComment::default() };
        return respond::html(&load_page(&context, &path, entered).await?);
    }
    let (reference, event) = (path.project.reference(), state.map(event));
    match issue_action::comment(context.app(), &context.actor, &reference, path.iid, &text, event).await {
        Ok(comment) => Ok(redirect(&comment, event)),
        Err(Error::Invalid(violations)) => {
            let entered = EnteredComment { text, violations, is_preview: false };
            respond::rejected(&load_page(&context, &path, entered).await?)
        }
        Err(error) => Err(error.into()),
    }
}

pub const fn event(transition: Transition) -> StateEvent {
    match transition {
        Transition::Close => StateEvent::Close,
        Transition::Reopen => StateEvent::Reopen,
    }
}

fn redirect(comment: &Comment, event: Option<StateEvent>) -> respond::PageResponse {
    let links = ProjectLinks::new(&comment.issue.project_path);
    let iid = comment.issue.iid;
    let page = comment.preceding_count / MAX_PAGE_SIZE + 1;
    let address = comment.note.map_or_else(|| links.issue(iid), |note| links.issue_note_on_page(iid, note, page));
    let done = match event {
        Some(StateEvent::Close) => FlashCode::IssueClosed,
        Some(StateEvent::Reopen) => FlashCode::IssueReopened,
        None if comment.note.is_none() => FlashCode::IssueSaved,
        None => FlashCode::NoteAdded,
    };
    let refusal = match comment.note {
        Some(_) => refusal_flash(&comment.refused.kinds),
        None => textless_refusal_flash(&comment.refused),
    };
    respond::see_other(address).with_flash(refusal.unwrap_or(done))
}

params! {
    struct OneNote {
        flatten path: OneIssue,
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
    note_form::show(context.app(), &context.actor, &reference, one.path.iid, one.note_id).await
}

fn page(context: &RequestContext, found: &EditableNote, comment: CommentForm) -> NoteFormPage {
    let abilities = Abilities::new(&found.project, &context.actor);
    let mut layout = context.layout_with_record(found.project.id.get(), ":issue_id", found.issue.id);
    layout.api_call = layout.api_call.map(|call| call.replace(":note_id", &found.note.id.to_string()));
    note_form_page(layout, abilities, found, comment)
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
    match note_form::update(context.app(), &context.actor, &reference, iid, one.note_id, &text).await {
        Ok(saved) => {
            let address = ProjectLinks::new(&saved.project.full_path()).issue_note(iid, saved.note.id);
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
    let deleted = note_form::delete(context.app(), &context.actor, &reference, iid, one.note_id).await?;
    let address = ProjectLinks::new(&deleted.project.full_path()).issue(iid);
    Ok(respond::see_other(address).with_flash(FlashCode::NoteDeleted))
}
