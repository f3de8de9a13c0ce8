//! The job token allow list of a project: the projects whose builds may read it.

use holdfast_app::Error;
use holdfast_app::ci::job_token_allowlist;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::Violations;
use holdfast_domain::ids::ProjectId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::addresses::project_ref;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::job_token_allowlist::allowlist_page;

pub fn declare(pages: &mut Pages) {
    const LIST: &str = "/:namespace/:project/settings/job_token";
    const API: &str = "GET /projects/:id/job_token_scope/allowlist";
    const ADD_API: &str = "POST /projects/:id/job_token_scope/allowlist";
    let manage = Access::Project(ProjectAction::ManageCi);
    pages.get(LIST, manage, Cost::Cheap, "Job token", list).api(API);
    pages.post(LIST, manage, Cost::Cheap, "Allow a project", create).api(ADD_API);
    pages
        .post("/:namespace/:project/settings/job_token/:id/delete", manage, Cost::Cheap, "Remove a project", delete)
        .api("DELETE /projects/:id/job_token_scope/allowlist/:target_project_id");
}

params! {
    struct AllowProject {
        flatten project: ProjectPathParams,
        /// The path of the project whose builds may read this one.
        optional source: String,
    }
}

params! {
    struct OneAllowedProject {
        flatten project: ProjectPathParams,
        required id: ProjectId,
    }
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let page = context.long_page();
    let found = job_token_allowlist::list_with_project(context.app(), &context.actor, &path.reference(), page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&allowlist_page(layout, &found, abilities, String::new(), &Violations::default(), context.now()))
}

/// Returns the project that a text such as `harbour/tidewatch` names.
fn parse_path(text: &str) -> Option<ProjectRef> {
    let (namespace, project) = text.trim_matches('/').split_once('/')?;
    (!project.contains('/')).then(|| project_ref(namespace, project))
}

async fn create(context: RequestContext, AllowProject { project, source }: AllowProject) -> PageResult {
    let (reference, source) = (project.reference(), source.unwrap_or_default().trim().to_owned());
    let created = match parse_path(&source) {
        Some(allowed) => job_token_allowlist::create(context.app(), &context.actor, &reference, &allowed).await,
        None => Err(Violations::single("source", "is not a path such as harbour/tidewatch").into()),
    };
    let message = match created {
        Ok(_) => {
            let page = respond::see_other(project.links().settings_page("job_token"));
            return Ok(page.with_flash(FlashCode::JobTokenAllowed));
        }
        Err(Error::Invalid(violations)) => violations,
        // If this project is the one that is missing, the list is not found either.
        Err(Error::NotFound(_)) => Violations::single("source", "does not exist, or you do not have access to it"),
        Err(Error::Conflict(_)) => Violations::single("source", "is on the list already"),
        Err(Error::Rejected(text)) => Violations::single("source", format!("was not accepted: {text}")),
        Err(error) => return Err(error.into()),
    };
    let page = context.long_page();
    let found = job_token_allowlist::list_with_project(context.app(), &context.actor, &reference, page).await?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::rejected(&allowlist_page(layout, &found, abilities, source, &message, context.now()))
}

async fn delete(context: RequestContext, OneAllowedProject { project, id }: OneAllowedProject) -> PageResult {
    job_token_allowlist::delete(context.app(), &context.actor, &project.reference(), id).await?;
    let page = respond::see_other(project.links().settings_page("job_token"));
    Ok(page.with_flash(FlashCode::JobTokenDisallowed))
}
