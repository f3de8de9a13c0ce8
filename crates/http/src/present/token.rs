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
    /// The first day on which it is no longer valid.
    pub expires_at: Option<NaiveDate>,
    /// To within ten minutes.
    pub last_used_at: Option<Timestamp>,
}

/// Told once.
#[derive(Serialize, ToSchema)]
pub struct NewTokenBody {
    #[serde(flatten)]
    pub token: TokenBody,
    #[serde(rename = "token")]
    pub secret: String,
}

pub fn token(token: Token, active: bool) -> TokenBody {
    TokenBody {
        id: token.id.get(),
        scopes: token.scopes.words(),
        active,
        revoked: token.revoked_at.is_some(),
        created_at: token.created_at.into(),
        expires_at: token.expires_at.map(|end| end.date_naive()),
        last_used_at: token.last_used_at.map(Timestamp::from),
        name: token.name,
    }
}
