//! Pages that ask for a password: signing in, and confirming an identity before a sensitive action.

use askama::Template;

use crate::layout::Layout;

/// The form that signs a user in.
#[derive(Template)]
#[template(path = "accounts/sign_in.html")]
pub struct SignInPage {
    pub layout: Layout,
    /// The name of the instance's host.
    pub host: String,
    /// The username or address that was entered.
    pub login: String,
    pub is_remembered: bool,
    /// Number of days that "stay signed in" lasts.
    pub session_days: u32,
    /// Why the form was rejected. The same text for all causes, so that it does not reveal which accounts exist.
    pub error: Option<String>,
    /// The address of the page to which the form leads after the sign-in.
    pub to: String,
}

impl SignInPage {
    /// Creates an empty form.
    pub fn new(mut layout: Layout, host: impl Into<String>, session_days: u32, to: impl Into<String>) -> Self {
        "Sign in".clone_into(&mut layout.title);
        Self {
            layout,
            host: host.into(),
            login: String::new(),
            is_remembered: false,
            session_days,
            error: None,
            to: to.into(),
        }
    }

    /// Returns the form after it was rejected, with what was entered except the password.
    pub fn rejected(mut self, login: impl Into<String>, is_remembered: bool, error: impl Into<String>) -> Self {
        self.login = login.into();
        self.is_remembered = is_remembered;
        self.error = Some(error.into());
        self
    }
}

/// The form that asks a signed-in user for the password again.
#[derive(Template)]
#[template(path = "accounts/confirm.html")]
pub struct ConfirmPage {
    pub layout: Layout,
    pub error: Option<String>,
    /// The page that follows, or the action that is repeated with `fields`.
    pub to: String,
    /// Fields of the form that was interrupted. Never a password or a file.
    pub fields: Vec<(String, String)>,
}

impl ConfirmPage {
    pub fn new(mut layout: Layout, to: impl Into<String>, fields: Vec<(String, String)>) -> Self {
        "Confirm your password".clone_into(&mut layout.title);
        Self { layout, error: None, to: to.into(), fields }
    }

    /// Returns the form after it was rejected.
    pub fn rejected(mut self, error: impl Into<String>) -> Self {
        self.error = Some(error.into());
        self
    }
}
