//! Presents what users say about themselves.

use holdfast_app::accounts::status::UserStatus;
use serde::Serialize;
use utoipa::ToSchema;

use super::label::escape_html;
use crate::present::Timestamp;

/// The status of a user. All fields are null or empty if there is none.
#[derive(Default, Serialize, ToSchema)]
pub struct UserStatusBody {
    /// Name of an emoji, without colons.
    pub emoji: Option<String>,
    pub message: Option<String>,
    /// `not_set` or `busy`.
    pub availability: Option<&'static str>,
    /// The message with the special characters of HTML escaped. Empty if there is none.
    pub message_html: String,
    /// Time from which the status is not shown. Null if it has no end.
    pub clear_status_at: Option<Timestamp>,
}

pub fn present_status(status: Option<UserStatus>) -> UserStatusBody {
    let Some(status) = status else { return UserStatusBody::default() };
    UserStatusBody {
        emoji: Some(status.emoji),
        message_html: status.message.as_deref().map(escape_html).unwrap_or_default(),
        message: status.message,
        availability: Some(if status.is_busy { "busy" } else { "not_set" }),
        clear_status_at: status.clear_at.map(Into::into),
    }
}
