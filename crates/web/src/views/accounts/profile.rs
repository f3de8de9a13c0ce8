//! The form of the own profile.

use askama::Template;
use holdfast_app::accounts::user::User;
use holdfast_domain::Violations;

use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};

#[derive(Template)]
#[template(path = "accounts/profile.html")]
pub struct ProfilePage {
    pub layout: Layout,
    pub errors: Vec<FormError>,
    pub name: FormField,
    pub bio: FormField,
    pub location: FormField,
    pub website_url: FormField,
    pub organization: FormField,
}

/// The values of the form: those of the account at first, and those that the user entered after a rejection.
#[derive(Clone, Debug, Default)]
pub struct ProfileValues {
    pub name: String,
    pub bio: String,
    pub location: String,
    pub website_url: String,
    pub organization: String,
}

impl From<&User> for ProfileValues {
    fn from(user: &User) -> Self {
        Self {
            name: user.name.clone(),
            bio: user.bio.clone().unwrap_or_default(),
            location: user.location.clone().unwrap_or_default(),
            website_url: user.website_url.clone(),
            organization: user.organization.clone(),
        }
    }
}

/// Builds the form. `violations` is empty when it is shown at first.
pub fn profile_page(mut layout: Layout, values: ProfileValues, violations: &Violations) -> ProfilePage {
    "Profile".clone_into(&mut layout.title);
    let field = |name, label, value| FormField::new(name, label, value).with_violations(violations);
    let name = field("name", "Name", values.name);
    let bio = field("bio", "About you", values.bio);
    let location = field("location", "Location", values.location);
    let website_url = field("website_url", "Website", values.website_url);
    let organization = field("organization", "Organization", values.organization);
    let errors = form::errors([&name, &bio, &location, &website_url, &organization]);
    ProfilePage { layout, errors, name, bio, location, website_url, organization }
}
