//! What is said of an issue when it is made or changed.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{LabelId, MilestoneId, ProjectId, UserId};
use holdfast_domain::planning::{Color, LabelTitle, StateEvent};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::MAX_TEXT_BYTES;
use holdfast_domain::violations::{BLANK, INVALID};
use holdfast_domain::{Field, Violations};
use holdfast_store::Connection;
use holdfast_store::accounts::user;
use holdfast_store::planning::issue::Attributes;
use holdfast_store::planning::{label, milestone};
use holdfast_store::projects::project;

use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Result, access};

/// What a creation gives or an update changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssueChanges {
    pub title: Option<String>,
    pub description: Field<String>,
    pub assignee: Field<UserId>,
    pub milestone: Field<MilestoneId>,
    /// All of them, by title.
    pub labels: Option<Vec<String>>,
    pub due_date: Field<NaiveDate>,
    pub confidential: Option<bool>,
    pub state_event: Option<StateEvent>,
    /// When it happened, if not now: for who owns the project.
    pub at: Option<DateTime<Utc>>,
}

/// An issue as it is to be; labels of None stay.
pub(super) struct Changed {
    pub attributes: Attributes,
    pub labels: Option<Vec<(LabelId, String)>>,
    /// The commit that says so.
    pub commit: Option<String>,
}

impl IssueChanges {
    /// Labels, assignee and milestone are for who manages issues; what others say of them is passed over.
    pub(super) async fn apply(
        self,
        app: &App,
        connection: &mut Connection,
        actor: &Actor,
        project: &Project,
        now: Attributes,
    ) -> Result<Changed> {
        let manages = access::may(actor, project, ProjectAction::ManageIssues);
        let mut violations = Violations::default();
        let current = now.description.as_deref();
        violations.check_changed_size("description", &self.description, current, MAX_TEXT_BYTES);
        let mut a = Attributes {
            title: self.title.unwrap_or(now.title),
            description: self.description.or_nullable(now.description),
            state: self.state_event.and_then(|event| now.state.after(event)).unwrap_or(now.state),
            confidential: self.confidential.unwrap_or(now.confidential),
            due_date: self.due_date.or_nullable(now.due_date),
            ..now
        };
        if a.title.trim().is_empty() {
            violations.add("title", BLANK);
        }
        violations.check_line("title", &a.title);
        let mut labels = None;
        if manages {
            if let Field::Value(assignee) = self.assignee
                && Some(assignee) != a.assignee
                && !is_seen_by(app, connection, project.id, assignee).await?
            {
                violations.add("assignee_id", INVALID);
            }
            if let Field::Value(id) = self.milestone
                && milestone::find(connection, project.id, id).await?.is_none()
            {
                violations.add("milestone_id", INVALID);
            }
            a.assignee = self.assignee.or_nullable(a.assignee);
            a.milestone = self.milestone.or_nullable(a.milestone);
            let titles = self.labels.map(|titles| {
                let parsed =
                    titles.iter().filter(|title| !title.trim().is_empty()).map(|title| LabelTitle::parse(title));
                parsed.filter_map(|title| violations.check("labels", title)).collect::<Vec<_>>()
            });
            violations.into_result()?;
            if let Some(mut titles) = titles {
                titles.sort();
                titles.dedup();
                labels = Some(find_or_create_labels(app, connection, project.id, titles).await?);
            }
        } else {
            violations.into_result()?;
        }
        Ok(Changed { attributes: a, labels, commit: None })
    }
}

/// Whether somebody could be given something to do in the project.
pub(super) async fn is_seen_by(
    app: &App,
    connection: &mut Connection,
    project: ProjectId,
    user: UserId,
) -> Result<bool> {
    let Some(account) = user::find(connection, user).await? else { return Ok(false) };
    let account = account.account();
    let Some(found) = project::find(connection, &ProjectRef::Id(project), Some(user), app.today()).await? else {
        return Ok(false);
    };
    Ok(account.is_active() && ProjectAction::Read.allowed(found.visibility, account.standing(), found.level()))
}

async fn find_or_create_labels(
    app: &App,
    connection: &mut Connection,
    project: ProjectId,
    titles: Vec<LabelTitle>,
) -> Result<Vec<(LabelId, String)>> {
    let wanted: Vec<&str> = titles.iter().map(LabelTitle::as_str).collect();
    let mut labels = label::of_titles(connection, project, &wanted).await?;
    let missing: Vec<&str> =
        wanted.into_iter().filter(|title| labels.iter().all(|(_, known)| known != title)).collect();
    if !missing.is_empty() {
        let color = Color::default();
        labels.extend(label::insert_all(connection, project, &missing, &color, app.clock.now()).await?);
    }
    Ok(labels)
}

/// The time that the caller may say something happened: who may delete it may say when it was.
pub(super) fn time_of(app: &App, actor: &Actor, project: &Project, at: Option<DateTime<Utc>>) -> DateTime<Utc> {
    at.filter(|_| access::may(actor, project, ProjectAction::DeleteIssue)).unwrap_or_else(|| app.clock.now())
}
