//! The triggers of a project, and one with its token.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::ci::trigger::{ProjectTrigger, ProjectTriggers, Trigger};
use holdfast_domain::{InstanceUrls, Violations};

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::projects::settings_nav::SettingsNav;
use crate::views::{Pages, Person, ProjectLinks};
use crate::words::Time;

#[derive(Template)]
#[template(path = "ci/triggers.html")]
pub struct TriggersPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    /// The address that the form is sent to.
    pub action: String,
    pub triggers: Vec<TriggerRow>,
    pub pages: Pages,
    /// The trigger that was just created.
    pub new_trigger: Option<NewTrigger>,
    pub errors: Vec<FormError>,
    pub description: FormField,
    /// The branch of the command.
    branch: String,
}

/// A new trigger with its token.
#[derive(Clone, Debug)]
pub struct NewTrigger {
    pub token: String,
    pub command: String,
}

#[derive(Clone, Debug)]
pub struct TriggerRow {
    pub url: String,
    /// The description, or the number of a trigger without one.
    pub name: String,
    /// The first characters of the token.
    pub token_start: String,
    pub owner: Option<Person>,
    pub last_used: Option<Time>,
}

/// Builds the list of triggers with the form that creates one.
pub fn triggers_page(
    layout: Layout,
    found: &ProjectTriggers,
    abilities: Abilities,
    description: String,
    violations: &Violations,
    now: DateTime<Utc>,
) -> TriggersPage {
    let project = &found.project;
    let action = ProjectLinks::new(&project.full_path()).settings_page("triggers");
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("Triggers · {}", project.full_path());
    let row = |trigger: &Trigger| TriggerRow {
        url: format!("{action}/{}", trigger.id),
        name: name(trigger),
        token_start: trigger.token.start.clone(),
        owner: trigger.owner.as_ref().map(Person::from_user),
        last_used: trigger.last_used.map(|at| Time::ago(at, now)),
    };
    let description = FormField::new("description", "Description", description).with_violations(violations);
    TriggersPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        triggers: found.triggers.items.iter().map(row).collect(),
        pages: Pages::new(&found.triggers, &action, &[]),
        new_trigger: None,
        errors: form::errors([&description]),
        description,
        branch: project.repository.default_branch().unwrap_or("main").to_owned(),
        action,
    }
}

impl TriggersPage {
    /// Returns the page with the token of a trigger.
    pub fn with_new_trigger(mut self, trigger: &Trigger, token: String, site: &InstanceUrls) -> Self {
        let command = command(trigger, &token, &self.branch, site);
        self.new_trigger = Some(NewTrigger { token, command });
        self
    }
}

fn name(trigger: &Trigger) -> String {
    let description = trigger.description.clone().filter(|text| !text.trim().is_empty());
    description.unwrap_or_else(|| format!("Trigger {}", trigger.id))
}

/// Returns a text as one word of a shell.
fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns the command that starts a pipeline with a trigger.
fn command(trigger: &Trigger, token: &str, branch: &str, site: &InstanceUrls) -> String {
    let url = site.url(&format!("/api/v4/projects/{}/trigger/pipeline", trigger.project_id));
    let (token, reference) = (shell_word(&format!("token={token}")), shell_word(&format!("ref={branch}")));
    format!("curl --request POST --form {token} --form {reference} {}", shell_word(&url))
}

#[derive(Template)]
#[template(path = "ci/trigger.html")]
pub struct TriggerPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    pub name: String,
    pub action: String,
    pub list_url: String,
    /// The full token, if the viewer may see it.
    pub token: Option<String>,
    /// The first characters of the token.
    pub token_start: String,
    pub command: String,
    pub owner: Option<Person>,
    pub created: Time,
    pub last_used: Option<Time>,
    pub errors: Vec<FormError>,
    pub description: FormField,
}

/// Builds the page that shows the token of a trigger.
pub fn trigger_page(
    layout: Layout,
    found: &ProjectTrigger,
    abilities: Abilities,
    description: String,
    violations: &Violations,
    site: &InstanceUrls,
    now: DateTime<Utc>,
) -> TriggerPage {
    let ProjectTrigger { project, trigger, token } = found;
    let list_url = ProjectLinks::new(&project.full_path()).settings_page("triggers");
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("{} · Triggers · {}", name(trigger), project.full_path());
    let branch = project.repository.default_branch().unwrap_or("main");
    let description = FormField::new("description", "Description", description).with_violations(violations);
    TriggerPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        name: name(trigger),
        action: format!("{list_url}/{}", trigger.id),
        list_url,
        command: command(trigger, token.as_deref().unwrap_or("TOKEN"), branch, site),
        token: token.clone(),
        token_start: trigger.token.start.clone(),
        owner: trigger.owner.as_ref().map(Person::from_user),
        created: Time::date(trigger.created_at),
        last_used: trigger.last_used.map(|at| Time::ago(at, now)),
        errors: form::errors([&description]),
        description,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A branch of the repository must not become a command of those who copy the line.
    #[test]
    fn a_branch_is_one_word_of_the_command() {
        assert_eq!(shell_word("ref=main"), "'ref=main'");
        assert_eq!(shell_word("ref=$(rm)';x"), r"'ref=$(rm)'\'';x'");
    }
}
