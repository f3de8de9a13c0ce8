//! The choice of a visibility in a form.

use holdfast_domain::{Violations, Visibility};

use super::form::FormField;
use super::visibility::VisibilityView;

/// The boxes of a form for the visibility of a project or a group.
#[derive(Clone, Debug)]
pub struct VisibilityChoice {
    /// The error about the choice.
    pub field: FormField,
    pub options: Vec<VisibilityOption>,
}

#[derive(Clone, Debug)]
pub struct VisibilityOption {
    /// The value of the parameter `visibility_level`.
    pub level: i16,
    pub view: VisibilityView,
    pub is_checked: bool,
}

impl VisibilityChoice {
    pub fn new(chosen: Visibility, violations: &Violations) -> Self {
        let option = |visibility: Visibility| VisibilityOption {
            level: visibility.as_i16(),
            view: visibility.into(),
            is_checked: visibility == chosen,
        };
        Self {
            field: FormField::new("visibility_level", "Visibility", "").with_violations(violations),
            options: Visibility::ALL.into_iter().map(option).collect(),
        }
    }
}
