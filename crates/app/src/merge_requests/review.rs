//! Reviews of merge requests: comments that only their author sees, until all of them are submitted together.

use holdfast_domain::Violations;
use holdfast_domain::ids::{DiscussionId, DraftNoteId, MergeRequestId};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::{check_note, cut};
use holdfast_domain::violations::BLANK;
use holdfast_store::Connection;
use holdfast_store::merge_requests::discussion as discussions;
use holdfast_store::merge_requests::draft_note::{self, Review};

pub use holdfast_store::merge_requests::draft_note::{DraftNote, DraftPlace};

use super::action::{self, ProjectMergeRequest};
use super::discussion::{self, NewPosition};
use super::merge_request::MergeRequest;
use crate::accounts::user::lock_author;
use crate::planning::note::{self, NewNote, NoteTarget, Noteable};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of comments of a review. One transaction publishes all of them, while it holds the lock of the merge
/// request. Arbitrary.
const MAX_DRAFTS: i64 = 50;

/// Where a comment of a review is written.
#[derive(Clone, Debug)]
pub enum NewDraftPlace {
    Line(NewPosition),
    Discussion(DiscussionId),
}

/// Returns the review of the actor, or None for an anonymous viewer.
pub(super) fn own_review(actor: &Actor, request: MergeRequestId) -> Option<Review> {
    Some(Review { request, author: actor.user_id()? })
}

/// Adds a comment to the review of the actor. Only the actor sees it, until the review is submitted.
#[crate::boxed]
pub async fn add_draft(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    text: &str,
    place: NewDraftPlace,
) -> Result<MergeRequest> {
    let found = action::find(app, actor, project, iid).await?;
    check_note(text)?;
    let (reference, id) = (found.reference(), found.request.id);
    let place = match place {
        NewDraftPlace::Line(position) => {
            DraftPlace::Line(discussion::check_position(app, actor, &reference, id, position).await?)
        }
        NewDraftPlace::Discussion(discussion) => DraftPlace::Discussion(discussion),
    };
    let mut transaction = app.database.begin().await?;
    let review = lock(app, &mut transaction, actor, &found).await?.review;
    if let DraftPlace::Discussion(id) = place {
        discussion::find(&mut transaction, review.request, id).await?;
    }
    if draft_note::count(&mut transaction, review).await? >= MAX_DRAFTS {
        return Err(Violations::single("note", TOO_MANY_DRAFTS).into());
    }
    draft_note::insert(&mut transaction, review, &place, text, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(found.request)
}

/// Adds the beginning of a comment to the reason why it cannot be published.
fn name_draft(error: Error, draft: &DraftNote) -> Error {
    const SHOWN_BYTES: usize = 60;
    match error {
        Error::Rejected(reason) => {
            let beginning = cut(&draft.body, SHOWN_BYTES);
            Error::Rejected(format!("The review was not submitted, because of its comment “{beginning}”: {reason}"))
        }
        other => other,
    }
}

/// The message for a review that has [`MAX_DRAFTS`] comments.
const TOO_MANY_DRAFTS: &str = "cannot be added: the review has 50 comments. Submit it first";

/// A review whose merge request is locked.
struct LockedReview {
    project: Project,
    noteable: Noteable,
    review: Review,
}

async fn lock(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    found: &ProjectMergeRequest,
) -> Result<LockedReview> {
    let action = ProjectAction::CommentOnMergeRequests;
    let project = access::authorize_project(app, connection, actor, &found.reference(), action).await?;
    let target = NoteTarget::MergeRequest(found.request.id);
    let noteable = note::lock_noteable(connection, actor, &project, target).await?;
    // The author is locked before the drafts, in the same order as by the deletion of the user.
    let review = Review { request: found.request.id, author: lock_author(connection, actor).await? };
    Ok(LockedReview { project, noteable, review })
}

/// Changes the text of a comment of the actor's review.
#[crate::boxed]
pub async fn update_draft(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    id: DraftNoteId,
    text: &str,
) -> Result<MergeRequest> {
    let found = action::find(app, actor, project, iid).await?;
    let review = own_review(actor, found.request.id).ok_or(Error::Unauthenticated)?;
    check_note(text)?;
    let mut connection = app.database.connection().await?;
    match draft_note::update(&mut connection, review, id, text).await? {
        true => Ok(found.request),
        false => Err(Error::NotFound(Resource::Note)),
    }
}

/// Deletes a comment of the actor's review.
#[crate::boxed]
pub async fn delete_draft(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    id: DraftNoteId,
) -> Result<MergeRequest> {
    let found = action::find(app, actor, project, iid).await?;
    let review = own_review(actor, found.request.id).ok_or(Error::Unauthenticated)?;
    match draft_note::delete(&mut *app.database.connection().await?, review, id).await? {
        true => Ok(found.request),
        false => Err(Error::NotFound(Resource::Note)),
    }
}

/// Deletes all comments of the actor's review.
#[crate::boxed]
pub async fn discard(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<MergeRequest> {
    let found = action::find(app, actor, project, iid).await?;
    let review = own_review(actor, found.request.id).ok_or(Error::Unauthenticated)?;
    draft_note::take_all(&mut *app.database.connection().await?, review).await?;
    Ok(found.request)
}

/// Publishes all comments of the actor's review in one transaction, and then the summary as a note, unless it is blank.
#[crate::boxed]
pub async fn submit(app: &App, actor: &Actor, project: &ProjectRef, iid: i64, summary: &str) -> Result<MergeRequest> {
    let found = action::find(app, actor, project, iid).await?;
    let mut transaction = app.database.begin().await?;
    let LockedReview { project, noteable, review } = lock(app, &mut transaction, actor, &found).await?;
    let drafts = draft_note::take_all(&mut transaction, review).await?;
    let has_summary = !summary.trim().is_empty();
    if drafts.is_empty() && !has_summary {
        return Err(Violations::single("note", BLANK).into());
    }
    let now = app.clock.now();
    for draft in &drafts {
        let discussion = match &draft.place {
            DraftPlace::Discussion(id) => *id,
            DraftPlace::Line(position) => {
                discussions::insert(&mut transaction, review.request, Some(position), now).await?
            }
        };
        let new = NewNote { body: &draft.body, created_at: now, discussion: Some(discussion) };
        let added = note::add(app, &mut transaction, actor, &project, &noteable, new).await;
        added.map_err(|error| name_draft(error, draft))?;
    }
    if has_summary {
        let new = NewNote { body: summary, created_at: now, discussion: None };
        note::add(app, &mut transaction, actor, &project, &noteable, new).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(found.request)
}
