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

pub use raw::RawParams;
pub use read::{changed, list, optional, required};
pub use value::{FromValue, Wrong};

/// The parameters of one endpoint.
pub trait ParamSet: Sized + Send {
    fn read(raw: &RawParams) -> Result<Self, ApiError>;
    fn describe() -> Vec<ParamDoc>;
}

impl ParamSet for () {
    fn read(_: &RawParams) -> Result<Self, ApiError> {
        Ok(())
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

    pub fn into_result(self) -> Result<(), ApiError> {
        match (self.no_route, self.texts.is_empty()) {
            (true, _) => Err(ApiError::no_route()),
            (false, true) => Ok(()),
            (false, false) => Err(ApiError::error(StatusCode::BAD_REQUEST, self.texts.join(", "))),
        }
    }
}

/// Declares the parameters of an endpoint. Each field is one of
/// - `required name: T`, which must be sent;
/// - `optional name: T`, an `Option`: absent and null are the same;
/// - `changed name: T`, a [`Field`](holdfast_domain::Field): absent, null and value are three things;
/// - `list name: T`, a `Vec`: `name[]=1&name[]=2`, `name=1,2` or a JSON array.
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
            fn read(raw: &$crate::params::RawParams) -> Result<Self, $crate::error::ApiError> {
                let mut problems = $crate::params::Problems::default();
                $(let $field = $crate::params::$kind::read::<$Type>(raw, stringify!($field), &mut problems);)*
                problems.into_result()?;
                Ok(Self { $($field: $field.expect("what could not be read is a problem"),)* })
            }

            fn describe() -> Vec<$crate::params::ParamDoc> {
                vec![$($crate::params::ParamDoc {
                    name: stringify!($field),
                    description: concat!($($doc),*).trim_ascii_start(),
                    required: $crate::params::$kind::REQUIRED,
                    schema: $crate::params::$kind::schema::<$Type>(),
                }),*]
            }
        }
    };
}
