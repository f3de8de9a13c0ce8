//! The forms that share a project with groups. The shares are listed with the members.

use holdfast_app::namespaces::member::MembershipInput;
use holdfast_app::projects::share::{self, ShareInput};
use holdfast_app::{Error, Resource};
use holdfast_domain::ids::NamespaceId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::ProjectPathParams;
use super::member::{load, page};
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::projects::member_list::MemberForms;

pub fn declare(pages: &mut Pages) {
    let share = Access::Project(ProjectAction::Share);
    pages
        .post("/:namespace/:project/settings/shares", share, Cost::Cheap, "Share with a group", create)
        .api("POST /projects/:id/share");
    pages
        .post("/:namespace/:project/settings/shares/:group_id/delete", share, Cost::Cheap, "Stop sharing", delete)
        .api("DELETE /projects/:id/share/:group_id");
}

params! {
    struct CreateShare {
        flatten path: ProjectPathParams,
        /// The path of the group.
        optional share_group: String,
        optional share_level: i64,
        /// The first day on which the share is no longer valid, or an empty text.
        optional share_expires_at: String,
    }
}

async fn create(context: RequestContext, form: CreateShare) -> PageResult {
    let membership = MembershipInput {
        access_level: form.share_level.unwrap_or_default(),
        expires_at: form.share_expires_at.unwrap_or_default(),
    };
    let input = ShareInput { group: form.share_group.unwrap_or_default(), membership };
    match share::create_by_path(context.app(), &context.actor, &form.path.reference(), &input).await {
        Ok(_) => Ok(respond::see_other(form.path.links().members()).with_flash(FlashCode::ProjectShared)),
        Err(Error::Invalid(violations)) => {
            let forms = MemberForms { share: input, share_violations: violations, ..MemberForms::default() };
            respond::rejected(&page(&context, &load(&context, &form.path).await?, &forms))
        }
        Err(error) => Err(error.into()),
    }
}

params! {
    struct OneShare {
        flatten path: ProjectPathParams,
        required group_id: NamespaceId,
    }
}

async fn delete(context: RequestContext, OneShare { path, group_id }: OneShare) -> PageResult {
    let message = match share::delete(context.app(), &context.actor, &path.reference(), group_id).await {
        Ok(()) => FlashCode::ProjectUnshared,
        // Somebody else has ended it.
        Err(Error::NotFound(Resource::GroupLink)) => FlashCode::ShareMissing,
        Err(error) => return Err(error.into()),
    };
    Ok(respond::see_other(path.links().members()).with_flash(message))
}
