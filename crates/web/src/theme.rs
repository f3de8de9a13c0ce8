//! The choices of colors.

/// A choice of colors.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// The value in the form and in the cookie.
    pub word: &'static str,
    pub label: &'static str,
    /// Whether the theme does not depend on the system. Such a choice is stored.
    pub is_fixed: bool,
}

/// All choices, in the order in which they are offered.
pub const THEMES: [Theme; 3] = [
    Theme { word: "system", label: "As the system", is_fixed: false },
    Theme { word: "light", label: "Light", is_fixed: true },
    Theme { word: "dark", label: "Dark", is_fixed: true },
];
