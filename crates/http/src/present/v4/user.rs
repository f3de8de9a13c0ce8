//! Presents users.

use holdfast_app::accounts::email::Email;
use holdfast_app::accounts::user::{User, UserSummary};
use serde::Serialize;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::InstanceUrls;
use crate::present::Timestamp;
use crate::present::email::{EmailBody, present_email as present_address};
use crate::present::user::{IdentityBody, UserFull, full};

/// The fields of a user that are visible to everybody.
#[derive(Serialize, ToSchema)]
pub struct UserBasic {
    pub id: i64,
    pub username: String,
    /// Always null: addresses are not public.
    pub public_email: Option<String>,
    pub name: String,
    /// `active` or `blocked`.
    pub state: &'static str,
    pub locked: bool,
    pub avatar_url: String,
    pub web_url: String,
}

pub fn present_basic(user: &UserSummary, site: &InstanceUrls) -> UserBasic {
    let summary = crate::present::user::summary(user, site);
    UserBasic {
        id: summary.id,
        username: summary.username,
        public_email: None,
        name: summary.name,
        state: summary.state,
        locked: false,
        avatar_url: summary.avatar_url,
        web_url: summary.web_url,
    }
}

/// A user as seen by other users.
#[derive(Serialize, ToSchema)]
pub struct UserProfileBody {
    #[serde(flatten)]
    pub basic: UserBasic,
    pub created_at: Timestamp,
    pub bio: String,
    pub location: String,
    pub skype: String,
    pub linkedin: String,
    pub twitter: String,
    pub discord: &'static str,
    pub website_url: String,
    pub organization: String,
    pub job_title: &'static str,
    pub pronouns: Option<String>,
    pub bot: bool,
    pub work_information: Option<String>,
    pub followers: i32,
    pub following: i32,
    pub local_time: Option<String>,
    pub is_followed: bool,
}

/// A user as seen by the user themselves. Administrators see more ([`UserForAdministrators`]).
#[derive(Serialize, ToSchema)]
pub struct OwnUser {
    #[serde(flatten)]
    pub profile: UserProfileBody,
    pub last_sign_in_at: Option<Timestamp>,
    pub confirmed_at: Option<Timestamp>,
    pub last_activity_on: Option<String>,
    pub email: String,
    pub theme_id: i32,
    pub color_scheme_id: i32,
    pub projects_limit: i32,
    pub current_sign_in_at: Option<Timestamp>,
    pub identities: Vec<IdentityBody>,
    pub can_create_group: bool,
    pub can_create_project: bool,
    pub two_factor_enabled: bool,
    pub external: bool,
    pub private_profile: bool,
    pub commit_email: String,
}

/// A user as seen by administrators.
#[derive(Serialize, ToSchema)]
pub struct UserForAdministrators {
    #[serde(flatten)]
    pub user: OwnUser,
    pub is_admin: bool,
    pub note: Option<String>,
}

/// A user with the fields that the current user may see.
#[derive(Serialize)]
#[serde(untagged)]
pub enum SeenUser {
    ForAdministrators(Box<UserForAdministrators>),
    Own(Box<OwnUser>),
    Profile(Box<UserProfileBody>),
}

/// The schema is `anyOf`, because the larger forms also match the smaller ones.
impl PartialSchema for SeenUser {
    fn schema() -> RefOr<Schema> {
        let forms = AnyOfBuilder::new().item(UserForAdministrators::schema()).item(OwnUser::schema());
        forms.item(UserProfileBody::schema()).into()
    }
}

impl ToSchema for SeenUser {
    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        UserForAdministrators::schemas(into);
        OwnUser::schemas(into);
        UserProfileBody::schemas(into);
    }
}

/// Presents the current user.
pub fn present_current(user: User, site: &InstanceUrls) -> SeenUser {
    match user.admin {
        true => SeenUser::ForAdministrators(Box::new(present_for_administrators(user, site))),
        false => SeenUser::Own(Box::new(present_own(user, site))),
    }
}

/// Presents a user to another one.
pub fn present_seen(user: User, is_seen_by_administrator: bool, site: &InstanceUrls) -> SeenUser {
    match is_seen_by_administrator {
        true => SeenUser::ForAdministrators(Box::new(present_for_administrators(user, site))),
        false => SeenUser::Profile(Box::new(present_profile(user, site))),
    }
}

/// A secondary e-mail address of a user.
#[derive(Serialize, ToSchema)]
pub struct SecondaryEmail {
    #[serde(flatten)]
    pub email: EmailBody,
    /// Always null: secondary addresses are not confirmed.
    pub confirmed_at: Option<Timestamp>,
}

pub fn present_email(email: Email) -> SecondaryEmail {
    SecondaryEmail { email: present_address(email), confirmed_at: None }
}

pub fn present_profile(user: User, site: &InstanceUrls) -> UserProfileBody {
    let (basic, is_bot) = (present_basic(&user.summary(), site), user.bot);
    profile_from(basic, is_bot, crate::present::user::profile(user, site))
}

fn profile_from(basic: UserBasic, is_bot: bool, profile: crate::present::user::UserProfile) -> UserProfileBody {
    UserProfileBody {
        basic,
        created_at: profile.created_at,
        bio: profile.bio.unwrap_or_default(),
        location: profile.location.unwrap_or_default(),
        skype: profile.skype,
        linkedin: profile.linkedin,
        twitter: profile.twitter,
        discord: "",
        website_url: profile.website_url,
        organization: profile.organization,
        job_title: "",
        pronouns: None,
        bot: is_bot,
        work_information: None,
        followers: 0,
        following: 0,
        local_time: None,
        is_followed: false,
    }
}

pub fn present_own(user: User, site: &InstanceUrls) -> OwnUser {
    let (basic, is_bot) = (present_basic(&user.summary(), site), user.bot);
    let full: UserFull = full(user, site);
    OwnUser {
        last_sign_in_at: full.last_sign_in_at,
        confirmed_at: full.confirmed_at,
        last_activity_on: None,
        commit_email: full.email.clone(),
        email: full.email,
        theme_id: full.theme_id,
        color_scheme_id: full.color_scheme_id,
        projects_limit: full.projects_limit,
        current_sign_in_at: full.current_sign_in_at,
        identities: full.identities,
        can_create_group: full.can_create_group,
        can_create_project: full.can_create_project,
        two_factor_enabled: full.two_factor_enabled,
        external: full.external,
        private_profile: false,
        profile: profile_from(basic, is_bot, full.profile),
    }
}

pub fn present_for_administrators(user: User, site: &InstanceUrls) -> UserForAdministrators {
    UserForAdministrators { is_admin: user.admin, note: None, user: present_own(user, site) }
}
