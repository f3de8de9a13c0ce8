//! The forms that create and edit an issue.

use holdfast_app::Error;
use holdfast_app::planning::issue_form::{self, IssueFields, IssueForm, SavedIssue};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::Violations;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::issue::OneIssue;
use super::refusal::refusal_flash;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::markdown::{self, LinkContext};
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::planning::issue_form::{IssueFormInput, IssueFormPage, issue_form_page, values_of};
use crate::views::prose::Prose;

pub fn declare(pages: &mut Pages) {
    let create = Access::Project(ProjectAction::CreateIssue);
    pages.get("/:namespace/:project/issues/new", create, Cost::Normal, "New issue", show_new);
    pages
        .post("/:namespace/:project/issues", create, Cost::Normal, "Create an issue", self::create)
        .api("POST /projects/:id/issues");
    pages
        .get("/:namespace/:project/issues/:iid/edit", create, Cost::Normal, "Edit an issue", show_edit)
        .api("GET /projects/:id/issues/:issue_id");
    pages
        .post("/:namespace/:project/issues/:iid", create, Cost::Normal, "Save an issue", update)
        .api("PUT /projects/:id/issues/:issue_id");
}

params! {
    struct IssueFormParams {
        optional title: String,
        optional description: String,
        list labels: String,
        /// Titles of further labels, separated by commas.
        optional other_labels: String,
        /// A username.
        optional assignee: String,
        /// The title of a milestone.
        optional milestone: String,
        optional due_date: String,
        optional confidential: bool,
        /// Shows the description as it will look, and saves nothing.
        optional preview: String,
    }
}

params! {
    struct CreateIssue {
        flatten project: ProjectPathParams,
        flatten form: IssueFormParams,
    }
}

params! {
    struct UpdateIssue {
        flatten path: OneIssue,
        flatten form: IssueFormParams,
    }
}

impl IssueFormParams {
    fn is_preview(&self) -> bool {
        self.preview.is_some()
    }

    fn into_fields(self) -> IssueFields {
        let other_labels = self.other_labels.unwrap_or_default();
        let other_labels = other_labels.split(',').map(|title| title.trim().to_owned());
        let labels = self.labels.into_iter().chain(other_labels).filter(|title| !title.is_empty());
        IssueFields {
            title: self.title.unwrap_or_default(),
            description: with_unix_lines(self.description.as_deref()),
            labels: labels.collect(),
            assignee: self.assignee.unwrap_or_default(),
            milestone: self.milestone.unwrap_or_default(),
            due_date: self.due_date.unwrap_or_default(),
            is_confidential: self.confidential.unwrap_or(false),
        }
    }
}

/// Returns a text of a form with the line ends that texts of the API have. Browsers send `\r\n`.
pub fn with_unix_lines(text: Option<&str>) -> String {
    text.unwrap_or_default().replace("\r\n", "\n")
}

/// Builds the page of a form with what was entered.
fn page(
    context: &RequestContext,
    form: &IssueForm,
    fields: &IssueFields,
    violations: &Violations,
    preview: Option<Prose>,
) -> IssueFormPage {
    let abilities = Abilities::new(&form.project, &context.actor);
    let input = IssueFormInput { form, fields, violations, preview };
    let project = form.project.id.get();
    let layout = match &form.issue {
        Some(issue) => context.layout_with_record(project, ":issue_id", issue.id),
        None => context.layout_with_id(project),
    };
    issue_form_page(layout, abilities, input)
}

fn preview(form: &IssueForm, fields: &IssueFields) -> Option<Prose> {
    let links = LinkContext::for_texts(&form.project.full_path());
    Prose::new(&fields.description, markdown::render(&fields.description, &links))
}

async fn show_new(context: RequestContext, project: ProjectPathParams) -> PageResult {
    let form = issue_form::show_new_with_template(context.app(), &context.actor, &project.reference()).await?;
    ensure_address(&context, &form.project)?;
    let fields = IssueFields { description: form.template.clone().unwrap_or_default(), ..IssueFields::default() };
    respond::html(&page(&context, &form, &fields, &Violations::default(), None))
}

async fn create(context: RequestContext, CreateIssue { project, form }: CreateIssue) -> PageResult {
    let is_preview = form.is_preview();
    let (reference, fields) = (project.reference(), form.into_fields());
    if is_preview {
        let form = issue_form::show_new(context.app(), &context.actor, &reference).await?;
        return respond::html(&page(&context, &form, &fields, &Violations::default(), preview(&form, &fields)));
    }
    match issue_form::create(context.app(), &context.actor, &reference, fields.clone()).await {
        Ok(saved) => Ok(redirect(&saved, FlashCode::IssueCreated)),
        Err(Error::Invalid(violations)) => {
            let form = issue_form::show_new(context.app(), &context.actor, &reference).await?;
            respond::rejected(&page(&context, &form, &fields, &violations, None))
        }
        Err(error) => Err(error.into()),
    }
}

async fn show_edit(context: RequestContext, OneIssue { project, iid }: OneIssue) -> PageResult {
    let form = issue_form::show_edit(context.app(), &context.actor, &project.reference(), iid).await?;
    ensure_address(&context, &form.project)?;
    let fields = form.issue.as_ref().map(values_of).unwrap_or_default();
    respond::html(&page(&context, &form, &fields, &Violations::default(), None))
}

async fn update(context: RequestContext, UpdateIssue { path, form }: UpdateIssue) -> PageResult {
    let is_preview = form.is_preview();
    let (reference, iid, fields) = (path.project.reference(), path.iid, form.into_fields());
    let show =
        async |reference: &ProjectRef| issue_form::show_edit(context.app(), &context.actor, reference, iid).await;
    if is_preview {
        let form = show(&reference).await?;
        return respond::html(&page(&context, &form, &fields, &Violations::default(), preview(&form, &fields)));
    }
    match issue_form::update(context.app(), &context.actor, &reference, iid, fields.clone()).await {
        Ok(saved) => Ok(redirect(&saved, FlashCode::IssueSaved)),
        Err(Error::Invalid(violations)) => {
            respond::rejected(&page(&context, &show(&reference).await?, &fields, &violations, None))
        }
        Err(error) => Err(error.into()),
    }
}

fn redirect(saved: &SavedIssue, flash: FlashCode) -> respond::PageResponse {
    let links = ProjectLinks::new(&saved.issue.project_path);
    respond::see_other(links.issue(saved.issue.iid)).with_flash(refusal_flash(&saved.refused.kinds).unwrap_or(flash))
}
