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
