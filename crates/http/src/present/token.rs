//! Presents personal access tokens.

use chrono::NaiveDate;
use holdfast_app::accounts::token::Token;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;

#[derive(Serialize, ToSchema)]
pub struct TokenBody {
    pub id: i64,
    pub name: String,
    pub scopes: Vec<&'static str>,
    pub active: bool,
    pub revoked: bool,
    pub created_at: Timestamp,
    /// First day on which the token is no longer valid.
    pub expires_at: Option<NaiveDate>,
    /// Time of the last use, accurate to ten minutes.
    pub last_used_at: Option<Timestamp>,
}

/// A new token with its value, which is returned only once.
#[derive(Serialize, ToSchema)]
pub struct NewTokenBody {
    #[serde(flatten)]
    pub token: TokenBody,
    #[serde(rename = "token")]
    pub secret: String,
}

pub fn present_token(token: Token, is_active: bool) -> TokenBody {
    TokenBody {
        id: token.id.get(),
        scopes: token.scopes.to_strings(),
        active: is_active,
        revoked: token.revoked_at.is_some(),
        created_at: token.created_at.into(),
        expires_at: token.expires_at.map(|end| end.date_naive()),
        last_used_at: token.last_used_at.map(Timestamp::from),
        name: token.name,
    }
}
