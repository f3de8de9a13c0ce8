//! The REST API, version 3. There is one module per resource, and each ends with its routes.

mod access_requests;
mod boards;
mod branches;
mod builds;
mod ci_lint;
mod commit_statuses;
mod content;
mod current_user;
mod deliveries;
mod emails;
mod events;
mod forks;
mod groups;
mod imports;
mod issues;
mod job_token_allowlists;
mod labels;
mod members;
mod milestones;
mod namespaces;
mod notes;
mod pipelines;
mod project_hooks;
mod project_lists;
mod projects;
mod ref_log;
mod runners;
mod session;
mod shares;
mod ssh_keys;
mod stars;
mod system_hooks;
mod tags;
mod tokens;
mod triggers;
mod uploads;
mod users;
mod variables;

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
    projects::routes(&mut routes);
    project_lists::routes(&mut routes);
    access_requests::routes(&mut routes);
    shares::routes(&mut routes);
    stars::routes(&mut routes);
    uploads::routes(&mut routes);
    project_hooks::routes(&mut routes);
    system_hooks::routes(&mut routes);
    deliveries::routes(&mut routes);
    labels::routes(&mut routes);
    boards::routes(&mut routes);
    issues::routes(&mut routes);
    notes::routes(&mut routes);
    milestones::routes(&mut routes);
    events::routes(&mut routes);
    forks::routes(&mut routes);
    imports::routes(&mut routes);
    branches::routes(&mut routes);
    tags::routes(&mut routes);
    ref_log::routes(&mut routes);
    content::routes(&mut routes);
    pipelines::routes(&mut routes);
    builds::routes(&mut routes);
    commit_statuses::routes(&mut routes);
    runners::routes(&mut routes);
    variables::routes(&mut routes);
    triggers::routes(&mut routes);
    job_token_allowlists::routes(&mut routes);
    ci_lint::routes(&mut routes);
    routes
}
