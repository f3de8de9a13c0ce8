//! Browser sessions as credentials.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use holdfast_domain::accounts::browser_session::expiry;

use super::credential::{Credential, CredentialSql, CredentialStatements, LAST_USE_PRECISION};
use crate::accounts::browser_session::{self, BrowserSession, COLUMNS, PASSWORD_DIGEST};
use crate::{Connection, Result};

impl Credential for BrowserSession {
    fn statements() -> &'static CredentialStatements {
        static STATEMENTS: LazyLock<CredentialStatements> = LazyLock::new(|| {
            CredentialStatements::new(&CredentialSql {
                columns: COLUMNS,
                table: "browser_sessions",
                is_valid: &format!("c.digest = $1 and c.expires_at > $2 and c.password_digest = {PASSWORD_DIGEST}"),
            })
        });
        &STATEMENTS
    }

    /// Records that the session is used now, and extends it unless it is remembered. Does nothing if `seen_at` is
    /// recent enough.
    async fn record_use(&self, connection: &mut Connection, now: DateTime<Utc>) -> Result<()> {
        if self.seen_at >= now - LAST_USE_PRECISION {
            return Ok(());
        }
        let expires_at = expiry(self.is_remembered.then_some(self.expires_at), now);
        browser_session::record_use(connection, self.id, expires_at, now).await
    }
}
