//! The forks of a project, and the form that creates one.

use holdfast_app::projects::fork;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::{Error, Resource};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::{ProjectPathParams, ensure_address};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::violations_text;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::projects::fork::{ForkError, fork_page, forks_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::Read);
    let fork = Access::Project(ProjectAction::Fork);
    pages.get("/:namespace/:project/forks", read, Cost::Normal, "Forks", list);
    pages.get("/:namespace/:project/fork", fork, Cost::Cheap, "New fork", show_form);
    pages.post("/:namespace/:project/fork", fork, Cost::Normal, "Create a fork", create).api("POST /projects/fork/:id");
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found = fork::list(context.app(), &context.actor, &path.reference(), context.page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    respond::html(&forks_page(context.layout(), &found, abilities, context.now()))
}

async fn show_form(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let targets = fork::list_targets(context.app(), &context.actor, &path.reference()).await?;
    ensure_address(&context, &targets.project)?;
    let abilities = Abilities::new(&targets.project, &context.actor);
    respond::html(&fork_page(context.layout(), &targets, abilities, None))
}

params! {
    struct CreateFork {
        flatten path: ProjectPathParams,
        /// The id of the namespace in which the fork is created.
        optional namespace_id: String,
    }
}

async fn create(context: RequestContext, CreateFork { path, namespace_id }: CreateFork) -> PageResult {
    let (project, namespace) = (path.reference(), namespace_id.unwrap_or_default());
    let text = match fork::create(context.app(), &context.actor, &project, &namespace).await {
        Ok(fork) => {
            let home = ProjectLinks::new(&fork.full_path()).home().to_owned();
            return Ok(respond::see_other(home).with_flash(FlashCode::ProjectForked));
        }
        Err(Error::Invalid(violations)) => violations_text(&violations),
        Err(Error::NotFound(Resource::TargetNamespace)) => "You cannot create projects in this namespace.".to_owned(),
        Err(error) => return Err(error.into()),
    };
    reject(&context, &project, ForkError { text, namespace }).await
}

async fn reject(context: &RequestContext, project: &ProjectRef, error: ForkError) -> PageResult {
    let targets = fork::list_targets(context.app(), &context.actor, project).await?;
    let abilities = Abilities::new(&targets.project, &context.actor);
    respond::rejected(&fork_page(context.layout(), &targets, abilities, Some(error)))
}
