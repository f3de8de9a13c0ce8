//! Changes of the attributes of a user, and their validation.

use holdfast_domain::accounts::{EmailAddress, password};
use holdfast_domain::namespaces::NamespacePath;
use holdfast_domain::violations::BLANK;
use holdfast_domain::{Field, Violations};
use holdfast_store::accounts::identity::Identity;
use holdfast_store::accounts::user::{Attributes, User};

use crate::Result;

/// The attributes that a creation or an update sets.
#[derive(Clone, Default)]
pub struct UserChanges {
    pub email: Field<String>,
    pub username: Field<String>,
    pub name: Field<String>,
    pub password: Field<String>,
    pub skype: Field<String>,
    pub linkedin: Field<String>,
    pub twitter: Field<String>,
    pub website_url: Field<String>,
    pub organization: Field<String>,
    pub bio: Field<String>,
    pub location: Field<String>,
    pub projects_limit: Option<i32>,
    pub admin: Option<bool>,
    pub can_create_group: Option<bool>,
    pub external: Option<bool>,
    pub provider: Field<String>,
    pub extern_uid: Field<String>,
}

/// Validated attributes, and the values that are stored separately.
pub(super) struct ValidatedChanges {
    pub attributes: Attributes,
    pub password: Option<String>,
    pub identity: Option<Identity>,
}

impl UserChanges {
    /// Validates the attributes of a user who has those in `current` before.
    pub(super) fn apply(self, current: Attributes) -> Result<ValidatedChanges> {
        let became_external = self.external == Some(true) && !current.external;
        let username_before = current.username.clone();
        let attributes = Attributes {
            username: self.username.or(current.username),
            name: self.name.or(current.name),
            email: self.email.or(current.email),
            admin: self.admin.unwrap_or(current.admin),
            external: self.external.unwrap_or(current.external),
            // A user who becomes external may create neither groups nor projects, unless the request allows it
            // explicitly.
            can_create_group: self.can_create_group.unwrap_or(current.can_create_group && !became_external),
            projects_limit: self.projects_limit.unwrap_or(if became_external { 0 } else { current.projects_limit }),
            bio: self.bio.or_nullable(current.bio),
            location: self.location.or_nullable(current.location),
            skype: self.skype.or(current.skype),
            linkedin: self.linkedin.or(current.linkedin),
            twitter: self.twitter.or(current.twitter),
            website_url: self.website_url.or(current.website_url),
            organization: self.organization.or(current.organization),
        };
        // An empty password counts as absent.
        let password = self.password.value().filter(|password| !password.is_empty());
        let mut violations = Violations::default();
        let address = violations.check("email", EmailAddress::parse(&attributes.email));
        if let Some(password) = &password {
            violations.check(
                "password",
                password::check(password, &[&attributes.username, &attributes.name, &attributes.email]),
            );
        }
        if attributes.name.trim().is_empty() {
            violations.add("name", BLANK);
        }
        // An unchanged name stays valid: it may have been reserved since it was chosen.
        if attributes.username.is_empty() || attributes.username != username_before {
            violations.check("username", NamespacePath::parse(&attributes.username));
        }
        if attributes.projects_limit < 0 {
            violations.add("projects_limit", "must be greater than or equal to 0");
        }
        violations.check_length("bio", attributes.bio.as_deref().unwrap_or_default(), 255);
        let lines = [
            ("name", attributes.name.as_str()),
            ("location", attributes.location.as_deref().unwrap_or_default()),
            ("skype", &attributes.skype),
            ("linkedin", &attributes.linkedin),
            ("twitter", &attributes.twitter),
            ("website_url", &attributes.website_url),
            ("organization", &attributes.organization),
        ];
        for (field, text) in lines {
            violations.check_single_line(field, text);
        }
        let non_empty = |text: String| Some(text).filter(|text| !text.is_empty());
        let provider = self.provider.value().and_then(non_empty);
        let extern_uid = self.extern_uid.value().and_then(non_empty);
        let identity = match (provider, extern_uid) {
            (Some(provider), Some(extern_uid)) => {
                violations.check_single_line("provider", &provider);
                violations.check_single_line("extern_uid", &extern_uid);
                Some(Identity { provider, extern_uid })
            }
            (None, None) => None,
            (None, Some(_)) => {
                violations.add("provider", BLANK);
                None
            }
            (Some(_), None) => {
                violations.add("extern_uid", BLANK);
                None
            }
        };
        violations.into_result()?;
        let email = address.map_or_else(|| attributes.email.clone(), EmailAddress::into_string);
        Ok(ValidatedChanges { attributes: Attributes { email, ..attributes }, password, identity })
    }
}

/// The attributes that users change themselves.
#[derive(Clone, Default)]
pub struct ProfileChanges {
    pub name: Field<String>,
    pub bio: Field<String>,
    pub location: Field<String>,
    pub website_url: Field<String>,
    pub organization: Field<String>,
    pub skype: Field<String>,
    pub linkedin: Field<String>,
    pub twitter: Field<String>,
}

impl From<ProfileChanges> for UserChanges {
    fn from(changes: ProfileChanges) -> Self {
        Self {
            name: changes.name,
            bio: changes.bio,
            location: changes.location,
            website_url: changes.website_url,
            organization: changes.organization,
            skype: changes.skype,
            linkedin: changes.linkedin,
            twitter: changes.twitter,
            ..Self::default()
        }
    }
}

/// Returns the attributes that a user has.
pub(super) fn current_attributes(user: &User) -> Attributes {
    let user = user.clone();
    Attributes {
        username: user.username,
        name: user.name,
        email: user.email,
        admin: user.admin,
        external: user.external,
        can_create_group: user.can_create_group,
        projects_limit: user.projects_limit,
        bio: user.bio,
        location: user.location,
        skype: user.skype,
        linkedin: user.linkedin,
        twitter: user.twitter,
        website_url: user.website_url,
        organization: user.organization,
    }
}
