//! The frame of every page: header, navigation, flash message and footer.
//!
//! A page is a struct with `#[derive(askama::Template)]` and a field `layout`; its template extends `layout.html`, which
//! reads these values. Nothing here queries: `dispatch.rs` fills the values from the session and the declared page.

use crate::theme::Theme;

/// The values that `layout.html` shows around the content of a page.
#[derive(Clone, Debug, Default, Hash)]
pub struct Layout {
    /// Text of `<title>`, without the name of the product.
    pub title: String,
    /// The signed-in user, or `None` for an anonymous viewer.
    pub viewer: Option<Viewer>,
    /// The path to this page in the header, outermost first.
    pub crumbs: Vec<Crumb>,
    /// The tabs of the project, group or profile that this page belongs to.
    pub tabs: Vec<Tab>,
    pub flash: Option<Flash>,
    /// Prefix of asset URLs without a trailing slash: `/assets/VERSION`.
    pub assets: &'static str,
    /// Value of `data-theme` on `<html>`; `None` follows the system.
    pub theme: Option<&'static str>,
    /// Whether single keys follow links and move through lists.
    pub has_shortcuts: bool,
    pub request_id: String,
    /// The API request with the same content, such as `GET /api/v3/projects/1`.
    pub api_call: Option<String>,
    /// Path and query of this page, for links that return to it.
    pub path: String,
}

impl Layout {
    /// Returns whether this is the page with this path, whatever its query is.
    pub fn is_at(&self, path: &str) -> bool {
        self.path.split('?').next() == Some(path)
    }

    /// Returns whether this is a page below the page with this path.
    pub fn is_below(&self, path: &str) -> bool {
        self.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the address to which a form in the frame leads back. The query of the sign-in form is left out: anybody
    /// can write another address into it.
    pub fn return_path(&self) -> &str {
        if self.is_at("/sign_in") { "/sign_in" } else { &self.path }
    }

    /// Returns whether the viewer has chosen this theme.
    pub fn has_theme(&self, theme: &Theme) -> bool {
        self.theme == theme.is_fixed.then_some(theme.word)
    }
}

/// The signed-in user as the header shows them.
#[derive(Clone, Debug, Hash)]
pub struct Viewer {
    pub username: String,
    pub name: String,
    pub url: String,
    pub can_create_group: bool,
    pub is_administrator: bool,
}

/// One segment of the path in the header. The last one has no URL.
#[derive(Clone, Debug, Hash)]
pub struct Crumb {
    pub label: String,
    pub url: Option<String>,
}

/// A link of the navigation within a project, group or profile.
#[derive(Clone, Debug, Hash)]
pub struct Tab {
    pub label: &'static str,
    pub url: String,
    pub is_current: bool,
    pub count: Option<i64>,
}

/// A message about the action that led to this page.
#[derive(Clone, Debug, Hash)]
pub struct Flash {
    /// `ok` or `bad`.
    pub kind: &'static str,
    pub text: String,
}
