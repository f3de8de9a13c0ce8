//! The form that creates a group.

use askama::Template;
use holdfast_domain::{Violations, Visibility};

use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::visibility_choice::VisibilityChoice;

#[derive(Template)]
#[template(path = "namespaces/new_group.html")]
pub struct NewGroupPage {
    pub layout: Layout,
    /// Whether the viewer may create groups. Otherwise the page says so and has no form.
    pub can_create: bool,
    pub errors: Vec<FormError>,
    pub name: FormField,
    pub path: FormField,
    pub description: FormField,
    pub visibility: VisibilityChoice,
}

/// The values of the form.
#[derive(Clone, Debug)]
pub struct NewGroupValues {
    pub name: String,
    pub path: String,
    pub description: String,
    pub visibility: Visibility,
}

impl Default for NewGroupValues {
    fn default() -> Self {
        Self { name: String::new(), path: String::new(), description: String::new(), visibility: Visibility::Private }
    }
}

/// Builds the form.
pub fn new_group_page(
    mut layout: Layout,
    values: NewGroupValues,
    violations: &Violations,
    can_create: bool,
) -> NewGroupPage {
    "New group".clone_into(&mut layout.title);
    let field = |name, label, value| FormField::new(name, label, value).with_violations(violations);
    let visibility = VisibilityChoice::new(values.visibility, violations);
    let name = field("name", "Name", values.name);
    let path = field("path", "Path", values.path);
    let description = field("description", "Description", values.description);
    let errors = form::errors([&name, &path, &description, &visibility.field]);
    NewGroupPage { layout, can_create, errors, name, path, description, visibility }
}
