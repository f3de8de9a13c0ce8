//! The form of a merge request: what it offers, and saving what a user entered.

use holdfast_domain::policy::ProjectAction;
use holdfast_domain::{Field, Violations};
use holdfast_git::ObjectId;
use holdfast_store::merge_requests::merge_request::Source;
use holdfast_store::merge_requests::open;
use holdfast_store::repository::snapshot::RefKind;

use super::changes::MergeRequestChanges;
use super::merge_request::{self, MergeRequest, can_edit};
use crate::planning::issue_form::{FormChoices, find_assignee_and_milestone, load_choices};
use crate::projects::project::{Project, ProjectRef};
use crate::repository::browse::commit::Commit;
use crate::repository::browse::{compare, description_template};
use crate::repository::open_repository::{OpenRepository, load_refs, open_repository};
use crate::repository::transfer::missing_objects::find_tip;
use crate::{Actor, App, Error, Result, access};

/// Number of branches that the form suggests. Arbitrary.
const MAX_SUGGESTIONS: usize = 100;
/// Number of commits that the form shows. Arbitrary.
const MAX_COMMITS: usize = 100;

/// The branches of a new merge request, as they were entered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposedBranches {
    pub source: String,
    pub target: String,
    /// Whether the target branch is in the project that this one was forked from.
    pub is_upstream: bool,
}

/// What the form of a new merge request shows.
pub struct NewRequestForm {
    pub project: Project,
    /// Names of branches, the default branch first.
    pub branches: Vec<String>,
    /// The path of the project that this one was forked from, if the actor may propose changes to it.
    pub upstream: Option<String>,
    pub choices: FormChoices,
    /// None until both branches are known.
    pub proposal: Option<Proposal>,
    /// Why there is none, if branches were entered.
    pub problem: Option<&'static str>,
    /// The template of descriptions of the target project, see [`show_new_with_template`].
    pub template: Option<String>,
}

/// What a new merge request would propose.
pub struct Proposal {
    /// The newest commits. Empty for a branch of the upstream project, which has other objects.
    pub commits: Vec<Commit>,
    pub has_more: bool,
    /// The number of the open merge request for the same branches.
    pub existing_iid: Option<i64>,
}

/// The fields of the form, as they were entered.
#[derive(Clone, Debug, Default)]
pub struct RequestFields {
    pub title: String,
    pub description: String,
    pub target_branch: String,
    /// Titles of all labels. Ignored, like assignee and milestone, unless the actor manages merge requests.
    pub labels: Vec<String>,
    /// A username, or an empty text for nobody.
    pub assignee: String,
    /// The title of a milestone, or an empty text for none.
    pub milestone: String,
    pub removes_source_branch: bool,
}

/// Returns the form of a new merge request from a branch of this project.
#[crate::boxed]
pub async fn show_new(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    branches: &ProposedBranches,
) -> Result<NewRequestForm> {
    let repository = open_repository(app, actor, project, ProjectAction::CreateMergeRequest).await?;
    let upstream = find_upstream(app, actor, &repository.project).await?;
    let mut form = NewRequestForm {
        branches: suggestions(&repository),
        upstream: upstream.as_ref().map(Project::full_path),
        choices: FormChoices::default(),
        proposal: None,
        problem: None,
        template: None,
        project: repository.project.clone(),
    };
    if !branches.is_upstream {
        form.choices = load_form_choices(app, actor, &repository.project).await?;
    }
    if branches.source.is_empty() || branches.target.is_empty() {
        return Ok(form);
    }
    let Some(source) = find_tip(&repository, &branches.source) else {
        form.problem = Some("The source branch does not exist.");
        return Ok(form);
    };
    match (branches.is_upstream, upstream) {
        (true, None) => form.problem = Some(NO_UPSTREAM),
        (true, Some(upstream)) => {
            let (reference, action) = (ProjectRef::Id(upstream.id), ProjectAction::ReadMergeRequests);
            let target = open_repository(app, actor, &reference, action).await?;
            match find_tip(&target, &branches.target) {
                None => form.problem = Some(NO_TARGET_BRANCH),
                Some(_) => form.proposal = Some(propose(app, &repository, &upstream, branches, None).await?),
            }
        }
        (false, _) if branches.source == branches.target => {
            form.problem = Some("A branch cannot be merged into itself.");
        }
        (false, _) => match find_tip(&repository, &branches.target) {
            None => form.problem = Some(NO_TARGET_BRANCH),
            Some(target) => {
                let tips = Some((target, source));
                form.proposal = Some(propose(app, &repository, &repository.project, branches, tips).await?);
            }
        },
    }
    Ok(form)
}

/// Like [`show_new`], with the template of the description. A form that is shown again with what was entered needs none.
#[crate::boxed]
pub async fn show_new_with_template(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    branches: &ProposedBranches,
) -> Result<NewRequestForm> {
    let mut form = show_new(app, actor, project, branches).await?;
    if form.proposal.is_some() {
        let target = match form.project.source().filter(|_| branches.is_upstream) {
            Some(upstream) => {
                let reference = ProjectRef::Id(upstream.id);
                access::read_project(app, actor, &reference, ProjectAction::ReadMergeRequests).await?
            }
            None => form.project.clone(),
        };
        let repository = load_refs(app, actor, target).await?;
        form.template = description_template::find_for_merge_request(app, &repository).await;
    }
    Ok(form)
}

const NO_TARGET_BRANCH: &str = "The target branch does not exist.";
const NO_UPSTREAM: &str = "This project is no fork of a project that takes merge requests from you.";

async fn propose(
    app: &App,
    repository: &OpenRepository,
    target: &Project,
    branches: &ProposedBranches,
    tips: Option<(ObjectId, ObjectId)>,
) -> Result<Proposal> {
    let mut commits = match tips {
        Some((target, source)) => compare::list_commits(app, repository, Some(target), source, MAX_COMMITS + 1).await?,
        None => Vec::new(),
    };
    let has_more = commits.len() > MAX_COMMITS;
    commits.truncate(MAX_COMMITS);
    let source = Source { project: repository.project.id, branch: &branches.source };
    let mut connection = app.database.connection().await?;
    let existing_iid = open::find_iid(&mut connection, target.id, source, &branches.target).await?;
    Ok(Proposal { commits, has_more, existing_iid })
}

/// Returns the project that a project was forked from, if the actor may read its merge requests.
async fn find_upstream(app: &App, actor: &Actor, project: &Project) -> Result<Option<Project>> {
    let Some(source) = project.source() else { return Ok(None) };
    match access::read_project(app, actor, &ProjectRef::Id(source.id), ProjectAction::ReadMergeRequests).await {
        Ok(upstream) if !upstream.archived => Ok(Some(upstream)),
        Ok(_) | Err(Error::NotFound(_) | Error::Forbidden(_) | Error::Unauthenticated) => Ok(None),
        Err(error) => Err(error),
    }
}

fn suggestions(repository: &OpenRepository) -> Vec<String> {
    let default = repository.project.repository.default_branch();
    let branches = repository.refs.list(RefKind::Branches, 0..MAX_SUGGESTIONS).into_iter().map(|(name, _)| name);
    default.into_iter().chain(branches.filter(|name| Some(*name) != default)).map(str::to_owned).collect()
}

async fn load_form_choices(app: &App, actor: &Actor, project: &Project) -> Result<FormChoices> {
    match access::can(actor, project, ProjectAction::ManageMergeRequests) {
        true => load_choices(app, actor, project, ProjectAction::ManageMergeRequests).await,
        false => Ok(FormChoices::default()),
    }
}

/// Creates a merge request from the form.
#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    branches: &ProposedBranches,
    fields: RequestFields,
) -> Result<MergeRequest> {
    let source = access::read_project(app, actor, project, ProjectAction::CreateMergeRequest).await?;
    let target = match branches.is_upstream {
        true => Some(find_upstream(app, actor, &source).await?.ok_or(Error::Unprocessable(NO_UPSTREAM))?),
        false => None,
    };
    let upstream = target.as_ref().map(|upstream| upstream.id);
    let changes = fields.into_changes(app, actor, target.as_ref().unwrap_or(&source)).await?;
    let source = ProjectRef::Id(source.id);
    merge_request::create(app, actor, &source, &branches.source, upstream, changes).await
}

/// What the form of an existing merge request shows.
pub struct EditRequestForm {
    pub project: Project,
    pub request: MergeRequest,
    pub choices: FormChoices,
}

/// Returns the form of an existing merge request. Only users who may edit it get it.
#[crate::boxed]
pub async fn show_edit(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<EditRequestForm> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::CommentOnMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let request = merge_request::find_by_iid(&mut connection, actor, &project, iid).await?;
    drop(connection);
    if project.archived || !can_edit(actor, &project, &request) {
        return Err(Error::Forbidden(None));
    }
    let choices = load_form_choices(app, actor, &project).await?;
    Ok(EditRequestForm { project, request, choices })
}

/// Updates a merge request from the form.
#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    fields: RequestFields,
) -> Result<MergeRequest> {
    let form = show_edit(app, actor, project, iid).await?;
    let mut changes = fields.into_changes(app, actor, &form.project).await?;
    // A box that was never checked changes nothing.
    let is_unset = form.request.removes_source_branch.is_none() && changes.removes_source_branch == Some(false);
    if is_unset {
        changes.removes_source_branch = None;
    }
    merge_request::update(app, actor, &ProjectRef::Id(form.project.id), form.request.id, changes).await
}

impl RequestFields {
    /// Resolves the names in the form.
    async fn into_changes(self, app: &App, actor: &Actor, target: &Project) -> Result<MergeRequestChanges> {
        let mut violations = Violations::default();
        let mut changes = MergeRequestChanges {
            title: Some(self.title),
            description: match self.description.trim().is_empty() {
                true => Field::Null,
                false => Field::Value(self.description),
            },
            target_branch: Some(self.target_branch),
            removes_source_branch: Some(self.removes_source_branch),
            ..MergeRequestChanges::default()
        };
        if access::can(actor, target, ProjectAction::ManageMergeRequests) {
            let mut connection = app.database.connection().await?;
            let names = (self.assignee.as_str(), self.milestone.as_str());
            let (assignee, milestone) =
                find_assignee_and_milestone(&mut connection, actor, target, names, &mut violations).await?;
            (changes.assignee, changes.milestone) = (assignee, milestone);
            changes.labels = Some(self.labels);
        }
        violations.into_result()?;
        Ok(changes)
    }
}
