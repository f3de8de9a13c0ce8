//! What users say about themselves: an emoji, a message, and whether they are busy.

use chrono::TimeDelta;
use holdfast_domain::Violations;
use holdfast_domain::planning::Emoji;
use holdfast_domain::violations::{INVALID, has_no_control_chars};
use holdfast_store::accounts::user_status;

pub use holdfast_store::accounts::user_status::UserStatus;

use super::user::{self, lock_author};
use crate::{Actor, App, Result, access};

/// Maximum number of characters of a message, as existing clients expect.
const MAX_MESSAGE_CHARS: usize = 100;
/// The emoji of a status for which none was chosen, as existing clients expect.
const DEFAULT_EMOJI: &str = "speech_balloon";

/// The status that a user sets.
#[derive(Clone, Debug)]
pub struct SetStatus {
    pub emoji: Option<String>,
    pub message: Option<String>,
    pub is_busy: bool,
    pub clear_after: Option<TimeDelta>,
}

/// Returns the status of the current user, if there is one.
#[crate::boxed]
pub async fn show_own(app: &App, actor: &Actor) -> Result<Option<UserStatus>> {
    let user = access::authorize_own_account(actor)?.account.id();
    Ok(user_status::find(&mut *app.database.connection().await?, user, app.clock.now()).await?)
}

/// Returns the status of a user, if there is one. A number is an id, any other text is a username.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, id_or_username: &str) -> Result<Option<UserStatus>> {
    let user = match id_or_username.parse::<i64>() {
        Ok(id) => user::show(app, actor, id.into()).await?,
        Err(_) => user::show_by_username(app, actor, id_or_username).await?,
    };
    Ok(user_status::find(&mut *app.database.connection().await?, user.id, app.clock.now()).await?)
}

/// Replaces the status of the current user. One without emoji, message and availability is deleted.
#[crate::boxed]
pub async fn set_own(app: &App, actor: &Actor, input: SetStatus) -> Result<Option<UserStatus>> {
    access::authorize_own_account(actor)?;
    let is_given = |text: &String| !text.trim().is_empty();
    let (emoji, message) = (input.emoji.filter(is_given), input.message.filter(is_given));
    let is_empty = emoji.is_none() && message.is_none() && !input.is_busy;
    let emoji = Emoji::parse(emoji.as_deref().unwrap_or(DEFAULT_EMOJI));
    let emoji = emoji.ok_or_else(|| Violations::single("emoji", INVALID))?;
    let mut violations = Violations::default();
    violations.check_length("message", message.as_deref().unwrap_or_default(), MAX_MESSAGE_CHARS);
    if !message.as_deref().is_none_or(has_no_control_chars) {
        violations.add("message", INVALID);
    }
    violations.into_result()?;
    let clear_at = input.clear_after.map(|duration| app.clock.now() + duration);
    let status = UserStatus { emoji: emoji.as_str().to_owned(), message, is_busy: input.is_busy, clear_at };
    let mut transaction = app.database.begin().await?;
    let user = lock_author(&mut transaction, actor).await?;
    if is_empty {
        user_status::delete(&mut transaction, user).await?;
    } else {
        user_status::upsert(&mut transaction, user, &status).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok((!is_empty).then_some(status))
}
