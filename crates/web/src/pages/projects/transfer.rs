//! The form that moves a project to another namespace.

use holdfast_app::Error;
use holdfast_app::projects::transfer::{self, TransferTargets};
use holdfast_domain::Violations;
use holdfast_domain::ids::NamespaceId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::{ProjectPathParams, ensure_address};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::projects::transfer::{TransferPage, TransferValues, transfer_page};

pub fn declare(pages: &mut Pages) {
    const PATH: &str = "/:namespace/:project/settings/transfer";
    // The use case also checks that the user may create projects in the other namespace.
    let delete_project = Access::Project(ProjectAction::Delete);
    pages.get(PATH, delete_project, Cost::Cheap, "Transfer", show).confirmed();
    pages
        .post(PATH, delete_project, Cost::Normal, "Transfer the project", transfer_project)
        .api("POST /groups/:id/projects/:project_id")
        .confirmed();
}

fn page(
    context: &RequestContext,
    found: &TransferTargets,
    values: TransferValues,
    violations: &Violations,
) -> TransferPage {
    let abilities = Abilities::new(&found.project, &context.actor);
    transfer_page(context.layout(), found, abilities, values, violations)
}

async fn show(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found = transfer::list_targets(context.app(), &context.actor, &path.reference()).await?;
    ensure_address(&context, &found.project)?;
    respond::html(&page(&context, &found, TransferValues::default(), &Violations::default()))
}

params! {
    struct TransferForm {
        flatten path: ProjectPathParams,
        optional namespace_id: NamespaceId,
        /// The path of the project, which the user has to type.
        optional confirm_path: String,
    }
}

async fn transfer_project(context: RequestContext, form: TransferForm) -> PageResult {
    let reference = form.path.reference();
    let values = TransferValues { namespace: form.namespace_id, confirm: form.confirm_path.unwrap_or_default() };
    let found = transfer::list_targets(context.app(), &context.actor, &reference).await?;
    if values.confirm.trim() != found.project.full_path() {
        let violations = Violations::single("confirm_path", "is not the path of this project");
        return respond::rejected(&page(&context, &found, values, &violations));
    }
    match transfer::transfer_own(context.app(), &context.actor, &reference, values.namespace).await {
        Ok(project) => {
            let home = ProjectLinks::new(&project.full_path()).home().to_owned();
            Ok(respond::see_other(home).with_flash(FlashCode::ProjectTransferred))
        }
        Err(Error::Invalid(violations)) => respond::rejected(&page(&context, &found, values, &violations)),
        Err(error) => Err(error.into()),
    }
}
