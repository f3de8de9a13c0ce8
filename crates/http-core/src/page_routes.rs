//! The routes of the web interface, as the crate that serves the API receives them.

use axum::Router;

/// The routes of the web interface. The two HTTP crates do not depend on each other: the server passes these routes from
/// one to the other.
pub struct PageRoutes {
    pub routes: Router,
    /// Responds to requests for uploaded files that come from a browser. The API serves those with a token.
    pub uploads: Router,
    /// Responds to every path that no route matches and that does not belong to the API.
    pub not_found: Router,
}
