//! The REST API, one module per version. Both versions call the same use cases.

mod shared;
pub mod v3;
pub mod v4;

use crate::error::ApiError;
use crate::{ApiVersion, Routes};

type ApiResult<A> = Result<A, ApiError>;

/// Returns the routes of a version.
pub fn routes(version: ApiVersion) -> Routes {
    match version {
        ApiVersion::V3 => v3::routes(),
        ApiVersion::V4 => v4::routes(),
    }
}
