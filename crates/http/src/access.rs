//! What a route says about who may use it.

use holdfast_domain::Visibility;
use holdfast_domain::policy::{GroupAction, InstanceAction, ProjectAction, Standing};

/// Who gets through. The use case decides; this is the same statement for readers, for the document and for the test
/// that compares the two.
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
            Self::Instance(action) => action.allowed(Standing::Anonymous),
            // The most open group or project there is.
            Self::Group(action) => action.allowed(Visibility::Public, Standing::Anonymous, None),
            Self::Project(action) => action.allowed(Visibility::Public, Standing::Anonymous, None),
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
