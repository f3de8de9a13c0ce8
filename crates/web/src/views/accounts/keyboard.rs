//! The list of keys.

use askama::Template;

use crate::layout::Layout;

#[derive(Template)]
#[template(path = "accounts/keyboard.html")]
pub struct KeyboardPage {
    pub layout: Layout,
}

/// Builds the list of all keys.
pub fn keyboard_page(layout: Layout) -> KeyboardPage {
    KeyboardPage { layout }
}
