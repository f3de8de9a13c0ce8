//! Messages about the action that led to a page. A message travels as a code in a short-lived cookie: any node shows
//! it, and no link can make a page show a text of its author.

use axum_extra::extract::cookie::Cookie;
use holdfast_domain::InstanceUrls;

use crate::cookies;
use crate::layout::Flash;

/// How long the message waits for the page that shows it.
const FLASH_SECONDS: i64 = 60;

macro_rules! messages {
    ($($Variant:ident = $code:literal, $kind:literal, $text:literal;)+) => {
        /// A message about an action, shown on the page that follows it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FlashCode { $($Variant),+ }

        impl FlashCode {
            pub const ALL: &'static [Self] = &[$(Self::$Variant),+];

            /// Returns the code in the cookie.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$Variant => $code),+ }
            }

            const fn message(self) -> (&'static str, &'static str) {
                match self { $(Self::$Variant => ($kind, $text)),+ }
            }
        }
    };
}

messages! {
    SignedOut = "signed_out", "ok", "You are signed out.";
    ProfileSaved = "profile_saved", "ok", "Your profile was saved.";
    SessionEnded = "session_ended", "ok", "The session was ended.";
    OtherSessionsEnded = "other_sessions_ended", "ok", "All other sessions were ended.";
    LabelCreated = "label_created", "ok", "The label was created.";
    LabelSaved = "label_saved", "ok", "The label was saved.";
    LabelDeleted = "label_deleted", "ok", "The label was deleted.";
    LabelSubscribed = "label_subscribed", "ok", "You are subscribed to the label.";
    LabelUnsubscribed = "label_unsubscribed", "ok", "You are not subscribed to the label any more.";
    DefaultLabelsCreated = "default_labels_created", "ok", "The labels were created.";
    MilestoneCreated = "milestone_created", "ok", "The milestone was created.";
    MilestoneSaved = "milestone_saved", "ok", "The milestone was saved.";
    MilestoneClosed = "milestone_closed", "ok", "The milestone was closed.";
    MilestoneReopened = "milestone_reopened", "ok", "The milestone was reopened.";
    PasswordChanged = "password_changed", "ok", "Your password was changed, and all other sessions were ended.";
    EmailAdded = "email_added", "ok", "The address was added.";
    EmailDeleted = "email_deleted", "ok", "The address was deleted.";
    KeyAdded = "key_added", "ok", "The SSH key was added.";
    KeyDeleted = "key_deleted", "ok", "The SSH key was deleted.";
    TokenRevoked = "token_revoked", "ok", "The token was revoked.";
    PreferencesSaved = "preferences_saved", "ok", "The preferences were saved in this browser.";
}

impl FlashCode {
    pub fn from_str_opt(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|flash| flash.as_str() == code)
    }

    /// Returns the message as the layout shows it.
    pub fn flash(self) -> Flash {
        let (kind, text) = self.message();
        Flash { kind, text: text.to_owned() }
    }

    /// Returns the cookie that carries the code to the next page.
    pub fn cookie(self, site: &InstanceUrls) -> Cookie<'static> {
        cookies::new(site, cookies::FLASH, self.as_str().to_owned(), Some(FLASH_SECONDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_read_back() {
        for flash in FlashCode::ALL {
            assert_eq!(FlashCode::from_str_opt(flash.as_str()), Some(*flash));
        }
        assert_eq!(FlashCode::from_str_opt("<script>"), None);
    }
}
