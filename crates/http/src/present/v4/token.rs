//! Presents access tokens: personal ones, impersonation tokens, and those of projects and groups.

use holdfast_app::accounts::token::Token;
use holdfast_app::projects::access_token::{AccessToken, MembershipScope};
use serde::Serialize;
use utoipa::ToSchema;

use crate::present::token::{TokenBody, present_token as present_fields};

/// A personal access token without its value.
#[derive(Serialize, ToSchema)]
pub struct PersonalAccessToken {
    #[serde(flatten)]
    pub token: TokenBody,
    /// Always null: tokens have only a name.
    pub description: Option<String>,
    pub user_id: i64,
}

/// A new token with its value, which is returned only once.
#[derive(Serialize, ToSchema)]
pub struct NewPersonalAccessToken {
    #[serde(flatten)]
    pub fields: PersonalAccessToken,
    pub token: String,
}

/// An impersonation token without its value.
#[derive(Serialize, ToSchema)]
pub struct ImpersonationToken {
    #[serde(flatten)]
    pub token: PersonalAccessToken,
    pub impersonation: bool,
}

/// A new impersonation token with its value, which is returned only once.
#[derive(Serialize, ToSchema)]
pub struct NewImpersonationToken {
    #[serde(flatten)]
    pub fields: ImpersonationToken,
    pub token: String,
}

/// An access token of a project or group without its value.
#[derive(Serialize, ToSchema)]
pub struct AccessTokenBody {
    #[serde(flatten)]
    pub token: PersonalAccessToken,
    /// Access level of its user.
    pub access_level: Option<i16>,
    /// `project` or `group`.
    pub resource_type: &'static str,
    /// Id of the project or group.
    pub resource_id: i64,
}

/// A new access token with its value, which is returned only once.
#[derive(Serialize, ToSchema)]
pub struct NewAccessToken {
    #[serde(flatten)]
    pub fields: AccessTokenBody,
    pub token: String,
}

pub fn present_access_token(token: AccessToken, is_active: bool) -> AccessTokenBody {
    let (resource_type, resource_id) = match token.scope() {
        MembershipScope::Project(project) => ("project", project.get()),
        MembershipScope::Group(group) => ("group", group.get()),
    };
    let AccessToken { token, access_level, .. } = token;
    AccessTokenBody { token: present_token(token, is_active), access_level, resource_type, resource_id }
}

pub fn present_token(token: Token, is_active: bool) -> PersonalAccessToken {
    let user_id = token.user_id.get();
    PersonalAccessToken { token: present_fields(token, is_active), description: None, user_id }
}
