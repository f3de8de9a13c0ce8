//! The import of a repository, which the home page of the project shows.

use holdfast_app::repository::transfer::import;
use holdfast_app::{Error, Resource};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::Access;

use super::address::ProjectPathParams;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};

pub fn declare(pages: &mut Pages) {
    let update = Access::Project(ProjectAction::Update);
    pages
        .post("/:namespace/:project/import/cancel", update, Cost::Cheap, "Cancel an import", cancel)
        .api("DELETE /projects/:id/import");
}

/// Cancels an import. One that has ended in the meantime stays as it is.
async fn cancel(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let message = match import::cancel(context.app(), &context.actor, &path.reference()).await {
        Ok(_) => FlashCode::ImportCanceled,
        Err(Error::NotFound(Resource::Import)) => FlashCode::ImportMissing,
        Err(error) => return Err(error.into()),
    };
    Ok(respond::see_other(path.links().home()).with_flash(message))
}
