//! Presents users, with the fields that the current user may see, and sessions.

use holdfast_app::accounts::session::Session;
use holdfast_app::accounts::user::{User, UserSummary};
use serde::Serialize;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::Timestamp;
use crate::InstanceUrls;

/// The fields of a user that are visible to everybody.
#[derive(Serialize, ToSchema)]
pub struct UserSummaryBody {
    pub id: i64,
    pub username: String,
    pub name: String,
    /// `active` or `blocked`.
    pub state: &'static str,
    pub avatar_url: String,
    pub web_url: String,
}

/// A user as seen by other users.
#[derive(Serialize, ToSchema)]
pub struct UserProfile {
    #[serde(flatten)]
    pub summary: UserSummaryBody,
    pub created_at: Timestamp,
    pub is_admin: bool,
    pub bio: Option<String>,
    pub location: Option<String>,
    pub skype: String,
    pub linkedin: String,
    pub twitter: String,
    pub website_url: String,
    pub organization: String,
}

/// A user as seen by administrators and by the user themselves.
#[derive(Serialize, ToSchema)]
pub struct UserFull {
    #[serde(flatten)]
    pub profile: UserProfile,
    pub email: String,
    pub last_sign_in_at: Option<Timestamp>,
    pub confirmed_at: Option<Timestamp>,
    pub theme_id: i32,
    pub color_scheme_id: i32,
    pub projects_limit: i32,
    pub current_sign_in_at: Option<Timestamp>,
    pub identities: Vec<IdentityBody>,
    pub can_create_group: bool,
    pub can_create_project: bool,
    pub two_factor_enabled: bool,
    pub external: bool,
}

#[derive(Serialize, ToSchema)]
pub struct IdentityBody {
    pub provider: String,
    pub extern_uid: String,
}

/// The signed-in user with a session token.
#[derive(Serialize, ToSchema)]
pub struct SessionBody {
    #[serde(flatten)]
    pub user: UserFull,
    pub private_token: String,
}

/// A user in a list. Administrators see all fields, other users a summary.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ListedUser {
    Full(Box<UserFull>),
    Summary(UserSummaryBody),
}

/// A single user. Administrators see all fields, other users the profile.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ShownUser {
    Full(Box<UserFull>),
    Profile(Box<UserProfile>),
}

/// Implements an `anyOf` schema of two forms. `oneOf` would be wrong, because the large form also matches the small
/// one.
macro_rules! impl_any_of_schema {
    ($Type:ident, $Large:ident, $Small:ident) => {
        impl PartialSchema for $Type {
            fn schema() -> RefOr<Schema> {
                AnyOfBuilder::new().item($Large::schema()).item($Small::schema()).into()
            }
        }

        impl ToSchema for $Type {
            fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
                $Large::schemas(into);
                $Small::schemas(into);
            }
        }
    };
}

impl_any_of_schema!(ListedUser, UserFull, UserSummaryBody);
impl_any_of_schema!(ShownUser, UserFull, UserProfile);

pub fn summary(user: &UserSummary, site: &InstanceUrls) -> UserSummaryBody {
    UserSummaryBody {
        id: user.id.get(),
        avatar_url: site.avatar_url(&user.email),
        web_url: site.url(&format!("/{}", user.username)),
        username: user.username.clone(),
        name: user.name.clone(),
        state: user.state.api_name(),
    }
}

pub fn profile(user: User, site: &InstanceUrls) -> UserProfile {
    UserProfile {
        summary: summary(&user.summary(), site),
        created_at: user.created_at.into(),
        is_admin: user.admin,
        bio: user.bio,
        location: user.location,
        skype: user.skype,
        linkedin: user.linkedin,
        twitter: user.twitter,
        website_url: user.website_url,
        organization: user.organization,
    }
}

pub fn full(mut user: User, site: &InstanceUrls) -> UserFull {
    let identities = std::mem::take(&mut user.identities.0);
    UserFull {
        email: user.email.clone(),
        last_sign_in_at: user.last_sign_in_at.map(Timestamp::from),
        confirmed_at: user.confirmed_at.map(Timestamp::from),
        // Settings of web pages that this server does not have. Existing clients expect these numbers.
        theme_id: 2,
        color_scheme_id: 1,
        projects_limit: user.projects_limit,
        current_sign_in_at: user.current_sign_in_at.map(Timestamp::from),
        identities: identities
            .into_iter()
            .map(|it| IdentityBody { provider: it.provider, extern_uid: it.extern_uid })
            .collect(),
        can_create_group: user.can_create_group,
        can_create_project: user.can_create_project,
        two_factor_enabled: false,
        external: user.external,
        profile: profile(user, site),
    }
}

pub fn session(session: Session, site: &InstanceUrls) -> SessionBody {
    SessionBody { user: full(session.user, site), private_token: session.token }
}
