//! An attribute in a partial update.

/// Tells apart what JSON tells apart: a key that is not there, a key that is null, and a key with a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field<T> {
    #[default]
    Absent,
    Null,
    Value(T),
}

impl<T> Field<T> {
    /// The new value of an attribute that can be cleared to its default.
    pub fn or(self, current: T) -> T
    where
        T: Default,
    {
        match self {
            Self::Absent => current,
            Self::Null => T::default(),
            Self::Value(value) => value,
        }
    }

    /// The new value of an attribute that can be null.
    pub fn or_nullable(self, current: Option<T>) -> Option<T> {
        match self {
            Self::Absent => current,
            Self::Null => None,
            Self::Value(value) => Some(value),
        }
    }

    /// The value, for attributes to which null means nothing.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Absent | Self::Null => None,
            Self::Value(value) => Some(value),
        }
    }
}
