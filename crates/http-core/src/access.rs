//! The permission that a route requires, as part of its declaration. The checks are in `access.rs` of `app`.

use holdfast_domain::Visibility;
use holdfast_domain::policy::{GroupAction, InstanceAction, InstanceRole, ProjectAction};

/// The permission that a route requires. The use case enforces it; this declaration is for readers, for the OpenAPI
/// document and for the test that compares the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Anyone,
    Instance(InstanceAction),
    Group(GroupAction),
    Project(ProjectAction),
}

impl Access {
    pub fn is_open_to_anonymous(self) -> bool {
        match self {
            Self::Anyone => true,
            Self::Instance(action) => action.is_allowed(InstanceRole::Anonymous),
            // A public group or project is the most permissive case.
            Self::Group(action) => action.is_allowed(Visibility::Public, InstanceRole::Anonymous, None),
            Self::Project(action) => action.is_allowed(Visibility::Public, InstanceRole::Anonymous, None),
        }
    }

    pub fn describe(self) -> String {
        match self {
            Self::Anyone => "anyone".into(),
            Self::Instance(action) => action.describe().into(),
            Self::Group(action) => format!("group: {}", action.describe()),
            Self::Project(action) => format!("project: {}", action.describe()),
        }
    }
}
