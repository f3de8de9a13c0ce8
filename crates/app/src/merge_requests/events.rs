//! Publishes what happens to merge requests.

use holdfast_domain::activity::{Action, Audience};
use holdfast_domain::hooks::EventKind;
use holdfast_store::Connection;
use holdfast_store::activity::event::{self, NewEvent, OutboxEvent, Subject};
use holdfast_store::merge_requests::merge_request::MergeRequest;
use holdfast_store::projects::project::{self, Project};

use crate::actor::CurrentUser;
use crate::events::merge_request_json;
use crate::{App, Result};

/// The kind of an event about a merge request.
#[derive(Clone, Copy)]
pub(super) enum MergeRequestEventKind<'a> {
    Opened,
    Edited,
    /// A push has replaced this head, in hexadecimal digits.
    Pushed(&'a str),
    Closed,
    Reopened,
    Merged,
}

/// Publishes an event about a merge request to the outbox and, except for edits and pushes, records it in the feed.
pub(super) async fn publish(
    app: &App,
    connection: &mut Connection,
    current_user: &CurrentUser,
    project: &Project,
    request: &MergeRequest,
    kind: MergeRequestEventKind<'_>,
) -> Result<()> {
    let (action, action_name) = match kind {
        MergeRequestEventKind::Opened => (Some(Action::Created), "open"),
        MergeRequestEventKind::Edited | MergeRequestEventKind::Pushed(_) => (None, "update"),
        MergeRequestEventKind::Closed => (Some(Action::Closed), "close"),
        MergeRequestEventKind::Reopened => (Some(Action::Reopened), "reopen"),
        MergeRequestEventKind::Merged => (Some(Action::Merged), "merge"),
    };
    let source: Vec<_> = request.source_project().into_iter().collect();
    let source = project::find_many(connection, &source).await?;
    let mut payload = merge_request_json(project, source.first(), &current_user.account.summary, request);
    payload["action"] = action_name.into();
    if let MergeRequestEventKind::Pushed(old_head) = kind {
        payload["oldrev"] = old_head.into();
    }
    let outbox_event = OutboxEvent { kind: EventKind::MergeRequest, payload };
    let now = app.clock.now();
    match action {
        None => event::publish(connection, Some(project.id), &outbox_event, now).await?,
        Some(action) => {
            let event = NewEvent {
                project: project.id,
                author: current_user.account.id(),
                action,
                subject: Subject::MergeRequest(request.id),
                audience: Audience::CodeReaders,
            };
            event::record(connection, event, Some(&outbox_event), now).await?;
        }
    }
    Ok(())
}
