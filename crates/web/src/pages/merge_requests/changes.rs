//! The commits, changes and pipelines of a merge request.

use futures_util::stream::BoxStream;
use holdfast_app::Error;
use holdfast_app::merge_requests::page::{self, SourceProject, VersionNumbers};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::overview::{OneMergeRequest, viewer};
use crate::cost::Cost;
use crate::errors::PageError;
use crate::markdown::{self, LinkContext};
use crate::pages::Pages;
use crate::pages::planning::issue::EnteredComment;
use crate::pages::repository::diff_params::DiffParams;
use crate::pages::repository::diff_stream::file_sections;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::merge_requests::changes::{RequestChangesPage, request_changes_page};
use crate::views::merge_requests::commit_list::request_commits_page;
use crate::views::merge_requests::discussion::DiscussionContext;
use crate::views::merge_requests::pipeline_list::request_pipelines_page;
use crate::views::merge_requests::review::{LineFormPart, line_notes, review_view};
use crate::views::planning::comment_form::CommentForm;
use crate::views::planning::label::LabelChips;
use crate::views::prose::Prose;
use crate::views::repository::diff::DiffAddress;
use crate::views::repository::diff_notes::{DiffLine, DiffNotes};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadMergeRequests);
    pages
        .get("/:namespace/:project/merge_requests/:iid/commits", read, Cost::Heavy, "Commits", commits)
        .api("GET /projects/:id/merge_requests/:merge_request_id/commits");
    pages
        .get("/:namespace/:project/merge_requests/:iid/changes", read, Cost::Heavy, "Changes", changes)
        .api("GET /projects/:id/merge_requests/:merge_request_id/changes");
    pages.get("/:namespace/:project/merge_requests/:iid/pipelines", read, Cost::Normal, "Pipelines", pipelines);
}

async fn commits(context: RequestContext, path: OneMergeRequest) -> PageResult {
    let reference = path.project.reference();
    let found = page::show_commits(context.app(), &context.actor, &reference, path.iid).await?;
    let (viewer, layout) = viewer(&context, &found.page)?;
    respond::html(&request_commits_page(layout, &found, viewer))
}

params! {
    struct ChangesParams {
        flatten path: OneMergeRequest,
        /// The number of the version; the newest one if it is missing.
        optional version: i32,
        /// The number of the version that it is compared with.
        optional since: i32,
        /// The number of the line that a form writes about. It is a line of the only file that is shown.
        optional line: i32,
        /// `old` or `new`.
        optional side: String,
        flatten diff: DiffParams,
    }
}

async fn changes(context: RequestContext, params: ChangesParams) -> PageResult {
    let ChangesParams { path, version, since, line, side, diff } = params;
    let line = line.and_then(|number| u32::try_from(number).ok()).filter(|_| diff.file.is_some());
    let entered =
        line.map(|number| EnteredLine { number, is_old: is_old(side.as_deref()), comment: EnteredComment::default() });
    let (page, parts) = load_changes(&context, &path, VersionNumbers { version, since }, &diff, entered).await?;
    respond::html_with_parts(&page, parts)
}

/// Returns whether a side in an address or form is the one before the change.
pub fn is_old(side: Option<&str>) -> bool {
    side == Some("old")
}

/// The line that a form writes about, with what was entered.
pub struct EnteredLine {
    pub number: u32,
    pub is_old: bool,
    pub comment: EnteredComment,
}

/// Loads the page with the changes of a version. The form is shown below its line, if only the file of the line is shown.
pub async fn load_changes(
    context: &RequestContext,
    path: &OneMergeRequest,
    numbers: VersionNumbers,
    diff: &DiffParams,
    entered: Option<EnteredLine>,
) -> Result<(RequestChangesPage, BoxStream<'static, String>), PageError> {
    let (app, actor, reference) = (context.app(), &context.actor, path.project.reference());
    let found = page::show_changes(app, actor, &reference, path.iid, numbers, diff.selection()).await?;
    let (viewer, layout) = viewer(context, &found.page)?;
    let full_path = found.page.project.full_path();
    let links = ProjectLinks::new(&full_path);
    let parameter = |name, number: Option<i32>| number.map(|number| (name, number.to_string()));
    let parameters =
        parameter("version", numbers.version).into_iter().chain(parameter("since", numbers.since)).collect();
    // The files of other versions differ from those of the branch.
    let is_newest = found.page.newest().is_some_and(|newest| newest.number == found.version.number);
    let is_in_branch = is_newest && found.page.request.state.is_open() && found.page.source == SourceProject::Same;
    let can_edit = is_in_branch && viewer.abilities.can_write_code;
    let mut address = DiffAddress {
        path: links.merge_request_page(path.iid, "changes"),
        layout: diff.layout(),
        parameters,
        links: links.clone(),
        revision: found.is_reachable.then(|| found.version.head.to_string()),
        editable_branch: found.page.refs.branch(&found.page.request.source_branch).filter(|_| can_edit),
        notes: DiffNotes::default(),
    };
    let (review, notes) = {
        let link_context = LinkContext::for_texts(&full_path).with_mentions(&found.mentioned);
        let render = |text: &str| markdown::render(text, &link_context);
        let file = found.changes.listing.files.first();
        let form = entered.zip(file).map(|(entered, file)| {
            let EnteredLine { number, is_old, comment } = entered;
            let path_of_line = if is_old { &file.old_path } else { &file.new_path };
            let line = DiffLine { path: String::from_utf8_lossy(path_of_line).into_owned(), is_old, number };
            let preview = if comment.is_preview { Prose::new(&comment.text, render(&comment.text)) } else { None };
            let comment = CommentForm::new(&comment.text, &comment.violations, preview);
            let shown_file = diff.file.clone().unwrap_or_default();
            let page = address.file_url(&shown_file);
            let fields = vec![
                ("version", found.version.number.to_string()),
                ("file", shown_file),
                ("view", diff.view.clone().unwrap_or_default()),
            ];
            LineFormPart::new((&links, path.iid), line, fields, page, comment)
        });
        let is_offered = |form: &LineFormPart| found.since.is_none() || !form.line.is_old;
        let form = form.filter(|form| viewer.abilities.can_comment_on_merge_requests && is_offered(form));
        let chips = LabelChips::new(&[], &links);
        let discussions = DiscussionContext { iid: path.iid, links: &links, chips: &chips, viewer, render };
        let review = review_view(&found, &discussions);
        let notes = line_notes(&found, &discussions, review.as_ref(), form, &layout.path);
        (review, notes.map_err(|error| PageError::App(Error::Internal(error.into())))?)
    };
    address.notes = notes;
    let page = request_changes_page(layout, &found, viewer, review, &address);
    Ok((page, file_sections(found.changes, address)))
}

async fn pipelines(context: RequestContext, path: OneMergeRequest) -> PageResult {
    let reference = path.project.reference();
    let (app, actor) = (context.app(), &context.actor);
    let (found, pipelines) = page::show_pipelines(app, actor, &reference, path.iid, context.page).await?;
    let (viewer, layout) = viewer(&context, &found)?;
    respond::html(&request_pipelines_page(layout, &found, &pipelines, viewer))
}
