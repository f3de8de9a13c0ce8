//! The preferences of a browser.

use askama::Template;

use crate::layout::Layout;

#[derive(Template)]
#[template(path = "accounts/preferences.html")]
pub struct PreferencesPage {
    pub layout: Layout,
}

/// Builds the form, with the values of the cookies that the layout has read.
pub fn preferences_page(mut layout: Layout) -> PreferencesPage {
    "Preferences".clone_into(&mut layout.title);
    PreferencesPage { layout }
}
