//! Access levels of members. A higher level includes the permissions of the lower ones.

use serde::Serialize;

/// The access level of a member of a group or project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessLevel {
    Guest = 10,
    Reporter = 20,
    Developer = 30,
    Master = 40,
    /// Available in groups only: a membership in a project cannot have this level.
    Owner = 50,
}

impl AccessLevel {
    pub const ALL: [Self; 5] = [Self::Guest, Self::Reporter, Self::Developer, Self::Master, Self::Owner];

    pub const fn as_i16(self) -> i16 {
        self as i16
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Guest => "Guest",
            Self::Reporter => "Reporter",
            Self::Developer => "Developer",
            Self::Master => "Master",
            Self::Owner => "Owner",
        }
    }
}

/// The error for a number that is no access level.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not an access level (valid: 10, 20, 30, 40, 50)")]
pub struct UnknownAccessLevel(i64);

impl TryFrom<i64> for AccessLevel {
    type Error = UnknownAccessLevel;

    fn try_from(level: i64) -> Result<Self, UnknownAccessLevel> {
        Self::ALL.into_iter().find(|known| i64::from(known.as_i16()) == level).ok_or(UnknownAccessLevel(level))
    }
}

impl TryFrom<i16> for AccessLevel {
    type Error = UnknownAccessLevel;

    fn try_from(level: i16) -> Result<Self, UnknownAccessLevel> {
        i64::from(level).try_into()
    }
}

impl Serialize for AccessLevel {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i16(self.as_i16())
    }
}
