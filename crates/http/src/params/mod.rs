//! Request parameters. Query, form, multipart and JSON are merged in one place ([`RawParams`]), and one declaration per
//! endpoint ([`params!`](crate::params!)) says what is read from them, what is answered when they are wrong, and what
//! the OpenAPI document says of them.

mod choice;
mod raw;
mod read;
mod value;

use axum::http::StatusCode;
use utoipa::openapi::{RefOr, Schema};

use crate::error::ApiError;

pub use raw::{RawParams, UploadedFile};
pub use read::{changed, file, including, list, optional, required};
pub use value::{FromValue, Texts, Titles, Words, Wrong};

/// The parameters of one endpoint.
pub trait ParamSet: Sized + Send {
    /// Whether a file is among them.
    const TAKES_FILE: bool = false;

    /// None where something was wrong, which is then among the problems.
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

/// A parameter as the OpenAPI document shows it.
pub struct ParamDoc {
    pub name: &'static str,
    pub description: &'static str,
    pub required: bool,
    pub schema: RefOr<Schema>,
}

/// Everything wrong with the parameters of a request, told at once.
#[derive(Default)]
pub struct Problems {
    texts: Vec<String>,
    no_route: bool,
}

impl Problems {
    fn add(&mut self, name: &str, wrong: Wrong) {
        self.texts.push(format!("{name} {}", wrong.text()));
    }

    fn into_error(self) -> ApiError {
        if self.no_route {
            return ApiError::no_route();
        }
        ApiError::error(StatusCode::BAD_REQUEST, self.texts.join(", "))
    }
}

pub fn read<P: ParamSet>(raw: &RawParams) -> Result<P, ApiError> {
    let mut problems = Problems::default();
    P::read(raw, &mut problems).ok_or_else(|| problems.into_error())
}

/// Of a field whose name is a word of Rust's, such as `r#ref`.
pub fn name(field: &'static str) -> &'static str {
    field.strip_prefix("r#").unwrap_or(field)
}

/// Declares the parameters of an endpoint. Each field is one of
/// - `required name: T`, which must be sent;
/// - `optional name: T`, an `Option`: absent and null are the same;
/// - `changed name: T`, a [`Field`](holdfast_domain::Field): absent, null and value are three things;
/// - `list name: T`, a `Vec`: `name[]=1&name[]=2`, `name=1,2` or a JSON array;
/// - `file name: UploadedFile`, which must be sent as a part of a form;
/// - `including name: P`, the parameters of another such declaration.
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
                // All are read before the first that is wrong ends it: problems are told together.
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
