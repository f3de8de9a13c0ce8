//! The own e-mail addresses.

use holdfast_app::accounts::email::{self, Email};
use holdfast_app::{Error, Resource};
use holdfast_domain::Violations;
use holdfast_domain::ids::EmailId;
use holdfast_domain::page::Page;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::accounts::email::{EmailsPage, emails_page};

pub fn declare(pages: &mut Pages) {
    let own = Access::Instance(InstanceAction::ManageOwnAccount);
    pages.get("/profile/emails", own, Cost::Cheap, "Email addresses", list).api("GET /user/emails").confirmed();
    let create_action = pages.post("/profile/emails", own, Cost::Cheap, "Add an address", create);
    create_action.api("POST /user/emails").confirmed();
    pages
        .post("/profile/emails/:id/delete", own, Cost::Cheap, "Delete an address", delete)
        .api("DELETE /user/emails/:id")
        .confirmed();
}

params! {
    struct CreateEmail {
        optional email: String,
    }
}

params! {
    struct OneEmail {
        required id: EmailId,
    }
}

async fn list(context: RequestContext, (): ()) -> PageResult {
    let emails = email::list_own(context.app(), &context.actor, context.page).await?;
    respond::html(&page(&context, &emails, String::new(), &Violations::default())?)
}

fn page(
    context: &RequestContext,
    emails: &Page<Email>,
    entered: String,
    violations: &Violations,
) -> Result<EmailsPage, Error> {
    let primary = &context.actor.current_user()?.account.summary.email;
    Ok(emails_page(context.layout(), primary, emails, entered, violations))
}

async fn create(context: RequestContext, params: CreateEmail) -> PageResult {
    let entered = params.email.unwrap_or_default();
    match email::create_own(context.app(), &context.actor, &entered).await {
        Ok(_) => Ok(respond::see_other("/profile/emails").with_flash(FlashCode::EmailAdded)),
        Err(Error::Invalid(violations)) => {
            let emails = email::list_own(context.app(), &context.actor, context.page).await?;
            respond::rejected(&page(&context, &emails, entered, &violations)?)
        }
        Err(error) => Err(error.into()),
    }
}

async fn delete(context: RequestContext, OneEmail { id }: OneEmail) -> PageResult {
    let deleted = email::delete_own(context.app(), &context.actor, id).await?;
    deleted.ok_or(Error::NotFound(Resource::Email))?;
    Ok(respond::see_other("/profile/emails").with_flash(FlashCode::EmailDeleted))
}
