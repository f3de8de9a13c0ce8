//! Request parameters.
//!
//! [`RawParams`] merges the query, forms, multipart bodies and JSON. Each endpoint declares its parameters once with
//! [`params!`](crate::params!), which defines how they are read, the errors for invalid values, and their description
//! in the OpenAPI document.

mod choice;
mod raw;
mod read;
mod value;

use utoipa::openapi::{RefOr, Schema};

use crate::RequestError;

pub use raw::{RawParams, UploadedFile};
pub use read::{file, flatten, list, nullable, optional, optional_file, required};
/// The crates that [`choice!`](crate::choice!) refers to, so that its users need not depend on them.
#[doc(hidden)]
pub use {serde_json, utoipa};

pub use value::{CommaSeparated, FromValue, LabelTitles, ParamError, StringMap, Unsupported};

/// A set of parameters that is declared with [`params!`](crate::params!).
pub trait ParamSet: Sized + Send {
    /// Whether one of the parameters is an uploaded file.
    const TAKES_FILE: bool = false;

    /// Reads all parameters. Returns `None` if any of them is invalid; the errors are added to `problems`.
    fn read(raw: &RawParams, problems: &mut Problems) -> Option<Self>;
    fn describe() -> Vec<ParamDoc>;
}

impl ParamSet for () {
    fn read(_: &RawParams, _: &mut Problems) -> Option<Self> {
        Some(())
    }

    fn describe() -> Vec<ParamDoc> {
        Vec::new()
    }
}

/// The parameters of two declarations.
impl<A: ParamSet, B: ParamSet> ParamSet for (A, B) {
    const TAKES_FILE: bool = A::TAKES_FILE || B::TAKES_FILE;

    fn read(raw: &RawParams, problems: &mut Problems) -> Option<Self> {
        // Both are read before the first invalid parameter ends the function, so that errors are reported together.
        let (first, second) = (A::read(raw, problems), B::read(raw, problems));
        Some((first?, second?))
    }

    fn describe() -> Vec<ParamDoc> {
        let mut described = A::describe();
        described.extend(B::describe());
        described
    }
}

/// The description of a parameter in the OpenAPI document.
pub struct ParamDoc {
    pub name: &'static str,
    pub description: &'static str,
    pub is_required: bool,
    pub schema: RefOr<Schema>,
}

/// All errors in the parameters of a request. They are reported together.
#[derive(Default)]
pub struct Problems {
    texts: Vec<String>,
    has_invalid_path: bool,
}

impl Problems {
    fn add(&mut self, name: &str, error: ParamError) {
        self.texts.push(format!("{name} {}", error.message()));
    }

    fn into_error(self) -> RequestError {
        if self.has_invalid_path {
            return RequestError::UnknownPath;
        }
        RequestError::InvalidParams(self.texts)
    }
}

pub fn read<P: ParamSet>(raw: &RawParams) -> Result<P, RequestError> {
    let mut problems = Problems::default();
    P::read(raw, &mut problems).ok_or_else(|| problems.into_error())
}

/// Returns the parameter name of a field, without the prefix of raw identifiers such as `r#ref`.
pub fn name(field: &'static str) -> &'static str {
    field.strip_prefix("r#").unwrap_or(field)
}

/// Declares the parameters of an endpoint. Each field is one of:
/// - `required name: T`, which must be sent;
/// - `optional name: T`, an `Option`: absent and null are the same;
/// - `nullable name: T`, a [`Field`](holdfast_domain::Field): absent, null and a value are distinguished;
/// - `list name: T`, a `Vec`: `name[]=1&name[]=2`, `name=1,2` or a JSON array;
/// - `file name: UploadedFile`, which must be sent as a part of a multipart form;
/// - `optional_file name: UploadedFile`, an `Option`: another value than a part with a file name is ignored;
/// - `flatten name: P`, all parameters of another declaration.
///
/// The doc comment of a field is its description in the OpenAPI document. A required field without one has the
/// description of its type, if that has one.
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $visibility:vis struct $Name:ident {
        $($(#[doc = $doc:literal])* $kind:ident $field:ident : $Type:ty),* $(,)?
    }) => {
        $(#[$meta])*
        $visibility struct $Name {
            $(pub $field: $crate::params::$kind::Read<$Type>,)*
        }

        impl $crate::params::ParamSet for $Name {
            const TAKES_FILE: bool = false $(|| $crate::params::$kind::TAKES_FILE)*;

            fn read(raw: &$crate::params::RawParams, problems: &mut $crate::params::Problems) -> Option<Self> {
                // All parameters are read before the first invalid one ends the function, so that errors are reported
                // together.
                $(let $field = $crate::params::$kind::read::<$Type>(raw, $crate::params::name(stringify!($field)), problems);)*
                Some(Self { $($field: $field?,)* })
            }

            fn describe() -> Vec<$crate::params::ParamDoc> {
                let mut described = Vec::new();
                $(described.extend($crate::params::$kind::describe::<$Type>(
                    $crate::params::name(stringify!($field)),
                    concat!($($doc),*).trim_ascii_start(),
                ));)*
                described
            }
        }
    };
}
