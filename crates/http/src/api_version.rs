//! The versions of the REST API.

/// A version of the REST API. Authentication, scopes and errors differ between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiVersion {
    V3,
    V4,
}

impl ApiVersion {
    pub const ALL: [Self; 2] = [Self::V3, Self::V4];

    /// Returns the beginning of all paths of this version.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::V3 => "/api/v3",
            Self::V4 => "/api/v4",
        }
    }
}
