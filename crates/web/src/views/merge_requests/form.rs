//! The forms that create and edit a merge request.

use askama::Template;
use holdfast_app::merge_requests::form::{EditRequestForm, NewRequestForm, Proposal, ProposedBranches, RequestFields};
use holdfast_app::merge_requests::merge_request::MergeRequest;
use holdfast_app::planning::issue_form::FormChoices;
use holdfast_domain::Violations;
use holdfast_domain::merge_requests::MergeRequestState;

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::form::{self, FormError, FormField};
use crate::views::planning::issue_form::{EnteredFields, ManagedFields};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::prose::Prose;
use crate::views::repository::commit_line::{CommitLine, body, title};

#[derive(Template)]
#[template(path = "merge_requests/form.html")]
pub struct RequestFormPage {
    pub layout: Layout,
    /// The number of the merge request that is edited, or None for a new one.
    pub iid: Option<i64>,
    /// The branches of a new merge request.
    pub branches: Option<BranchFields>,
    /// Why there is no form, or why the merge request was not saved.
    pub problem: Option<String>,
    /// None until both branches are known.
    pub fields: Option<RequestFormFields>,
    pub cancel_url: String,
    pub commits: Vec<CommitLine>,
    pub has_more_commits: bool,
    pub compare_url: Option<String>,
}

/// The choice of the branches.
#[derive(Clone, Debug)]
pub struct BranchFields {
    pub action: String,
    pub source: String,
    pub target: String,
    pub is_upstream: bool,
    pub project: String,
    /// The path of the project that this one was forked from.
    pub upstream: Option<String>,
    pub names: Vec<String>,
    pub existing_iid: Option<i64>,
    pub existing_url: String,
}

/// The other fields.
#[derive(Clone, Debug)]
pub struct RequestFormFields {
    pub action: String,
    pub preview_url: String,
    pub errors: Vec<FormError>,
    pub title: FormField,
    pub description: FormField,
    pub preview: Option<Prose>,
    /// The target branch, if it can be changed here.
    pub target: Option<FormField>,
    pub managed: Option<ManagedFields>,
    pub removes_source_branch: bool,
}

/// What was entered in the form, and what is wrong with it.
#[derive(Default)]
pub struct EnteredRequest {
    /// None if nothing was entered yet.
    pub fields: Option<RequestFields>,
    pub violations: Violations,
    pub problem: Option<String>,
    pub preview: Option<Prose>,
}

/// Builds the form of a new merge request.
pub fn new_request_page(
    layout: Layout,
    abilities: Abilities,
    form: &NewRequestForm,
    branches: &ProposedBranches,
    entered: EnteredRequest,
) -> RequestFormPage {
    let NewRequestForm { project, branches: names, upstream, choices, proposal, problem, template } = form;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::MergeRequests);
    layout.title = format!("New merge request · {}", project.full_path());
    let existing = proposal.as_ref().and_then(|proposal| proposal.existing_iid);
    let target_path =
        upstream.as_deref().filter(|_| branches.is_upstream).map_or_else(|| project.full_path(), str::to_owned);
    let EnteredRequest { fields, violations, problem: rejected, preview } = entered;
    // What was entered is shown again, also if the branches do not exist any more.
    let suggested = proposal.as_ref().filter(|_| existing.is_none());
    let fields =
        fields.or_else(|| suggested.map(|proposal| suggested_fields(proposal, &branches.source, template.clone())));
    let fields = fields.map(|fields| {
        let can_manage = abilities.can_manage_merge_requests && !branches.is_upstream;
        let choices = can_manage.then_some(choices);
        let fields = FieldsInput { fields: &fields, violations: &violations, preview, choices, has_target: false };
        request_fields(&links, links.merge_requests(), fields)
    });
    let default = names.first().cloned().unwrap_or_default();
    let commits = proposal.as_ref().map(|proposal| proposal.commits.as_slice()).unwrap_or_default();
    RequestFormPage {
        layout,
        iid: None,
        problem: problem.map(str::to_owned).or(rejected),
        fields,
        cancel_url: links.merge_requests(),
        commits: commits.iter().map(|commit| CommitLine::with_date(commit, &links)).collect(),
        has_more_commits: proposal.as_ref().is_some_and(|proposal| proposal.has_more),
        compare_url: (!commits.is_empty()).then(|| links.compare(&branches.target, "...", &branches.source)),
        branches: Some(BranchFields {
            action: links.new_merge_request(),
            source: branches.source.clone(),
            target: if branches.target.is_empty() { default } else { branches.target.clone() },
            is_upstream: branches.is_upstream,
            project: project.full_path(),
            upstream: upstream.clone(),
            names: names.clone(),
            existing_iid: existing,
            existing_url: existing.map(|iid| ProjectLinks::new(&target_path).merge_request(iid)).unwrap_or_default(),
        }),
    }
}

/// Returns the title and description of the only commit, or the name of the branch. A template is the description.
fn suggested_fields(proposal: &Proposal, branch: &str, template: Option<String>) -> RequestFields {
    let (title, description) = match proposal.commits.as_slice() {
        [commit] => (title(&commit.message).to_owned(), body(&commit.message).to_owned()),
        _ => (branch.replace(['-', '_'], " "), String::new()),
    };
    let description = template.unwrap_or(description);
    RequestFields { title, description, ..RequestFields::default() }
}

/// Builds the form of an existing merge request.
pub fn edit_request_page(
    layout: Layout,
    abilities: Abilities,
    form: &EditRequestForm,
    entered: EnteredRequest,
) -> RequestFormPage {
    let EditRequestForm { project, request, choices, .. } = form;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::MergeRequests);
    layout.title = format!("Edit !{} · {}", request.iid, project.full_path());
    let EnteredRequest { fields, violations, problem, preview } = entered;
    let fields = fields.unwrap_or_else(|| values_of(request));
    let address = links.merge_request(request.iid);
    let input = FieldsInput {
        fields: &fields,
        violations: &violations,
        preview,
        choices: abilities.can_manage_merge_requests.then_some(choices),
        // What was merged stays as it was.
        has_target: request.state != MergeRequestState::Merged,
    };
    RequestFormPage {
        iid: Some(request.iid),
        branches: None,
        problem,
        fields: Some(request_fields(&links, address.clone(), input)),
        cancel_url: address,
        commits: Vec::new(),
        has_more_commits: false,
        compare_url: None,
        layout,
    }
}

/// Returns the fields of a merge request that is edited.
fn values_of(request: &MergeRequest) -> RequestFields {
    RequestFields {
        title: request.title.clone(),
        description: request.description.clone().unwrap_or_default(),
        target_branch: request.target_branch.clone(),
        labels: request.labels.clone(),
        assignee: request.assignee.as_ref().map(|user| user.username.clone()).unwrap_or_default(),
        milestone: request.milestone.as_ref().map(|milestone| milestone.title.clone()).unwrap_or_default(),
        removes_source_branch: request.removes_source_branch.unwrap_or_default(),
    }
}

struct FieldsInput<'a> {
    fields: &'a RequestFields,
    violations: &'a Violations,
    preview: Option<Prose>,
    /// What is offered to viewers who manage merge requests.
    choices: Option<&'a FormChoices>,
    /// Whether the form has the target branch.
    has_target: bool,
}

fn request_fields(links: &ProjectLinks, action: String, input: FieldsInput<'_>) -> RequestFormFields {
    let FieldsInput { fields, violations, preview, choices, has_target } = input;
    let field = |name, label, value: &str| FormField::new(name, label, value).with_violations(violations);
    let title = field("title", "Title", &fields.title);
    let description = field("description", "Description", &fields.description);
    let target = has_target.then(|| field("target_branch", "Target branch", &fields.target_branch));
    let managed = choices.map(|choices| {
        let RequestFields { labels, assignee, milestone, .. } = fields;
        ManagedFields::new(choices, &EnteredFields { labels, assignee, milestone }, violations)
    });
    let mut shown = vec![&title, &description];
    shown.extend(&target);
    if let Some(managed) = &managed {
        shown.extend(managed.fields());
    }
    RequestFormFields {
        action,
        preview_url: links.preview(),
        errors: form::errors(shown),
        title,
        description,
        preview,
        target,
        managed,
        removes_source_branch: fields.removes_source_branch,
    }
}
