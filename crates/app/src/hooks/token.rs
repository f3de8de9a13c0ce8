//! Stores the tokens of hooks.
//!
//! - They are encrypted with `encryption.key` (ADR 0023). Without that key they are stored in clear.
//! - For a day after the migration that introduced this, they are stored in clear even with a key, because nodes of the
//!   previous version may still run. Such a node cannot read an encrypted token and would deliver without it, and a
//!   token that it removes would remain in its encrypted form.
//! - The daily cleanup encrypts the tokens in clear as soon as there is a key and that day is over.

use holdfast_domain::ids::HookId;
use holdfast_domain::policy::InstanceAction;
use holdfast_store::Connection;
use holdfast_store::hooks::hook::{self, StoredToken};

use crate::{Actor, App, Result, access};

/// Maximum number of tokens that one statement encrypts.
const BATCH_SIZE: i64 = 1000;

fn associated_data(hook: HookId) -> String {
    format!("hook {hook}")
}

/// Returns whether new tokens are stored encrypted.
async fn should_encrypt(app: &App, connection: &mut Connection) -> Result<bool> {
    Ok(app.cipher.has_key() && hook::can_encrypt_tokens(connection).await?)
}

/// Sets the token of a hook, or removes it.
pub(super) async fn store(app: &App, connection: &mut Connection, hook: HookId, token: Option<&str>) -> Result<()> {
    let mut stored = StoredToken::default();
    if let Some(token) = token {
        if should_encrypt(app, connection).await? {
            stored.encrypted = Some(app.cipher.seal(&associated_data(hook), token.as_bytes())?);
        } else {
            stored.clear = Some(token.to_owned());
        }
    }
    Ok(hook::set_token(connection, hook, &stored).await?)
}

/// Returns the token of a hook, if it has one. Fails if it was encrypted with another key than this node has.
pub(super) fn decrypt(app: &App, hook: HookId, stored: &StoredToken) -> Result<Option<String>> {
    if let Some(clear) = &stored.clear {
        return Ok(Some(clear.clone()));
    }
    let Some(encrypted) = &stored.encrypted else { return Ok(None) };
    let token = app.cipher.open(&associated_data(hook), encrypted)?;
    Ok(Some(String::from_utf8_lossy(&token).into_owned()))
}

/// Returns whether this node has the key that tokens were encrypted with. Checks one token; returns `None` if there is
/// none.
#[crate::boxed]
pub async fn can_decrypt_stored(app: &App, actor: &Actor) -> Result<Option<bool>> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    let sample = hook::find_encrypted_token(&mut *app.database.connection().await?).await?;
    let can_decrypt = |(id, sealed)| decrypt(app, id, &StoredToken { clear: None, encrypted: Some(sealed) }).is_ok();
    Ok(sample.map(can_decrypt))
}

/// Encrypts the tokens that are stored in clear, if there is a key and all nodes can read encrypted tokens.
pub(crate) async fn encrypt_clear_tokens(app: &App) -> Result<()> {
    if !should_encrypt(app, &mut *app.database.connection().await?).await? {
        return Ok(());
    }
    loop {
        let batch = hook::next_clear_token_batch(&mut *app.database.connection().await?, BATCH_SIZE).await?;
        if batch.is_empty() {
            return Ok(());
        }
        let encrypt = |(id, clear): (HookId, String)| {
            let encrypted = app.cipher.seal(&associated_data(id), clear.as_bytes())?;
            Ok((id, clear, encrypted))
        };
        let batch = batch.into_iter().map(encrypt).collect::<Result<Vec<_>>>()?;
        hook::set_encrypted_batch(&mut *app.database.connection().await?, &batch).await?;
    }
}
