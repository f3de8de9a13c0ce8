//! The tokens of hooks at rest. They are encrypted with `secrets.key` (ADR 0023). Without that key they are stored in
//! clear, and so are those that were set before the key was; the nightly job encrypts these once there is one.

use holdfast_domain::ids::HookId;
use holdfast_store::Connection;
use holdfast_store::hooks::hook::{self, StoredToken};

use crate::{App, Result};

/// The number of tokens that one statement encrypts.
const BATCH_SIZE: i64 = 1000;

fn place(hook: HookId) -> String {
    format!("hook {hook}")
}

/// Sets the token of a hook, or removes it.
pub(super) async fn store(app: &App, connection: &mut Connection, hook: HookId, token: Option<&str>) -> Result<()> {
    let stored = match token {
        None => StoredToken::default(),
        Some(token) if app.sealing.has_key() => {
            StoredToken { clear: None, sealed: Some(app.sealing.seal(&place(hook), token.as_bytes())?) }
        }
        Some(token) => StoredToken { clear: Some(token.to_owned()), sealed: None },
    };
    Ok(hook::set_token(connection, hook, &stored).await?)
}

/// Returns the token of a hook, if it has one. Fails if it was encrypted with another key than this node has.
pub(super) fn open(app: &App, hook: HookId, stored: &StoredToken) -> Result<Option<String>> {
    let Some(sealed) = &stored.sealed else { return Ok(stored.clear.clone()) };
    let token = app.sealing.open(&place(hook), sealed)?;
    Ok(Some(String::from_utf8_lossy(&token).into_owned()))
}

/// Returns whether this node has the key with which tokens were encrypted, as far as there are any.
pub(crate) async fn has_its_key(app: &App) -> Result<bool> {
    let any = hook::find_sealed_token(&mut *app.database.connection().await?).await?;
    let can_be_opened = |(id, sealed)| open(app, id, &StoredToken { clear: None, sealed: Some(sealed) }).is_ok();
    Ok(any.is_none_or(can_be_opened))
}

/// Encrypts the tokens that are stored in clear.
pub(crate) async fn seal_clear(app: &App) -> Result<()> {
    if !app.sealing.has_key() {
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
