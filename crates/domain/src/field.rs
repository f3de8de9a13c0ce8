//! A field of a partial update.

/// A field that distinguishes a missing key, a null and a value, as JSON does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field<T> {
    #[default]
    Absent,
    Null,
    Value(T),
}

impl<T> Field<T> {
    /// Returns the new value of a field that null resets to its default.
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

    /// Returns the new value of a field that can be null.
    pub fn or_nullable(self, current: Option<T>) -> Option<T> {
        match self {
            Self::Absent => current,
            Self::Null => None,
            Self::Value(value) => Some(value),
        }
    }

    /// Returns the value of a field for which null has no meaning.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Absent | Self::Null => None,
            Self::Value(value) => Some(value),
        }
    }
}
