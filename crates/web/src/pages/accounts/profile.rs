//! The form of the own profile.

use holdfast_app::Error;
use holdfast_app::accounts::user::{self, ProfileChanges};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::{Field, Violations};
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::accounts::profile::{ProfileValues, profile_page};

pub fn declare(pages: &mut Pages) {
    let own = Access::Instance(InstanceAction::ManageOwnAccount);
    pages.get("/profile", own, Cost::Cheap, "Profile", show).api("GET /user");
    pages.post("/profile", own, Cost::Cheap, "Save the profile", update);
}

params! {
    struct UpdateProfile {
        optional name: String,
        optional bio: String,
        optional location: String,
        optional website_url: String,
        optional organization: String,
    }
}

async fn show(context: RequestContext, (): ()) -> PageResult {
    let user = user::show_own(context.app(), &context.actor).await?;
    respond::html(&profile_page(context.layout(), ProfileValues::from(&user), &Violations::default()))
}

async fn update(context: RequestContext, params: UpdateProfile) -> PageResult {
    let values = ProfileValues {
        name: params.name.unwrap_or_default(),
        bio: params.bio.unwrap_or_default(),
        location: params.location.unwrap_or_default(),
        website_url: params.website_url.unwrap_or_default(),
        organization: params.organization.unwrap_or_default(),
    };
    let changes = ProfileChanges {
        name: Field::Value(values.name.clone()),
        bio: Field::Value(values.bio.clone()),
        location: Field::Value(values.location.clone()),
        website_url: Field::Value(values.website_url.clone()),
        organization: Field::Value(values.organization.clone()),
        ..ProfileChanges::default()
    };
    match user::update_own(context.app(), &context.actor, changes).await {
        Ok(_) => Ok(respond::see_other("/profile").with_flash(FlashCode::ProfileSaved)),
        Err(Error::Invalid(violations)) => respond::rejected(&profile_page(context.layout(), values, &violations)),
        Err(error) => Err(error.into()),
    }
}
