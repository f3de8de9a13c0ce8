//! The tokens of hooks at rest.
//!
//! - They are encrypted with `secrets.key` (ADR 0023). Without that key they are stored in clear.
//! - For a day after the migration that introduced this they are stored in clear alone, also with a key: nodes of the version
//!   before may still run. Those would deliver without a token that they cannot read, and the token that they remove would
//!   come back if it was kept encrypted beside.
//! - The nightly job encrypts the tokens in clear as soon as there is a key and that day is over.

use holdfast_domain::ids::HookId;
use holdfast_store::Connection;
use holdfast_store::hooks::hook::{self, StoredToken};

use crate::{App, Result};

/// The number of tokens that one statement encrypts.
const BATCH_SIZE: i64 = 1000;

fn place(hook: HookId) -> String {
    format!("hook {hook}")
}

/// Returns whether tokens are to be stored encrypted now.
async fn is_encrypting(app: &App, connection: &mut Connection) -> Result<bool> {
    Ok(app.sealing.has_key() && hook::can_encrypt_tokens(connection).await?)
}

/// Sets the token of a hook, or removes it.
pub(super) async fn store(app: &App, connection: &mut Connection, hook: HookId, token: Option<&str>) -> Result<()> {
    let mut stored = StoredToken::default();
    if let Some(token) = token {
        if is_encrypting(app, connection).await? {
            stored.sealed = Some(app.sealing.seal(&place(hook), token.as_bytes())?);
        } else {
            stored.clear = Some(token.to_owned());
        }
    }
    Ok(hook::set_token(connection, hook, &stored).await?)
}

/// Returns the token of a hook, if it has one. Fails if it was encrypted with another key than this node has.
pub(super) fn open(app: &App, hook: HookId, stored: &StoredToken) -> Result<Option<String>> {
    if let Some(clear) = &stored.clear {
        return Ok(Some(clear.clone()));
    }
    let Some(sealed) = &stored.sealed else { return Ok(None) };
    let token = app.sealing.open(&place(hook), sealed)?;
    Ok(Some(String::from_utf8_lossy(&token).into_owned()))
}

/// Returns whether this node has the key with which tokens were encrypted, as far as there are any.
pub(crate) async fn has_its_key(app: &App) -> Result<bool> {
    let any = hook::find_sealed_token(&mut *app.database.connection().await?).await?;
    let can_be_opened = |(id, sealed)| open(app, id, &StoredToken { clear: None, sealed: Some(sealed) }).is_ok();
    Ok(any.is_none_or(can_be_opened))
}

/// Encrypts the tokens that are stored in clear, if that is to be done now.
pub(crate) async fn seal_clear(app: &App) -> Result<()> {
    if !is_encrypting(app, &mut *app.database.connection().await?).await? {
        return Ok(());
    }
    loop {
        let batch = hook::next_clear_tokens(&mut *app.database.connection().await?, BATCH_SIZE).await?;
        if batch.is_empty() {
            return Ok(());
        }
        let seal = |(id, clear): (HookId, String)| {
            let sealed = app.sealing.seal(&place(id), clear.as_bytes())?;
            Ok((id, clear, sealed))
        };
        let batch = batch.into_iter().map(seal).collect::<Result<Vec<_>>>()?;
        hook::seal_batch(&mut *app.database.connection().await?, &batch).await?;
    }
}
