use axum::http::Method;
use chrono::{DateTime, Utc};
use holdfast_app::planning::note;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{IssueId, NoteId};
use holdfast_domain::policy::ProjectAction::{CreateIssue, ReadIssues};

use super::ApiResult;
use super::issues::OneIssue;
use crate::answer::{Body, Created, Listed};
use crate::error::ApiError;
use crate::present::note::{NoteBody, note as present};
use crate::{Access, Cx, Routes, params};

async fn list(cx: Cx, params: OneIssue) -> ApiResult<Listed<NoteBody>> {
    let page = note::list(cx.app(), &cx.actor, &params.id, params.issue_id, cx.page).await?;
    Ok(Listed(page.map(|note| present(note, cx.site()))))
}

params! {
    struct OneNote {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required issue_id: IssueId,
        required note_id: NoteId,
    }
}

async fn show(cx: Cx, params: OneNote) -> ApiResult<Body<NoteBody>> {
    let note = note::show(cx.app(), &cx.actor, &params.id, params.issue_id, params.note_id).await?;
    Ok(Body(present(note, cx.site())))
}

params! {
    struct CreateNote {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required issue_id: IssueId,
        required body: String,
        /// When it was said, for who owns the project; others are not asked.
        optional created_at: DateTime<Utc>,
    }
}

/// What is wrong with it is answered as if the issue were not there, as existing clients know it.
async fn create(cx: Cx, params: CreateNote) -> ApiResult<Created<NoteBody>> {
    let issue = params.issue_id;
    let note = note::create(cx.app(), &cx.actor, &params.id, issue, &params.body, params.created_at).await;
    let note = note.map_err(|error| ApiError::from(error).or_not_found())?;
    Ok(Created(present(note, cx.site())))
}

params! {
    struct UpdateNote {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required issue_id: IssueId,
        required note_id: NoteId,
        required body: String,
    }
}

async fn update(cx: Cx, params: UpdateNote) -> ApiResult<Body<NoteBody>> {
    let (issue, id) = (params.issue_id, params.note_id);
    let note = note::update(cx.app(), &cx.actor, &params.id, issue, id, &params.body).await?;
    Ok(Body(present(note, cx.site())))
}

async fn delete(cx: Cx, params: OneNote) -> ApiResult<Body<NoteBody>> {
    let note = note::delete(cx.app(), &cx.actor, &params.id, params.issue_id, params.note_id).await?;
    Ok(Body(present(note, cx.site())))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/issues/:issue_id/notes";
    const ONE: &str = "/projects/:id/issues/:issue_id/notes/:note_id";
    let (read, write) = (Access::Project(ReadIssues), Access::Project(CreateIssue));
    routes.add(Method::GET, PATH, read, "Lists what was said about an issue, oldest first", list);
    routes.add(Method::GET, ONE, read, "Shows what was said", show);
    routes.add(Method::POST, PATH, write, "Says something about an issue", create);
    routes.add(Method::PUT, ONE, write, "Changes what was said", update);
    routes.add(Method::DELETE, ONE, write, "Takes back what was said", delete);
}
