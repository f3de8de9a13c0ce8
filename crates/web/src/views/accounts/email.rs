//! The own e-mail addresses.

use askama::Template;
use holdfast_app::accounts::email::Email;
use holdfast_domain::Violations;
use holdfast_domain::page::Page;

use crate::layout::Layout;
use crate::views::Pages;
use crate::views::form::{self, FormError, FormField};

#[derive(Template)]
#[template(path = "accounts/emails.html")]
pub struct EmailsPage {
    pub layout: Layout,
    /// The address that is shown to others.
    pub primary: String,
    pub emails: Vec<EmailRow>,
    pub pages: Pages,
    pub errors: Vec<FormError>,
    pub email: FormField,
}

#[derive(Clone, Debug)]
pub struct EmailRow {
    pub id: i64,
    pub email: String,
}

/// Builds the list with its form. `entered` is an address that was rejected.
pub fn emails_page(
    mut layout: Layout,
    primary: &str,
    emails: &Page<Email>,
    entered: String,
    violations: &Violations,
) -> EmailsPage {
    "Email addresses".clone_into(&mut layout.title);
    let row = |email: &Email| EmailRow { id: email.id.get(), email: email.email.clone() };
    let email = FormField::new("email", "Address", entered).with_violations(violations);
    EmailsPage {
        layout,
        primary: primary.to_owned(),
        emails: emails.items.iter().map(row).collect(),
        pages: Pages::new(emails, "/profile/emails", &[]),
        errors: form::errors([&email]),
        email,
    }
}
