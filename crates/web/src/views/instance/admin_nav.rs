//! The frame of the pages of the administration. `parts/admin_nav.html` has the links between them.

use crate::layout::{Crumb, Layout};

/// Returns the frame of a page of the administration with this title.
pub fn admin_frame(mut layout: Layout, title: &str) -> Layout {
    layout.title = format!("{title} · Administration");
    layout.crumbs = vec![Crumb { label: "Administration".to_owned(), url: Some("/admin".to_owned()) }];
    layout
}
