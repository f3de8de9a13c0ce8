//! Presents personal access tokens.

use holdfast_app::accounts::token::Token;
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

pub fn present_token(token: Token, is_active: bool) -> PersonalAccessToken {
    let user_id = token.user_id.get();
    PersonalAccessToken { token: present_fields(token, is_active), description: None, user_id }
}
