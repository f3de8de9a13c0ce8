//! Discussions of merge requests. A note that belongs to no discussion is listed as one of its own.

use axum::http::{Method, StatusCode};
use holdfast_app::merge_requests::discussion::{self, DiscussedLine, NewPosition, VersionRef};
use holdfast_app::merge_requests::thread;
use holdfast_app::planning::note::{self, Note, NoteTarget};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::{Error, Resource};
use holdfast_domain::ids::{DiscussionId, MergeRequestId, NoteId};
use holdfast_domain::policy::ProjectAction::{CommentOnMergeRequests, ReadMergeRequests};
use serde_json::Value;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

use super::ApiResult;
use super::merge_request_notes::present_with_discussion;
use super::merge_requests::OneMergeRequest;
use crate::error::ApiError;
use crate::params::{FromValue, ParamError};
use crate::present::v4::discussion::{
    DiscussionDetail, DiscussionKey, present_discussion, present_individual, present_thread,
};
use crate::present::v4::note::NoteDetail;
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

impl FromValue for DiscussionKey {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        Self::parse(&String::from_value(value)?).ok_or(ParamError::Invalid)
    }

    fn schema() -> RefOr<Schema> {
        String::schema()
    }
}

/// A line of a version, which is named by its last commit. A line with a number in the new file is one of the head,
/// another one is a removed line of the merge base.
struct PositionParam(NewPosition);

impl FromValue for PositionParam {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let fields = value.as_object().ok_or(ParamError::Invalid)?;
        let text = |name: &str| match fields.get(name).map(String::from_param).transpose() {
            Ok(text) => Ok(text.flatten().filter(|text| !text.is_empty())),
            Err(error) => Err(error),
        };
        let number = |name: &str| Ok(fields.get(name).map(i64::from_param).transpose()?.flatten());
        if text("position_type")?.is_some_and(|kind| kind != "text") {
            return Err(ParamError::NotAllowed);
        }
        let (new_path, old_path) = (text("new_path")?, text("old_path")?);
        let (path, number, is_in_base) = match (number("new_line")?, number("old_line")?) {
            (Some(number), _) => (new_path.or(old_path), number, false),
            (None, Some(number)) => (old_path.or(new_path), number, true),
            (None, None) => return Err(ParamError::Explained("needs new_line or old_line")),
        };
        let head = text("head_sha")?.ok_or(ParamError::Explained("needs head_sha"))?;
        let path = path.ok_or(ParamError::Explained("needs new_path or old_path"))?;
        Ok(Self(NewPosition {
            version: VersionRef::Commits { head, start: text("start_sha")? },
            line: DiscussedLine { path, number },
            is_in_base,
        }))
    }

    fn schema() -> RefOr<Schema> {
        let texts = ["base_sha", "start_sha", "head_sha", "position_type", "new_path", "old_path"];
        let object = texts.into_iter().fold(ObjectBuilder::new().schema_type(Type::Object), |object, name| {
            object.property(name, String::schema())
        });
        let number = <i64 as FromValue>::schema;
        object.property("new_line", number()).property("old_line", number()).required("head_sha").into()
    }
}

async fn list(context: RequestContext, params: OneMergeRequest) -> ApiResult<PageBody<DiscussionDetail>> {
    let request = params.find_id(&context).await?;
    let page = thread::list(context.app(), &context.actor, &params.id, request, context.page).await?;
    Ok(PageBody(page.map(|thread| present_thread(thread, context.site()))))
}

params! {
    struct CreateParams {
        flatten request: OneMergeRequest,
        /// Text of the first note.
        required body: String,
        /// Line that the discussion is about. It needs `head_sha`, `new_path` or `old_path`, and `new_line` or
        /// `old_line`. Those of `diff_refs` are the right `head_sha` and `start_sha`.
        optional position: PositionParam,
    }
}

async fn create(context: RequestContext, params: CreateParams) -> ApiResult<Created<DiscussionDetail>> {
    let request = params.request.find_id(&context).await?;
    let (actor, position) = (&context.actor, params.position.map(|position| position.0));
    let (id, body) = (&params.request.id, &params.body);
    let created = discussion::create(context.app(), actor, id, request, body, position).await?;
    Ok(Created(present_discussion(created, context.site())))
}

params! {
    struct OneDiscussion {
        flatten request: OneMergeRequest,
        /// Id of the discussion.
        required discussion_id: DiscussionKey,
    }
}

async fn show(context: RequestContext, params: OneDiscussion) -> ApiResult<Body<DiscussionDetail>> {
    let request = params.request.find_id(&context).await?;
    let (actor, id) = (&context.actor, &params.request.id);
    match params.discussion_id {
        DiscussionKey::Number(number) => {
            let found = discussion::show(context.app(), actor, id, request, number.into()).await?;
            Ok(Body(present_discussion(found, context.site())))
        }
        DiscussionKey::Note(note) => {
            let note = find_note(&context, id, request, params.discussion_id, note.into()).await?;
            Ok(Body(present_individual(note, context.site())))
        }
    }
}

/// Finds a note that belongs to a discussion.
async fn find_note(
    context: &RequestContext,
    project: &ProjectRef,
    request: MergeRequestId,
    discussion: DiscussionKey,
    note: NoteId,
) -> ApiResult<Note> {
    let target = NoteTarget::MergeRequest(request);
    let note = note::show(context.app(), &context.actor, project, target, note).await?;
    let key = note.discussion().map_or(DiscussionKey::Note(note.id.get()), |id| DiscussionKey::Number(id.get()));
    if key == discussion { Ok(note) } else { Err(Error::NotFound(Resource::Note).into()) }
}

/// Returns the discussion that a change is about. A note that belongs to none can neither be answered nor resolved.
fn changeable(key: DiscussionKey) -> ApiResult<DiscussionId> {
    const INDIVIDUAL: &str = "This is an individual note. Only discussions can be answered and resolved";
    match key {
        DiscussionKey::Number(id) => Ok(id.into()),
        DiscussionKey::Note(_) => Err(ApiError::message(StatusCode::BAD_REQUEST, INDIVIDUAL)),
    }
}

params! {
    struct ResolveParams {
        flatten discussion: OneDiscussion,
        /// Whether the discussion is resolved.
        required resolved: bool,
    }
}

async fn resolve(context: RequestContext, params: ResolveParams) -> ApiResult<Body<DiscussionDetail>> {
    let OneDiscussion { request: one, discussion_id } = params.discussion;
    let request = one.find_id(&context).await?;
    let (actor, discussion) = (&context.actor, changeable(discussion_id)?);
    let changed = discussion::set_resolved(context.app(), actor, &one.id, request, discussion, params.resolved).await?;
    Ok(Body(present_discussion(changed, context.site())))
}

params! {
    struct ReplyParams {
        flatten discussion: OneDiscussion,
        /// Text of the note.
        required body: String,
    }
}

async fn reply(context: RequestContext, params: ReplyParams) -> ApiResult<Created<NoteDetail>> {
    let OneDiscussion { request: one, discussion_id } = params.discussion;
    let request = one.find_id(&context).await?;
    let (actor, discussion) = (&context.actor, changeable(discussion_id)?);
    let note = discussion::reply(context.app(), actor, &one.id, request, discussion, &params.body).await?;
    Ok(Created(present_with_discussion(&context, &one.id, request, note).await?))
}

params! {
    struct OneNote {
        flatten discussion: OneDiscussion,
        required note_id: NoteId,
    }
}

params! {
    struct UpdateNote {
        flatten note: OneNote,
        /// Text of the note. Either this or `resolved` is required.
        optional body: String,
        /// Whether the discussion is resolved.
        optional resolved: bool,
    }
}

async fn update_note(context: RequestContext, params: UpdateNote) -> ApiResult<Body<NoteDetail>> {
    let OneNote { discussion: OneDiscussion { request: one, discussion_id }, note_id } = params.note;
    if params.body.is_none() && params.resolved.is_none() {
        return Err(ApiError::at_least_one_required(&["body", "resolved"]));
    }
    let request = one.find_id(&context).await?;
    let (actor, id, target) = (&context.actor, &one.id, NoteTarget::MergeRequest(request));
    let mut note = find_note(&context, id, request, discussion_id, note_id).await?;
    if let Some(body) = &params.body {
        note = note::update(context.app(), actor, id, target, note_id, body).await?;
    }
    if let Some(resolved) = params.resolved {
        let discussion = changeable(discussion_id)?;
        discussion::set_resolved(context.app(), actor, id, request, discussion, resolved).await?;
    }
    Ok(Body(present_with_discussion(&context, id, request, note).await?))
}

async fn delete_note(context: RequestContext, params: OneNote) -> ApiResult<NoContent> {
    let OneDiscussion { request: one, discussion_id } = params.discussion;
    let request = one.find_id(&context).await?;
    find_note(&context, &one.id, request, discussion_id, params.note_id).await?;
    let target = NoteTarget::MergeRequest(request);
    note::delete(context.app(), &context.actor, &one.id, target, params.note_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/projects/:id/merge_requests/:merge_request_iid/discussions";
    const ONE: &str = "/projects/:id/merge_requests/:merge_request_iid/discussions/:discussion_id";
    const NOTES: &str = "/projects/:id/merge_requests/:merge_request_iid/discussions/:discussion_id/notes";
    const NOTE: &str = "/projects/:id/merge_requests/:merge_request_iid/discussions/:discussion_id/notes/:note_id";
    let (read, write) = (Access::Project(ReadMergeRequests), Access::Project(CommentOnMergeRequests));
    routes.add(Method::GET, ALL, read, "List the discussions of a merge request", list);
    routes.add(Method::POST, ALL, write, "Start a discussion of a merge request", create);
    routes.add(Method::GET, ONE, read, "Get a discussion of a merge request", show);
    routes.add(Method::PUT, ONE, write, "Resolve a discussion, or open it again", resolve);
    routes.add(Method::POST, NOTES, write, "Reply to a discussion", reply);
    routes.add(Method::PUT, NOTE, write, "Update a note of a discussion", update_note);
    routes.add(Method::DELETE, NOTE, write, "Delete a note of a discussion", delete_note);
}
