//! What the REST API and the web interface share: connections, middleware, limits and request parameters.
//!
//! Nothing here depends on the format of error responses. [`RequestError`] names what is wrong with a request; the crate
//! that serves it converts the error to JSON or to a page.

mod access;
pub mod body;
pub mod client_address;
mod connection;
mod error;
mod limits;
pub mod middleware;
mod page_routes;
pub mod params;
mod permitted_body;
mod user_content;

pub use access::Access;
pub use connection::{Connections, RequestBodyState};
pub use error::RequestError;
pub use limits::{Limits, RequestLimits};
pub use page_routes::PageRoutes;
pub use permitted_body::PermittedBody;
pub use user_content::{OCTET_STREAM, TEXT_PLAIN, UserContent};
