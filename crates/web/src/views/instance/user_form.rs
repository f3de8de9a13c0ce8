//! The fields of a user that administrators set, and the form for a new user.

use askama::Template;
use holdfast_app::accounts::user::User;
use holdfast_domain::Violations;

use super::admin_nav::admin_frame;
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};

/// The values of the form: those of the user at first, and those that were entered after a rejection.
#[derive(Clone, Debug)]
pub struct UserValues {
    pub username: String,
    pub name: String,
    pub email: String,
    pub projects_limit: String,
    pub is_administrator: bool,
    pub is_external: bool,
    pub can_create_group: bool,
}

impl From<&User> for UserValues {
    fn from(user: &User) -> Self {
        Self {
            username: user.username.clone(),
            name: user.name.clone(),
            email: user.email.clone(),
            projects_limit: user.projects_limit.to_string(),
            is_administrator: user.admin,
            is_external: user.external,
            can_create_group: user.can_create_group,
        }
    }
}

/// The fields that `parts/admin_user.html` shows.
#[derive(Clone, Debug)]
pub struct UserFields {
    pub username: FormField,
    pub name: FormField,
    pub email: FormField,
    pub projects_limit: FormField,
    pub is_administrator: bool,
    pub is_external: bool,
    pub can_create_group: bool,
    /// Whether the viewer edits another user. Nobody takes their own administration away.
    pub is_other: bool,
}

impl UserFields {
    pub fn new(values: UserValues, is_other: bool, violations: &Violations) -> Self {
        let field = |name, label, value| FormField::new(name, label, value).with_violations(violations);
        Self {
            username: field("username", "Username", values.username),
            name: field("name", "Name", values.name),
            email: field("email", "Email", values.email),
            projects_limit: field("projects_limit", "Limit of projects", values.projects_limit),
            is_administrator: values.is_administrator,
            is_external: values.is_external,
            can_create_group: values.can_create_group,
            is_other,
        }
    }

    /// Returns the fields in their order on the page.
    pub fn list(&self) -> [&FormField; 4] {
        [&self.username, &self.name, &self.email, &self.projects_limit]
    }
}

#[derive(Template)]
#[template(path = "instance/new_user.html")]
pub struct NewUserPage {
    pub layout: Layout,
    pub errors: Vec<FormError>,
    pub fields: UserFields,
    pub password: FormField,
}

/// Builds the form for a new user. `violations` is empty when it is shown at first.
pub fn new_user_page(layout: Layout, values: UserValues, violations: &Violations) -> NewUserPage {
    let fields = UserFields::new(values, true, violations);
    let password = FormField::new("password", "Password", "").with_violations(violations);
    let errors = form::errors(fields.list().into_iter().chain([&password]));
    NewUserPage { layout: admin_frame(layout, "New user"), errors, fields, password }
}
