//! The form that changes the own password.

use askama::Template;
use holdfast_domain::Violations;

use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};

#[derive(Template)]
#[template(path = "accounts/password.html")]
pub struct PasswordPage {
    pub layout: Layout,
    pub errors: Vec<FormError>,
    pub current_password: FormField,
    pub new_password: FormField,
    pub repeated_password: FormField,
}

/// Builds the form. It never contains what was entered.
pub fn password_page(mut layout: Layout, violations: &Violations) -> PasswordPage {
    "Password".clone_into(&mut layout.title);
    let field = |name, label| FormField::new(name, label, "").with_violations(violations);
    let current_password = field("current_password", "Current password");
    let new_password = field("new_password", "New password");
    let repeated_password = field("repeated_password", "New password again");
    let errors = form::errors([&current_password, &new_password, &repeated_password]);
    PasswordPage { layout, errors, current_password, new_password, repeated_password }
}
