//! Signing in and out, and confirming the password.

use holdfast_app::Error;
use holdfast_app::accounts::{browser_session, setup};
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use crate::cookies;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::session;
use crate::views::accounts::sign_in::{ConfirmPage, SignInPage};

pub fn declare(pages: &mut Pages) {
    let own = Access::Instance(InstanceAction::ManageOwnAccount);
    pages.get("/sign_in", Access::Anyone, Cost::Cheap, "Sign in", show);
    pages.post("/sign_in", Access::Anyone, Cost::Cheap, "Sign in", create).api("POST /session");
    pages.get("/sign_in/confirm", own, Cost::Cheap, "Confirm your password", show_confirmation);
    pages.post("/sign_in/confirm", own, Cost::Cheap, "Confirm your password", confirm);
    pages.post("/sign_out", Access::Anyone, Cost::Cheap, "Sign out", delete);
}

/// One text for all causes, so that it does not reveal which accounts exist.
const REJECTED: &str = "The username or the password is wrong, or the account cannot sign in.";

params! {
    struct Destination {
        /// The address of the page to which the form leads after the sign-in.
        optional to: String,
    }
}

params! {
    struct SignIn {
        optional login: String,
        optional password: String,
        /// Whether the session outlives the browser.
        optional stay: bool,
        optional to: String,
    }
}

params! {
    struct Confirm {
        optional password: String,
        optional to: String,
    }
}

async fn show(context: RequestContext, Destination { to }: Destination) -> PageResult {
    let to = context.destination(to.as_deref());
    if context.is_signed_in() {
        return Ok(respond::see_other(to));
    }
    // The form is shown also while the database is unavailable.
    if matches!(setup::is_needed(context.app()).await, Ok(true)) {
        return Ok(respond::see_other("/setup"));
    }
    respond::html(&form(&context, to))
}

fn form(context: &RequestContext, to: String) -> SignInPage {
    let url = url::Url::parse(&context.site().url("/")).ok();
    let host = url.as_ref().and_then(|url| url.host_str()).unwrap_or_default();
    SignInPage::new(context.layout(), host, context.app().settings.session_lifetime_days, to)
}

async fn create(context: RequestContext, params: SignIn) -> PageResult {
    let to = context.destination(params.to.as_deref());
    let is_remembered = params.stay.unwrap_or_default();
    let login = params.login.unwrap_or_default();
    let password = params.password.unwrap_or_default();
    let created = browser_session::create(context.app(), &login, &password, is_remembered, context.client()).await;
    let (secret, new_session) = match created {
        Ok(created) => created,
        Err(Error::Unauthenticated) => {
            return respond::rejected(&form(&context, to).rejected(login, is_remembered, REJECTED));
        }
        Err(Error::Throttled { retry_after }) => {
            let seconds = retry_after.as_secs_f64().ceil();
            let text = format!("There were too many attempts to sign in. Try again in {seconds} seconds.");
            return respond::throttled(&form(&context, to).rejected(login, is_remembered, text), retry_after);
        }
        Err(error) => return Err(error.into()),
    };
    // The browser forgets the secret of the session that it had before.
    if let Some(previous) = context.session_secret() {
        browser_session::delete(context.app(), previous).await?;
    }
    let cookie = session::cookie(context.app(), context.site(), secret, &new_session);
    Ok(respond::see_other(to).with_cookie(cookie))
}

async fn delete(context: RequestContext, (): ()) -> PageResult {
    if let Some(secret) = context.session_secret() {
        browser_session::delete(context.app(), secret).await?;
    }
    let removal = cookies::removal(context.site(), cookies::SESSION);
    Ok(respond::see_other("/sign_in").with_cookie(removal).with_flash(FlashCode::SignedOut))
}

async fn show_confirmation(context: RequestContext, Destination { to }: Destination) -> PageResult {
    let to = context.destination(to.as_deref());
    respond::html(&ConfirmPage::new(context.layout(), to, Vec::new()))
}

async fn confirm(context: RequestContext, params: Confirm) -> PageResult {
    let to = context.destination(params.to.as_deref());
    let secret = context.session_secret().ok_or(Error::Unauthenticated)?;
    let password = params.password.unwrap_or_default();
    let text = match browser_session::confirm(context.app(), secret, &password).await {
        Ok(_) => return Ok(respond::see_other(to)),
        Err(Error::Invalid(_)) => "The password is wrong.".to_owned(),
        Err(Error::Throttled { retry_after }) => {
            let seconds = retry_after.as_secs_f64().ceil();
            let text = format!("There were too many attempts. Try again in {seconds} seconds.");
            return respond::throttled(&ConfirmPage::new(context.layout(), to, Vec::new()).rejected(text), retry_after);
        }
        Err(error) => return Err(error.into()),
    };
    respond::rejected(&ConfirmPage::new(context.layout(), to, Vec::new()).rejected(text))
}
