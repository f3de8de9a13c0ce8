//! REST, version 3. One file per noun; each ends in its own list of routes.

mod current_user;
mod emails;
mod groups;
mod members;
mod namespaces;
mod session;
mod ssh_keys;
mod tokens;
mod users;

use crate::Routes;
use crate::error::ApiError;

type ApiResult<A> = Result<A, ApiError>;

pub fn routes() -> Routes {
    let mut routes = Routes::default();
    session::routes(&mut routes);
    current_user::routes(&mut routes);
    users::routes(&mut routes);
    ssh_keys::routes(&mut routes);
    emails::routes(&mut routes);
    tokens::routes(&mut routes);
    groups::routes(&mut routes);
    members::routes(&mut routes);
    namespaces::routes(&mut routes);
    routes
}
