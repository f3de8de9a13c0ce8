//! The preferences of a browser. They are stored in a cookie, so they need no account.

use holdfast_http_core::{Access, params};

use crate::cookies;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::theme::THEMES;
use crate::views::accounts::preferences::preferences_page;

/// Lifetime of the cookie. Browsers shorten longer ones to 400 days.
const COOKIE_SECONDS: i64 = 400 * 24 * 60 * 60;

pub fn declare(pages: &mut Pages) {
    pages.get("/profile/preferences", Access::Anyone, Cost::Cheap, "Preferences", show);
    pages.post("/profile/preferences", Access::Anyone, Cost::Cheap, "Save the preferences", update);
}

params! {
    struct UpdatePreferences {
        /// `light`, `dark`, or another text for the theme of the system.
        optional theme: String,
        /// Any text if keys are used. A form that leads to another page does not change it.
        optional keys: String,
        /// The page to which the viewer returns after using the switch of colors on it.
        optional to: String,
    }
}

async fn show(context: RequestContext, (): ()) -> PageResult {
    respond::html(&preferences_page(context.layout()))
}

async fn update(context: RequestContext, params: UpdatePreferences) -> PageResult {
    let theme = THEMES.iter().find(|theme| params.theme.as_deref() == Some(theme.word));
    let cookie = |name, value: Option<&str>| match value {
        Some(value) => cookies::new(context.site(), name, value.to_owned(), Some(COOKIE_SECONDS)),
        None => cookies::removal(context.site(), name),
    };
    let theme = cookie(cookies::THEME, theme.filter(|theme| theme.is_fixed).map(|theme| theme.word));
    match params.to {
        Some(to) => Ok(respond::see_other(context.destination(Some(&to))).with_cookie(theme)),
        None => {
            let keys = cookie(cookies::KEYS, params.keys.is_none().then_some("off"));
            let page = respond::see_other("/profile/preferences").with_flash(FlashCode::PreferencesSaved);
            Ok(page.with_cookie(theme).with_cookie(keys))
        }
    }
}
