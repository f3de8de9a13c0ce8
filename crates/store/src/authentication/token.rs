//! Access tokens as credentials.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use holdfast_domain::accounts::Scopes;
use holdfast_domain::ids::TokenId;

use super::credential::{Credential, CredentialSql, CredentialStatements, LAST_USE_PRECISION};
use crate::accounts::token;
use crate::{Connection, Result};

/// A token that a client has sent, and that is neither revoked nor expired.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ActiveToken {
    #[sqlx(try_from = "i64", rename = "token_id")]
    pub id: TokenId,
    #[sqlx(try_from = "Vec<String>", rename = "token_scopes")]
    pub scopes: Scopes,
    #[sqlx(rename = "token_last_used_at")]
    pub last_used_at: Option<DateTime<Utc>>,
    /// Whether somebody other than the user created the token: an administrator, or whoever manages the bot.
    #[sqlx(rename = "token_is_delegated")]
    pub is_delegated: bool,
}

impl Credential for ActiveToken {
    fn statements() -> &'static CredentialStatements {
        static STATEMENTS: LazyLock<CredentialStatements> = LazyLock::new(|| {
            CredentialStatements::new(&CredentialSql {
                columns: "c.id as token_id, c.scopes as token_scopes, c.last_used_at as token_last_used_at, \
                    c.kind in ('impersonation', 'bot') as token_is_delegated",
                table: "tokens",
                is_valid: "c.digest = $1 and c.revoked_at is null and (c.expires_at is null or c.expires_at > $2) \
                    and u.bot = (c.kind = 'bot')",
            })
        });
        &STATEMENTS
    }

    /// Records that the token is used now. Does nothing if `last_used_at` is recent enough.
    async fn record_use(&self, connection: &mut Connection, now: DateTime<Utc>) -> Result<()> {
        if self.last_used_at.is_some_and(|at| at >= now - LAST_USE_PRECISION) {
            return Ok(());
        }
        token::record_use(connection, self.id, now).await
    }
}
