//! Comments about lines, and the review of the viewer: comments that are submitted together.

use holdfast_app::Error;
use holdfast_app::merge_requests::action::{self, CommentPlace};
use holdfast_app::merge_requests::discussion::{DiscussedLine, NewPosition, VersionRef};
use holdfast_app::merge_requests::page::VersionNumbers;
use holdfast_app::merge_requests::review::{self, NewDraftPlace};
use holdfast_domain::ids::DraftNoteId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::changes::{EnteredLine, is_old, load_changes};
use super::comment::reject;
use super::overview::OneMergeRequest;
use crate::addresses::is_local_path;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::planning::issue::EnteredComment;
use crate::pages::planning::issue_form::with_unix_lines;
use crate::pages::repository::diff_params::DiffParams;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::{ProjectLinks, links};

pub fn declare(pages: &mut Pages) {
    const DRAFT: &str = "/:namespace/:project/merge_requests/:iid/review/:draft_id";
    let write = Access::Project(ProjectAction::CommentOnMergeRequests);
    pages
        .post("/:namespace/:project/merge_requests/:iid/line_notes", write, Cost::Heavy, "Comment on a line", create)
        .api("POST /projects/:id/merge_requests/:merge_request_id/discussions");
    pages.post("/:namespace/:project/merge_requests/:iid/review", write, Cost::Normal, "Submit a review", submit);
    pages.post(
        "/:namespace/:project/merge_requests/:iid/review/discard",
        write,
        Cost::Normal,
        "Discard a review",
        discard,
    );
    pages.post(DRAFT, write, Cost::Normal, "Save a comment of a review", update);
    pages.post(
        "/:namespace/:project/merge_requests/:iid/review/:draft_id/delete",
        write,
        Cost::Normal,
        "Delete a comment of a review",
        delete,
    );
}

/// Returns the address that a form of a merge request leads back to, if it is one of its pages with changes.
pub fn changes_address(links: &ProjectLinks, iid: i64, to: Option<&str>) -> Option<String> {
    let changes = links.merge_request_page(iid, "changes");
    let to = to?.split('#').next()?;
    let is_changes = to == changes || to.strip_prefix(&changes).is_some_and(|rest| rest.starts_with('?'));
    (is_changes && is_local_path(to)).then(|| to.to_owned())
}

params! {
    struct CreateLineNote {
        flatten path: OneMergeRequest,
        optional version: i32,
        /// The file that the page shows. Its path before the change may differ.
        flatten diff: DiffParams,
        /// The path of the file on the side of the line.
        optional line_path: String,
        optional line: i32,
        /// `old` or `new`.
        optional side: String,
        optional note: String,
        /// Adds the comment to the review, instead of publishing it at once.
        optional review: bool,
        /// Shows the comment as it will look, and saves nothing.
        optional preview: String,
    }
}

async fn create(context: RequestContext, params: CreateLineNote) -> PageResult {
    let CreateLineNote { path, version, diff, line_path, line, side, note, review, preview } = params;
    let (text, is_old) = (with_unix_lines(note.as_deref()), is_old(side.as_deref()));
    let numbers = VersionNumbers { version, since: None };
    let number = line.and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
    let entered = |comment| Some(EnteredLine { number, is_old, comment });
    if preview.is_some() {
        let comment = EnteredComment { text, is_preview: true, ..EnteredComment::default() };
        let (page, parts) = load_changes(&context, &path, numbers, &diff, entered(comment)).await?;
        return respond::html_with_parts(&page, parts);
    }
    let line = DiscussedLine { path: line_path.unwrap_or_default(), number: number.into() };
    let version = version.map_or(VersionRef::Newest, VersionRef::Number);
    let position = NewPosition { version, line, is_in_base: is_old };
    let (app, actor, reference) = (context.app(), &context.actor, path.project.reference());
    let saved = match review == Some(true) {
        true => review::add_draft(app, actor, &reference, path.iid, &text, NewDraftPlace::Line(position))
            .await
            .map(|request| (request, FlashCode::DraftAdded, "review".to_owned())),
        false => action::comment(app, actor, &reference, path.iid, &text, CommentPlace::Line(position), None)
            .await
            .map(|added| {
                (added.request, FlashCode::NoteAdded, added.note.map_or_else(String::new, |id| format!("note_{id}")))
            }),
    };
    match saved {
        Ok((request, flash, anchor)) => {
            let changes = ProjectLinks::new(&request.project_path).merge_request_page(request.iid, "changes");
            let version = numbers.version.map(|number| number.to_string()).unwrap_or_default();
            let view = diff.view.as_deref().unwrap_or_default();
            let query = links::query(&[("version", &version), ("view", view)]);
            Ok(respond::see_other(format!("{changes}{query}#{anchor}")).with_flash(flash))
        }
        Err(Error::Invalid(mut violations)) => {
            if violations.iter().all(|(field, _)| field != "note") {
                violations.add("note", "was not saved: this version of the file does not have the line");
            }
            let comment = EnteredComment { text, violations, is_preview: false };
            let (page, parts) = load_changes(&context, &path, numbers, &diff, entered(comment)).await?;
            respond::rejected_with_parts(&page, parts)
        }
        Err(error) => Err(error.into()),
    }
}

params! {
    struct SubmitReview {
        flatten path: OneMergeRequest,
        /// A note about the whole merge request.
        optional note: String,
    }
}

async fn submit(context: RequestContext, SubmitReview { path, note }: SubmitReview) -> PageResult {
    let (reference, summary) = (path.project.reference(), with_unix_lines(note.as_deref()));
    let submitted = review::submit(context.app(), &context.actor, &reference, path.iid, &summary).await;
    let flash = match submitted {
        Ok(request) => {
            let address = ProjectLinks::new(&request.project_path).merge_request(request.iid);
            return Ok(respond::see_other(address).with_flash(FlashCode::ReviewSubmitted));
        }
        Err(Error::Invalid(violations)) if !summary.trim().is_empty() => {
            return reject(&context, &path, summary, violations).await;
        }
        Err(Error::Invalid(_)) => FlashCode::ReviewEmpty,
        Err(error) => return Err(error.into()),
    };
    Ok(respond::see_other(review_address(&path)).with_flash(flash))
}

/// Returns the address of the review on the page with the changes.
fn review_address(path: &OneMergeRequest) -> String {
    format!("{}#review", path.project.links().merge_request_page(path.iid, "changes"))
}

async fn discard(context: RequestContext, path: OneMergeRequest) -> PageResult {
    review::discard(context.app(), &context.actor, &path.project.reference(), path.iid).await?;
    let changes = path.project.links().merge_request_page(path.iid, "changes");
    Ok(respond::see_other(changes).with_flash(FlashCode::ReviewDiscarded))
}

params! {
    struct OneDraft {
        flatten path: OneMergeRequest,
        required draft_id: DraftNoteId,
    }
}

params! {
    struct UpdateDraft {
        flatten one: OneDraft,
        optional note: String,
    }
}

async fn update(context: RequestContext, UpdateDraft { one, note }: UpdateDraft) -> PageResult {
    let OneDraft { path, draft_id } = one;
    let (reference, text) = (path.project.reference(), with_unix_lines(note.as_deref()));
    let updated = review::update_draft(context.app(), &context.actor, &reference, path.iid, draft_id, &text).await;
    let flash = match updated {
        Ok(_) => FlashCode::DraftSaved,
        Err(Error::Invalid(_)) => FlashCode::DraftRejected,
        Err(error) => return Err(error.into()),
    };
    Ok(respond::see_other(review_address(&path)).with_flash(flash))
}

async fn delete(context: RequestContext, OneDraft { path, draft_id }: OneDraft) -> PageResult {
    let reference = path.project.reference();
    review::delete_draft(context.app(), &context.actor, &reference, path.iid, draft_id).await?;
    Ok(respond::see_other(review_address(&path)).with_flash(FlashCode::DraftDeleted))
}
