//! The deploy keys of a project, and their forms.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::projects::deploy_key::{DeployKey, MAX_OTHER_PROJECTS, ProjectDeployKeys};
use holdfast_app::projects::project::Project;
use holdfast_domain::Violations;
use holdfast_domain::accounts::{PublicKey, ssh_key};

use super::frame::{ProjectTab, project_frame};
use super::settings_nav::SettingsNav;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::{Pages, ProjectLinks};
use crate::words::Time;

#[derive(Template)]
#[template(path = "projects/deploy_keys.html")]
pub struct DeployKeysPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    pub new_url: String,
    pub keys: Vec<DeployKeyRow>,
    pub pages: Pages,
}

#[derive(Clone, Debug)]
pub struct DeployKeyRow {
    pub url: String,
    pub title: String,
    /// The algorithm, such as `ssh-ed25519`.
    pub algorithm: String,
    pub fingerprint: String,
    pub can_push: bool,
    pub added: Time,
    /// Other projects that have the key, as far as the viewer can see them.
    pub others: Vec<OtherProject>,
    pub has_more_others: bool,
}

#[derive(Clone, Debug)]
pub struct OtherProject {
    pub path: String,
    pub url: String,
}

fn fingerprint(key: &DeployKey) -> String {
    PublicKey::parse(&key.key).map_or_else(|_| "unknown".to_owned(), |key| key.fingerprint().to_owned())
}

/// Builds the list.
pub fn deploy_keys_page(
    layout: Layout,
    found: &ProjectDeployKeys,
    abilities: Abilities,
    now: DateTime<Utc>,
) -> DeployKeysPage {
    let project = &found.project;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("Deploy keys · {}", project.full_path());
    let list = links.settings_page("deploy_keys");
    let other = |path: &String| OtherProject { path: path.clone(), url: ProjectLinks::new(path).home().to_owned() };
    let row = |key: &DeployKey| {
        let others = found.other_projects.get(&key.id).map(Vec::as_slice).unwrap_or_default();
        DeployKeyRow {
            url: format!("{list}/{}", key.id),
            title: key.title.clone(),
            algorithm: key.key.split(' ').next().unwrap_or_default().to_owned(),
            fingerprint: fingerprint(key),
            can_push: key.can_push,
            added: Time::ago(key.created_at, now),
            others: others.iter().take(MAX_OTHER_PROJECTS).map(other).collect(),
            has_more_others: others.len() > MAX_OTHER_PROJECTS,
        }
    };
    DeployKeysPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        new_url: format!("{list}/new"),
        keys: found.keys.items.iter().map(row).collect(),
        pages: Pages::new(&found.keys, &list, &[]),
    }
}

/// The values of the form: those of the key at first, and those that the user entered after a rejection.
#[derive(Clone, Debug, Default)]
pub struct DeployKeyValues {
    pub title: String,
    /// The public key. Only a new one is entered.
    pub key: String,
    pub can_push: bool,
}

impl From<&DeployKey> for DeployKeyValues {
    fn from(key: &DeployKey) -> Self {
        Self { title: key.title.clone(), key: key.key.clone(), can_push: key.can_push }
    }
}

#[derive(Template)]
#[template(path = "projects/deploy_key.html")]
pub struct DeployKeyFormPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    /// The key that is changed, or None for a new one.
    pub edited: Option<EditedKey>,
    pub action: String,
    pub cancel_url: String,
    pub errors: Vec<FormError>,
    pub title: FormField,
    pub key: FormField,
    pub can_push: bool,
}

/// What the form shows of a key that exists.
#[derive(Clone, Debug)]
pub struct EditedKey {
    pub title: String,
    pub fingerprint: String,
}

/// Builds the form for a new key. A private key that was entered is not shown again.
pub fn new_deploy_key_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    mut values: DeployKeyValues,
    violations: &Violations,
) -> DeployKeyFormPage {
    if ssh_key::is_private_key(&values.key) {
        values.key.clear();
    }
    form_page(layout, project, abilities, None, values, violations)
}

/// Builds the form of a key that exists.
pub fn deploy_key_form_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    key: &DeployKey,
    values: DeployKeyValues,
    violations: &Violations,
) -> DeployKeyFormPage {
    form_page(layout, project, abilities, Some(key), values, violations)
}

fn form_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    edited: Option<&DeployKey>,
    values: DeployKeyValues,
    violations: &Violations,
) -> DeployKeyFormPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    let name = edited.map_or_else(|| "New deploy key".to_owned(), |key| format!("Deploy key {}", key.title));
    layout.title = format!("{name} · {}", project.full_path());
    let list = links.settings_page("deploy_keys");
    let title = FormField::new("title", "Title", values.title).with_violations(violations);
    let key = FormField::new("key", "Public key", values.key).with_violations(violations);
    DeployKeyFormPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        edited: edited.map(|key| EditedKey { title: key.title.clone(), fingerprint: fingerprint(key) }),
        action: edited.map_or_else(|| list.clone(), |key| format!("{list}/{}", key.id)),
        cancel_url: list,
        errors: form::errors([&title, &key]),
        title,
        key,
        can_push: values.can_push,
    }
}
