//! The own SSH keys.

use holdfast_app::accounts::ssh_key;
use holdfast_app::{Error, Resource};
use holdfast_domain::Violations;
use holdfast_domain::ids::SshKeyId;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::accounts::ssh_key::{KeyValues, keys_page};

pub fn declare(pages: &mut Pages) {
    let own = Access::Instance(InstanceAction::ManageOwnAccount);
    pages.get("/profile/keys", own, Cost::Cheap, "SSH keys", list).api("GET /user/keys").confirmed();
    pages.post("/profile/keys", own, Cost::Cheap, "Add an SSH key", create).api("POST /user/keys").confirmed();
    pages
        .post("/profile/keys/:id/delete", own, Cost::Cheap, "Delete an SSH key", delete)
        .api("DELETE /user/keys/:id")
        .confirmed();
}

params! {
    struct CreateKey {
        optional title: String,
        optional key: String,
    }
}

params! {
    struct OneKey {
        required id: SshKeyId,
    }
}

async fn list(context: RequestContext, (): ()) -> PageResult {
    let keys = ssh_key::list_own(context.app(), &context.actor, context.page).await?;
    let (values, violations) = (KeyValues::default(), Violations::default());
    respond::html(&keys_page(context.layout(), &keys, values, &violations, context.now()))
}

async fn create(context: RequestContext, params: CreateKey) -> PageResult {
    let values = KeyValues { title: params.title.unwrap_or_default(), key: params.key.unwrap_or_default() };
    match ssh_key::create_own(context.app(), &context.actor, &values.title, &values.key).await {
        Ok(_) => Ok(respond::see_other("/profile/keys").with_flash(FlashCode::KeyAdded)),
        Err(Error::Invalid(violations)) => {
            let keys = ssh_key::list_own(context.app(), &context.actor, context.page).await?;
            respond::rejected(&keys_page(context.layout(), &keys, values, &violations, context.now()))
        }
        Err(error) => Err(error.into()),
    }
}

async fn delete(context: RequestContext, OneKey { id }: OneKey) -> PageResult {
    let deleted = ssh_key::delete_own(context.app(), &context.actor, id).await?;
    deleted.ok_or(Error::NotFound(Resource::Key))?;
    Ok(respond::see_other("/profile/keys").with_flash(FlashCode::KeyDeleted))
}
