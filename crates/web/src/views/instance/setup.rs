//! The first run: the form that creates the first administrator.

use askama::Template;
use holdfast_domain::Violations;

use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};

#[derive(Template)]
#[template(path = "instance/setup.html")]
pub struct SetupPage {
    pub layout: Layout,
    pub errors: Vec<FormError>,
    pub code: FormField,
    pub username: FormField,
    pub name: FormField,
    pub email: FormField,
    pub password: FormField,
    pub repeated_password: FormField,
}

/// The values of the form that are shown again after a rejection. Code and passwords are not among them.
#[derive(Clone, Debug, Default)]
pub struct SetupValues {
    pub username: String,
    pub name: String,
    pub email: String,
}

/// Builds the form. `violations` is empty when it is shown at first.
pub fn setup_page(mut layout: Layout, values: SetupValues, violations: &Violations) -> SetupPage {
    "Set up Holdfast".clone_into(&mut layout.title);
    let field = |name, label, value: String| FormField::new(name, label, value).with_violations(violations);
    let code = field("setup_code", "Setup code", String::new());
    let username = field("username", "Username", values.username);
    let name = field("name", "Name", values.name);
    let email = field("email", "Email", values.email);
    let password = field("password", "Password", String::new());
    let repeated_password = field("repeated_password", "Password again", String::new());
    let errors = form::errors([&code, &username, &name, &email, &password, &repeated_password]);
    SetupPage { layout, errors, code, username, name, email, password, repeated_password }
}
