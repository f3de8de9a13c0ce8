//! Who may see a group or a project without being a member of it.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Visibility {
    /// Access is granted to each user explicitly.
    Private = 0,
    /// Any signed-in user who is not external.
    Internal = 10,
    /// Everybody, with or without an account.
    Public = 20,
}

impl Visibility {
    pub const ALL: [Self; 3] = [Self::Private, Self::Internal, Self::Public];

    pub const fn level(self) -> i16 {
        self as i16
    }

    pub const fn word(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Internal => "internal",
            Self::Public => "public",
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0} is no visibility level: 0, 10 and 20 are")]
pub struct UnknownVisibility(i64);

impl TryFrom<i64> for Visibility {
    type Error = UnknownVisibility;

    fn try_from(level: i64) -> Result<Self, UnknownVisibility> {
        Self::ALL.into_iter().find(|known| i64::from(known.level()) == level).ok_or(UnknownVisibility(level))
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
        serializer.serialize_i16(self.level())
    }
}
