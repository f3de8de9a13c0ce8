//! The preferences of a browser.

use askama::Template;

use crate::layout::Layout;

/// A choice of colors.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// The value in the form and in the cookie.
    pub word: &'static str,
    pub label: &'static str,
    /// Whether the theme does not depend on the system. Such a choice is stored.
    pub is_fixed: bool,
}

pub const THEMES: [Theme; 3] = [
    Theme { word: "system", label: "As the system", is_fixed: false },
    Theme { word: "light", label: "Light", is_fixed: true },
    Theme { word: "dark", label: "Dark", is_fixed: true },
];

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
