//! The first run: an instance without users leads its operator through the creation of the first administrator. The page
//! does not exist once there is a user.

use holdfast_app::accounts::setup::{self, FirstAdministrator};
use holdfast_app::{Error, Resource};
use holdfast_domain::Violations;
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::session;
use crate::views::instance::setup::{SetupValues, setup_page};

pub fn declare(pages: &mut Pages) {
    pages.get("/setup", Access::Anyone, Cost::Cheap, "Set up Holdfast", show);
    pages.post("/setup", Access::Anyone, Cost::Cheap, "Create the first administrator", create);
}

params! {
    struct SetupForm {
        optional setup_code: String,
        optional username: String,
        optional name: String,
        optional email: String,
        optional password: String,
        /// The password again, because nobody sees what is typed.
        optional repeated_password: String,
    }
}

/// Fails with the page of something that does not exist once there is a user.
async fn ensure_needed(context: &RequestContext) -> Result<(), Error> {
    if setup::is_needed(context.app()).await? { Ok(()) } else { Err(Error::NotFound(Resource::Record)) }
}

async fn show(context: RequestContext, (): ()) -> PageResult {
    ensure_needed(&context).await?;
    respond::html(&setup_page(context.layout(), SetupValues::default(), &Violations::default()))
}

async fn create(context: RequestContext, form: SetupForm) -> PageResult {
    ensure_needed(&context).await?;
    let values = SetupValues {
        username: form.username.unwrap_or_default(),
        name: form.name.unwrap_or_default(),
        email: form.email.unwrap_or_default(),
    };
    let password = form.password.unwrap_or_default();
    if form.repeated_password.unwrap_or_default() != password {
        let violations = Violations::single("repeated_password", "is not the same as the password");
        return respond::rejected(&setup_page(context.layout(), values, &violations));
    }
    let input = FirstAdministrator {
        code: form.setup_code.unwrap_or_default(),
        username: values.username.clone(),
        name: values.name.clone(),
        email: values.email.clone(),
        password,
    };
    match setup::create_administrator(context.app(), input, context.client()).await {
        Ok((secret, new_session)) => {
            let cookie = session::cookie(context.app(), context.site(), secret, &new_session);
            Ok(respond::see_other("/new").with_cookie(cookie).with_flash(FlashCode::InstanceSetUp))
        }
        Err(Error::Invalid(violations)) => respond::rejected(&setup_page(context.layout(), values, &violations)),
        Err(Error::Throttled { retry_after }) => {
            let seconds = retry_after.as_secs_f64().ceil();
            let text = format!("was entered too often. Try again in {seconds} seconds");
            let violations = Violations::single("setup_code", text);
            respond::throttled(&setup_page(context.layout(), values, &violations), retry_after)
        }
        Err(error) => Err(error.into()),
    }
}
