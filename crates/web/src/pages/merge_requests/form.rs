//! The forms that create and edit a merge request.

use holdfast_app::Error;
use holdfast_app::client::KeyedPermit;
use holdfast_app::merge_requests::form::{self, EditRequestForm, NewRequestForm, ProposedBranches, RequestFields};
use holdfast_app::merge_requests::merge_request::MergeRequest;
use holdfast_app::projects::project::Project;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::overview::OneMergeRequest;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::flash::FlashCode;
use crate::markdown::{self, LinkContext};
use crate::pages::Pages;
use crate::pages::planning::issue_form::with_unix_lines;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::merge_requests::form::{EnteredRequest, RequestFormPage, edit_request_page, new_request_page};
use crate::views::prose::Prose;

pub fn declare(pages: &mut Pages) {
    let create = Access::Project(ProjectAction::CreateMergeRequest);
    let write = Access::Project(ProjectAction::CommentOnMergeRequests);
    pages.get("/:namespace/:project/merge_requests/new", create, Cost::Normal, "New merge request", show_new);
    pages
        .post("/:namespace/:project/merge_requests", create, Cost::Normal, "Create a merge request", self::create)
        .api("POST /projects/:id/merge_requests");
    pages
        .get("/:namespace/:project/merge_requests/:iid/edit", write, Cost::Normal, "Edit a merge request", show_edit)
        .api("GET /projects/:id/merge_requests/:merge_request_id");
    pages
        .post("/:namespace/:project/merge_requests/:iid", write, Cost::Normal, "Save a merge request", update)
        .api("PUT /projects/:id/merge_requests/:merge_request_id");
}

params! {
    struct BranchParams {
        optional source: String,
        optional target: String,
        /// Whether the target branch is in the project that this one was forked from.
        optional upstream: bool,
    }
}

impl From<BranchParams> for ProposedBranches {
    fn from(params: BranchParams) -> Self {
        let trimmed = |text: Option<String>| text.unwrap_or_default().trim().to_owned();
        Self {
            source: trimmed(params.source),
            target: trimmed(params.target),
            is_upstream: params.upstream.unwrap_or_default(),
        }
    }
}

params! {
    struct FieldParams {
        optional title: String,
        optional description: String,
        optional target_branch: String,
        list labels: String,
        /// Titles of further labels, separated by commas.
        optional other_labels: String,
        /// A username.
        optional assignee: String,
        /// The title of a milestone.
        optional milestone: String,
        optional remove_source_branch: bool,
        /// Shows the description as it will look, and saves nothing.
        optional preview: String,
    }
}

impl FieldParams {
    fn into_fields(self) -> RequestFields {
        let others = self.other_labels.unwrap_or_default();
        let others = others.split(',').map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
        RequestFields {
            title: self.title.unwrap_or_default(),
            description: with_unix_lines(self.description.as_deref()),
            target_branch: self.target_branch.unwrap_or_default().trim().to_owned(),
            labels: self.labels.into_iter().chain(others).collect(),
            assignee: self.assignee.unwrap_or_default(),
            milestone: self.milestone.unwrap_or_default(),
            removes_source_branch: self.remove_source_branch.unwrap_or_default(),
        }
    }
}

params! {
    struct NewRequestParams {
        flatten project: ProjectPathParams,
        flatten branches: BranchParams,
    }
}

params! {
    struct CreateRequest {
        flatten project: ProjectPathParams,
        flatten branches: BranchParams,
        flatten fields: FieldParams,
    }
}

params! {
    struct UpdateRequest {
        flatten path: OneMergeRequest,
        flatten fields: FieldParams,
    }
}

async fn show_new(context: RequestContext, NewRequestParams { project, branches }: NewRequestParams) -> PageResult {
    let branches = ProposedBranches::from(branches);
    let _permit = acquire_permit(&context, &branches).await?;
    let (app, actor) = (context.app(), &context.actor);
    let form = form::show_new_with_template(app, actor, &project.reference(), &branches).await?;
    ensure_address(&context, &form.project)?;
    respond::html(&new_page(&context, &form, &branches, EnteredRequest::default()))
}

/// The form is heavy if it shows commits.
async fn acquire_permit(
    context: &RequestContext,
    branches: &ProposedBranches,
) -> Result<Option<KeyedPermit>, PageError> {
    if branches.source.is_empty() || branches.target.is_empty() {
        return Ok(None);
    }
    context.acquire_heavy_permit().await
}

fn new_page(
    context: &RequestContext,
    form: &NewRequestForm,
    branches: &ProposedBranches,
    entered: EnteredRequest,
) -> RequestFormPage {
    let abilities = Abilities::new(&form.project, &context.actor);
    new_request_page(context.layout_with_id(form.project.id.get()), abilities, form, branches, entered)
}

async fn create(context: RequestContext, CreateRequest { project, branches, fields }: CreateRequest) -> PageResult {
    let is_preview = fields.preview.is_some();
    let branches = ProposedBranches::from(branches);
    let _permit = acquire_permit(&context, &branches).await?;
    let (app, actor, reference) = (context.app(), &context.actor, project.reference());
    let fields = RequestFields { target_branch: branches.target.clone(), ..fields.into_fields() };
    let entered = match is_preview {
        true => None,
        false => match form::create(app, actor, &reference, &branches, fields.clone()).await {
            Ok(created) => return Ok(redirect(&created, FlashCode::MergeRequestCreated)),
            Err(error) => Some(rejected(error, fields.clone())?),
        },
    };
    let form = form::show_new(app, actor, &reference, &branches).await?;
    match entered {
        Some(entered) => respond::rejected(&new_page(&context, &form, &branches, entered)),
        None => respond::html(&new_page(&context, &form, &branches, previewed(&form.project, fields))),
    }
}

async fn show_edit(context: RequestContext, path: OneMergeRequest) -> PageResult {
    let reference = path.project.reference();
    let form = form::show_edit(context.app(), &context.actor, &reference, path.iid).await?;
    ensure_address(&context, &form.project)?;
    respond::html(&edit_page(&context, &form, EnteredRequest::default()))
}

async fn update(context: RequestContext, UpdateRequest { path, fields }: UpdateRequest) -> PageResult {
    let is_preview = fields.preview.is_some();
    let (app, actor, reference) = (context.app(), &context.actor, path.project.reference());
    let fields = fields.into_fields();
    let entered = match is_preview {
        true => None,
        false => match form::update(app, actor, &reference, path.iid, fields.clone()).await {
            Ok(saved) => return Ok(redirect(&saved, FlashCode::MergeRequestSaved)),
            Err(error) => Some(rejected(error, fields.clone())?),
        },
    };
    let form = form::show_edit(app, actor, &reference, path.iid).await?;
    match entered {
        Some(entered) => respond::rejected(&edit_page(&context, &form, entered)),
        None => respond::html(&edit_page(&context, &form, previewed(&form.project, fields))),
    }
}

fn edit_page(context: &RequestContext, form: &EditRequestForm, entered: EnteredRequest) -> RequestFormPage {
    let abilities = Abilities::new(&form.project, &context.actor);
    let layout = context.layout_with_record(form.project.id.get(), ":merge_request_id", form.request.id);
    edit_request_page(layout, abilities, form, entered)
}

/// Returns what was entered, with the description as it will look.
fn previewed(project: &Project, fields: RequestFields) -> EnteredRequest {
    let links = LinkContext::for_texts(&project.full_path());
    let preview = Prose::new(&fields.description, markdown::render(&fields.description, &links));
    EnteredRequest { fields: Some(fields), preview, ..EnteredRequest::default() }
}

/// Returns what was entered, with the reason why it was not saved. Other errors are returned as they are.
fn rejected(error: Error, fields: RequestFields) -> Result<EnteredRequest, Error> {
    let entered = EnteredRequest { fields: Some(fields), ..EnteredRequest::default() };
    match error {
        Error::Invalid(violations) => Ok(EnteredRequest { violations, ..entered }),
        Error::Unprocessable(problem) => Ok(EnteredRequest { problem: Some(problem.to_owned()), ..entered }),
        Error::Conflict(problem) => Ok(EnteredRequest { problem: Some(problem), ..entered }),
        error => Err(error),
    }
}

fn redirect(request: &MergeRequest, flash: FlashCode) -> respond::PageResponse {
    let links = ProjectLinks::new(&request.project_path);
    respond::see_other(links.merge_request(request.iid)).with_flash(flash)
}
