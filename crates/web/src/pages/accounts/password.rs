//! The form that changes the own password.

use holdfast_app::Error;
use holdfast_app::accounts::user::{self, ChangePassword};
use holdfast_domain::Violations;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::accounts::password::password_page;

pub fn declare(pages: &mut Pages) {
    // The form asks for the current password itself, so it needs no confirmation before.
    let own = Access::Instance(InstanceAction::ManageOwnAccount);
    pages.get("/profile/password", own, Cost::Cheap, "Password", show);
    pages.post("/profile/password", own, Cost::Cheap, "Change the password", update);
}

params! {
    struct UpdatePassword {
        optional current_password: String,
        optional new_password: String,
        /// The new password again, because nobody sees what is typed.
        optional repeated_password: String,
    }
}

async fn show(context: RequestContext, (): ()) -> PageResult {
    respond::html(&password_page(context.layout(), &Violations::default()))
}

async fn update(context: RequestContext, params: UpdatePassword) -> PageResult {
    let new_password = params.new_password.unwrap_or_default();
    if params.repeated_password.unwrap_or_default() != new_password {
        let violations = Violations::single("repeated_password", "is not the same as the new password");
        return respond::rejected(&password_page(context.layout(), &violations));
    }
    let input = ChangePassword {
        current_password: &params.current_password.unwrap_or_default(),
        new_password: &new_password,
        session: Some(context.session()?.id),
    };
    match user::change_own_password(context.app(), &context.actor, input).await {
        Ok(()) => Ok(respond::see_other("/profile/password").with_flash(FlashCode::PasswordChanged)),
        Err(Error::Invalid(violations)) => respond::rejected(&password_page(context.layout(), &violations)),
        Err(Error::Throttled { retry_after }) => {
            let seconds = retry_after.as_secs_f64().ceil();
            let text = format!("was entered too often. Try again in {seconds} seconds");
            let violations = Violations::single("current_password", text);
            respond::throttled(&password_page(context.layout(), &violations), retry_after)
        }
        Err(error) => Err(error.into()),
    }
}
