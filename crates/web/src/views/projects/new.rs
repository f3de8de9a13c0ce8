//! The form that creates a project.

use askama::Template;
use holdfast_app::namespaces::namespace::Namespace;
use holdfast_domain::ids::NamespaceId;
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::page::Page;
use holdfast_domain::{Violations, Visibility};

use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::visibility_choice::VisibilityChoice;

#[derive(Template)]
#[template(path = "projects/new.html")]
pub struct NewProjectPage {
    pub layout: Layout,
    pub errors: Vec<FormError>,
    pub name: FormField,
    pub path: FormField,
    pub description: FormField,
    pub import_url: FormField,
    /// The error about the namespace. The choices are in `groups`.
    pub namespace: FormField,
    /// The groups in which the viewer may create projects.
    pub groups: Vec<NamespaceOption>,
    /// Whether there are more groups than the form offers.
    pub has_more_groups: bool,
    pub visibility: VisibilityChoice,
}

#[derive(Clone, Debug)]
pub struct NamespaceOption {
    pub id: i64,
    pub path: String,
    pub is_selected: bool,
}

/// The values of the form.
#[derive(Clone, Debug)]
pub struct NewProjectValues {
    pub name: String,
    pub path: String,
    pub description: String,
    /// None for the viewer's own namespace.
    pub namespace: Option<NamespaceId>,
    pub visibility: Visibility,
    pub import_url: String,
}

impl Default for NewProjectValues {
    fn default() -> Self {
        Self {
            name: String::new(),
            path: String::new(),
            description: String::new(),
            namespace: None,
            visibility: Visibility::Private,
            import_url: String::new(),
        }
    }
}

/// Builds the form. `namespaces` are those in which the viewer may create projects.
pub fn new_project_page(
    mut layout: Layout,
    namespaces: &Page<Namespace>,
    values: NewProjectValues,
    violations: &Violations,
) -> NewProjectPage {
    "New project".clone_into(&mut layout.title);
    let field = |name, label, value| FormField::new(name, label, value).with_violations(violations);
    let group = |namespace: &Namespace| NamespaceOption {
        id: namespace.id.get(),
        path: namespace.path.clone(),
        is_selected: values.namespace == Some(namespace.id),
    };
    let groups = namespaces.items.iter().filter(|namespace| namespace.kind == NamespaceKind::Group);
    let groups = groups.map(group).collect();
    let visibility = VisibilityChoice::new(values.visibility, violations);
    let name = field("name", "Name", values.name);
    let namespace = field("namespace", "Namespace", String::new());
    let path = field("path", "Path", values.path);
    let description = field("description", "Description", values.description);
    let import_url = field("import_url", "Import from", values.import_url);
    let errors = form::errors([&name, &namespace, &path, &description, &visibility.field, &import_url]);
    let has_more_groups = namespaces.has_next;
    NewProjectPage {
        layout,
        errors,
        name,
        path,
        description,
        import_url,
        namespace,
        groups,
        has_more_groups,
        visibility,
    }
}
