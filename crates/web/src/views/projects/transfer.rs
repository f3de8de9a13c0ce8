//! The form that moves a project to another namespace.

use askama::Template;
use holdfast_app::namespaces::namespace::Namespace;
use holdfast_app::projects::transfer::TransferTargets;
use holdfast_domain::Violations;
use holdfast_domain::ids::NamespaceId;
use holdfast_domain::namespaces::NamespaceKind;

use super::frame::{ProjectTab, project_frame};
use super::settings_nav::SettingsNav;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::new::NamespaceOption;

#[derive(Template)]
#[template(path = "projects/transfer.html")]
pub struct TransferPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    pub action: String,
    pub cancel_url: String,
    /// The text that confirms the transfer.
    pub path: String,
    /// Who loses access.
    pub lost_access: String,
    pub errors: Vec<FormError>,
    /// The error about the namespace. The choices are in `targets`.
    pub namespace: FormField,
    pub targets: Vec<NamespaceOption>,
    pub has_more_targets: bool,
    pub confirm: FormField,
}

/// The values of the form.
#[derive(Clone, Debug, Default)]
pub struct TransferValues {
    pub namespace: Option<NamespaceId>,
    pub confirm: String,
}

/// Builds the form.
pub fn transfer_page(
    layout: Layout,
    found: &TransferTargets,
    abilities: Abilities,
    values: TransferValues,
    violations: &Violations,
) -> TransferPage {
    let project = &found.project;
    let path = project.full_path();
    let links = ProjectLinks::new(&path);
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("Transfer · {path}");
    let target = |namespace: &Namespace| NamespaceOption {
        id: namespace.id.get(),
        path: namespace.path.clone(),
        is_selected: values.namespace == Some(namespace.id),
    };
    let others = found.namespaces.items.iter().filter(|namespace| namespace.id != project.namespace.id);
    let namespace = FormField { name: "namespace_id", ..field("namespace", "Namespace", String::new(), violations) };
    let confirm = field("confirm_path", "Path of the project", values.confirm, violations);
    let lost_access = match project.namespace.kind {
        NamespaceKind::Group => format!(
            "The members of the group {} lose access, unless they are direct members or members of the new group.",
            project.namespace.path
        ),
        NamespaceKind::User => format!("{} is no longer the owner, and stays a member.", project.namespace.path),
    };
    TransferPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        action: links.settings_page("transfer"),
        cancel_url: links.settings(),
        path,
        lost_access,
        errors: form::errors([&namespace, &confirm]),
        namespace,
        targets: others.map(target).collect(),
        has_more_targets: found.namespaces.has_next,
        confirm,
    }
}

fn field(name: &'static str, label: &'static str, value: String, violations: &Violations) -> FormField {
    FormField::new(name, label, value).with_violations(violations)
}
