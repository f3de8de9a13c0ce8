//! The visibility of groups and projects for users who are not members.

use serde::Serialize;

/// The visibility of a group or project for users who are not its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Visibility {
    /// Visible to members only.
    Private = 0,
    /// Visible to all signed-in users who are not external.
    Internal = 10,
    /// Visible to everybody, with or without an account.
    Public = 20,
}

impl Visibility {
    pub const ALL: [Self; 3] = [Self::Private, Self::Internal, Self::Public];

    pub const fn as_i16(self) -> i16 {
        self as i16
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Internal => "internal",
            Self::Public => "public",
        }
    }
}

/// The error for a number that is no visibility.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a visibility level (valid: 0, 10, 20)")]
pub struct UnknownVisibility(i64);

impl TryFrom<i64> for Visibility {
    type Error = UnknownVisibility;

    fn try_from(level: i64) -> Result<Self, UnknownVisibility> {
        Self::ALL.into_iter().find(|known| i64::from(known.as_i16()) == level).ok_or(UnknownVisibility(level))
    }
}

impl TryFrom<i16> for Visibility {
    type Error = UnknownVisibility;

    fn try_from(level: i16) -> Result<Self, UnknownVisibility> {
        i64::from(level).try_into()
    }
}

impl Serialize for Visibility {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i16(self.as_i16())
    }
}
