//! The visibility of projects and groups as an icon with a word.

use holdfast_domain::Visibility;

use crate::icons::{self, Icon};

/// A visibility with its explanation.
#[derive(Clone, Copy, Debug)]
pub struct VisibilityView {
    pub icon: Icon,
    pub text: &'static str,
    pub explanation: &'static str,
}

impl From<Visibility> for VisibilityView {
    fn from(visibility: Visibility) -> Self {
        match visibility {
            Visibility::Private => Self { icon: icons::LOCK, text: "Private", explanation: "Visible to members only" },
            Visibility::Internal => {
                Self { icon: icons::INTERNAL, text: "Internal", explanation: "Visible to all signed-in users" }
            }
            Visibility::Public => Self { icon: icons::PUBLIC, text: "Public", explanation: "Visible to everybody" },
        }
    }
}
