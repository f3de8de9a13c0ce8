//! Parameters with a fixed set of values.

/// Declares an enum that is read from the text of one of its values.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $visibility:vis enum $Name:ident { $($Variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $Name { $($Variant),+ }

        impl $crate::params::FromValue for $Name {
            fn from_value(value: &$crate::params::serde_json::Value) -> Result<Self, $crate::params::ParamError> {
                match value.as_str() {
                    $(Some($word) => Ok(Self::$Variant),)+
                    _ => Err($crate::params::ParamError::NotAllowed),
                }
            }

            fn schema() -> $crate::params::utoipa::openapi::RefOr<$crate::params::utoipa::openapi::Schema> {
                $crate::params::utoipa::openapi::schema::ObjectBuilder::new()
                    .schema_type($crate::params::utoipa::openapi::schema::Type::String)
                    .enum_values(Some([$($word),+]))
                    .into()
            }
        }
    };
}
