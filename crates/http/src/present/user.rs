use holdfast_app::accounts::session::Session;
use holdfast_app::accounts::user::{Person, User};
use serde::Serialize;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::Timestamp;
use crate::Site;

/// What everybody sees of a user, everywhere.
#[derive(Serialize, ToSchema)]
pub struct UserSummary {
    pub id: i64,
    pub username: String,
    pub name: String,
    /// `active` or `blocked`.
    pub state: &'static str,
    pub avatar_url: String,
    pub web_url: String,
}

/// A user looked at by another one.
#[derive(Serialize, ToSchema)]
pub struct UserProfile {
    #[serde(flatten)]
    pub summary: UserSummary,
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

/// A user looked at by an administrator, or by itself.
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

/// A user who has just signed in.
#[derive(Serialize, ToSchema)]
pub struct SessionBody {
    #[serde(flatten)]
    pub user: UserFull,
    pub private_token: String,
}

/// In lists others see a summary, administrators everything.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ListedUser {
    Full(Box<UserFull>),
    Summary(UserSummary),
}

/// Alone others see the profile, administrators everything.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ShownUser {
    Full(Box<UserFull>),
    Profile(Box<UserProfile>),
}

/// Either form: the larger one also has everything of the smaller one, so it is not exactly one of the two.
macro_rules! either {
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

either!(ListedUser, UserFull, UserSummary);
either!(ShownUser, UserFull, UserProfile);

pub fn summary(user: &Person, site: &Site) -> UserSummary {
    UserSummary {
        id: user.id.get(),
        avatar_url: site.avatar(&user.email),
        web_url: site.url(&format!("/{}", user.username)),
        username: user.username.clone(),
        name: user.name.clone(),
        state: user.state.shown(),
    }
}

pub fn profile(user: User, site: &Site) -> UserProfile {
    UserProfile {
        summary: summary(&user.person(), site),
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

pub fn full(mut user: User, site: &Site) -> UserFull {
    let identities = std::mem::take(&mut user.identities.0);
    UserFull {
        email: user.email.clone(),
        last_sign_in_at: user.last_sign_in_at.map(Timestamp::from),
        confirmed_at: user.confirmed_at.map(Timestamp::from),
        // Of pages that are not served here; clients expect the numbers.
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

pub fn session(session: Session, site: &Site) -> SessionBody {
    SessionBody { user: full(session.user, site), private_token: session.token }
}
