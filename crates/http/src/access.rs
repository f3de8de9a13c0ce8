//! What a route says about who may use it.

use holdfast_domain::policy::{GroupAction, InstanceAction, Standing};

/// Who gets through. The use case decides; this is the same statement for readers, for the document and for the test
/// that compares the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Anyone,
    Instance(InstanceAction),
    Group(GroupAction),
}

impl Access {
    pub fn is_open_to_anonymous(self) -> bool {
        match self {
            Self::Anyone | Self::Group(GroupAction::Read) => true,
            Self::Instance(action) => action.allowed(Standing::Anonymous),
            Self::Group(_) => false,
        }
    }

    pub fn describe(self) -> String {
        match self {
            Self::Anyone => "anyone".into(),
            Self::Instance(action) => action.describe().into(),
            Self::Group(action) => format!("group: {}", action.describe()),
        }
    }
}
