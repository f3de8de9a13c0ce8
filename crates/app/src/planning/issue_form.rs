//! The form of an issue: what it offers, and saving what a user entered.

use holdfast_domain::ids::{MilestoneId, UserId};
use holdfast_domain::page::{MAX_PAGE_SIZE, PageRequest};
use holdfast_domain::planning::{QuickAction, split_quick_actions};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::violations::INVALID;
use holdfast_domain::{Field, Violations, parse_date};
use holdfast_store::Connection;
use holdfast_store::accounts::user::UserSummary;
use holdfast_store::planning::{assignee as assignees, label, milestone};

use super::issue::{self, Issue, can_edit};
use super::issue_update::IssueChanges;
use super::issue_visibility::find_visible_by_iid;
use super::label::Label;
use super::milestone::{Filter, Milestone};
use super::quick_action::RefusedActions;
use super::{assignee, quick_action};
use crate::projects::project::{Project, ProjectRef};
use crate::repository::browse::description_template;
use crate::repository::open_repository::load_refs;
use crate::{Actor, App, Error, Result, access};

/// The labels, milestones and people that a form offers: the first hundred of each, as many as a page of a list has.
#[derive(Debug, Default)]
pub struct FormChoices {
    pub labels: Vec<Label>,
    /// Open milestones, the newest first.
    pub milestones: Vec<Milestone>,
    /// People who belong to the project. Empty unless the actor manages issues, or merge requests in their forms.
    pub people: Vec<UserSummary>,
}

/// What the form of an issue shows.
#[derive(Debug)]
pub struct IssueForm {
    pub project: Project,
    /// The issue that is edited, or None for a new one.
    pub issue: Option<Issue>,
    pub choices: FormChoices,
    /// The template of the description of a new issue, see [`show_new_with_template`].
    pub template: Option<String>,
}

/// The fields of the form, as they were entered.
#[derive(Clone, Debug, Default)]
pub struct IssueFields {
    pub title: String,
    /// May contain quick actions.
    pub description: String,
    /// Titles of all labels. Ignored, like assignee and milestone, unless the actor manages issues.
    pub labels: Vec<String>,
    /// A username, or an empty text for nobody.
    pub assignee: String,
    /// The title of a milestone, or an empty text for none.
    pub milestone: String,
    /// A date such as `2026-12-01`, or an empty text for none.
    pub due_date: String,
    pub is_confidential: bool,
}

/// An issue that was saved, and the quick actions of its description that were refused.
#[derive(Debug)]
pub struct SavedIssue {
    pub issue: Issue,
    pub refused: RefusedActions,
}

/// Returns the project of a text that the actor writes, for its preview.
#[crate::boxed]
pub async fn authorize_preview(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Project> {
    access::read_project(app, actor, project, ProjectAction::CreateIssue).await
}

/// Returns the form of a new issue.
#[crate::boxed]
pub async fn show_new(app: &App, actor: &Actor, project: &ProjectRef) -> Result<IssueForm> {
    let project = access::read_project(app, actor, project, ProjectAction::CreateIssue).await?;
    let choices = load_form_choices(app, actor, &project).await?;
    Ok(IssueForm { project, issue: None, choices, template: None })
}

/// Like [`show_new`], with the template of the description if the actor may read the code of the project. A form that is
/// shown again with what was entered needs none.
#[crate::boxed]
pub async fn show_new_with_template(app: &App, actor: &Actor, project: &ProjectRef) -> Result<IssueForm> {
    let mut form = show_new(app, actor, project).await?;
    if access::is_authorized(actor, &form.project, ProjectAction::ReadCode) {
        let repository = load_refs(app, actor, form.project.clone()).await?;
        form.template = description_template::find_for_issue(app, &repository).await;
    }
    Ok(form)
}

/// Returns the form of an existing issue. Only users who may edit the issue get it.
#[crate::boxed]
pub async fn show_edit(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<IssueForm> {
    let mut connection = app.database.connection().await?;
    let (project, issue) = find_editable(app, &mut connection, actor, project, iid).await?;
    drop(connection);
    let choices = load_form_choices(app, actor, &project).await?;
    Ok(IssueForm { project, issue: Some(issue), choices, template: None })
}

/// Loads what the form offers: nothing unless the actor manages issues.
async fn load_form_choices(app: &App, actor: &Actor, project: &Project) -> Result<FormChoices> {
    match access::can(actor, project, ProjectAction::ManageIssues) {
        true => load_choices(app, actor, project, ProjectAction::ManageIssues).await,
        false => Ok(FormChoices::default()),
    }
}

/// Loads what forms and filters offer to an actor who may read issues or merge requests. People are offered to those who
/// may perform `manage`.
pub(crate) async fn load_choices(
    app: &App,
    actor: &Actor,
    project: &Project,
    manage: ProjectAction,
) -> Result<FormChoices> {
    let first = PageRequest::new(None, Some(MAX_PAGE_SIZE));
    let viewer = super::label::viewer(actor, project);
    let labels = label::list(&app.database, project.id, viewer, None, first).await?.items;
    let open = Filter { closed: Some(false), ..Filter::default() };
    let milestones = milestone::list(&app.database, project.id, &open, first).await?.items;
    let people = match access::is_authorized(actor, project, manage) {
        true => assignees::list(&mut *app.database.connection().await?, project.id, app.today(), MAX_PAGE_SIZE).await?,
        false => Vec::new(),
    };
    Ok(FormChoices { labels, milestones, people })
}

async fn find_editable(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
) -> Result<(Project, Issue)> {
    let project = access::authorize_project(app, connection, actor, project, ProjectAction::CreateIssue).await?;
    let issue = find_visible_by_iid(connection, actor, &project, iid).await?;
    if can_edit(actor, &project, &issue) { Ok((project, issue)) } else { Err(Error::Forbidden(None)) }
}

/// Creates an issue from the form, and then runs the quick actions of its description.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, fields: IssueFields) -> Result<SavedIssue> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::CreateIssue).await?;
    let (changes, actions) = fields.into_changes(&mut connection, actor, &project).await?;
    drop(connection);
    let project = ProjectRef::Id(project.id);
    let issue = issue::create(app, actor, &project, changes).await?;
    let refused = quick_action::run(app, actor, &project, issue.id, &actions).await?;
    Ok(SavedIssue { issue, refused })
}

/// Updates an issue from the form, and then runs the quick actions of its description.
#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    fields: IssueFields,
) -> Result<SavedIssue> {
    let mut connection = app.database.connection().await?;
    let (project, before) = find_editable(app, &mut connection, actor, project, iid).await?;
    let (changes, actions) = fields.into_changes(&mut connection, actor, &project).await?;
    drop(connection);
    let project = ProjectRef::Id(project.id);
    let issue = issue::update(app, actor, &project, before.id, changes).await?;
    let refused = quick_action::run(app, actor, &project, issue.id, &actions).await?;
    Ok(SavedIssue { issue, refused })
}

/// Finds the assignee and the milestone that a form names, and reports those that do not exist. An empty text stands for
/// none.
pub(crate) async fn find_assignee_and_milestone(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    (assignee_name, milestone_title): (&str, &str),
    violations: &mut Violations,
) -> Result<(Field<UserId>, Field<MilestoneId>)> {
    let (mut found_user, mut found_milestone) = (Field::Null, Field::Null);
    if !assignee_name.trim().is_empty() {
        match assignee::find_by_name(connection, actor, assignee_name).await? {
            Some(user) => found_user = Field::Value(user),
            None => violations.add("assignee_id", INVALID),
        }
    }
    if !milestone_title.is_empty() {
        match milestone::find_id(connection, project.id, milestone_title).await? {
            Some(id) => found_milestone = Field::Value(id),
            None => violations.add("milestone_id", INVALID),
        }
    }
    Ok((found_user, found_milestone))
}

impl IssueFields {
    /// Resolves the names in the form, and separates the quick actions from the description.
    async fn into_changes(
        self,
        connection: &mut Connection,
        actor: &Actor,
        project: &Project,
    ) -> Result<(IssueChanges, Vec<QuickAction>)> {
        let mut violations = Violations::default();
        let (description, actions) = split_quick_actions(&self.description);
        let due_date = match self.due_date.trim() {
            "" => Field::Null,
            text => match parse_date(text) {
                Some(date) => Field::Value(date),
                None => {
                    violations.add("due_date", INVALID);
                    Field::Absent
                }
            },
        };
        let mut changes = IssueChanges {
            title: Some(self.title),
            description: if description.is_empty() { Field::Null } else { Field::Value(description) },
            due_date,
            confidential: Some(self.is_confidential),
            ..IssueChanges::default()
        };
        if access::can(actor, project, ProjectAction::ManageIssues) {
            changes.labels = Some(self.labels);
            let names = (self.assignee.as_str(), self.milestone.as_str());
            (changes.assignee, changes.milestone) =
                find_assignee_and_milestone(connection, actor, project, names, &mut violations).await?;
        }
        violations.into_result()?;
        Ok((changes, actions))
    }
}
