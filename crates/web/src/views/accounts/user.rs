//! The page of a user.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::accounts::user::User;
use holdfast_app::activity::calendar::ActivityCalendar;
use holdfast_app::projects::project::Project;
use holdfast_domain::accounts::UserState;
use holdfast_domain::page::Page;

use super::calendar::CalendarView;
use crate::layout::Layout;
use crate::views::projects::row::{ProjectRow, rows};
use crate::views::{Pages, Person, links};
use crate::words::Time;

#[derive(Template)]
#[template(path = "accounts/user.html")]
pub struct UserPage {
    pub layout: Layout,
    pub person: Person,
    pub username: String,
    pub bio: Option<String>,
    pub location: Option<String>,
    pub organization: Option<String>,
    pub website: Option<Website>,
    pub member_since: Time,
    pub is_blocked: bool,
    /// Whether the viewer looks at the own page and can edit it.
    pub is_own: bool,
    pub calendar: CalendarView,
    pub projects: Vec<ProjectRow>,
    pub pages: Pages,
}

/// A link to another site, shown with its host.
#[derive(Clone, Debug)]
pub struct Website {
    pub url: String,
    pub text: String,
}

impl Website {
    /// Returns a link for an address with `http` or `https`, and `None` for anything else, which could run a script.
    pub fn parse(address: &str) -> Option<Self> {
        let address = address.trim();
        let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
        let text = rest.trim_end_matches('/').to_owned();
        (!text.is_empty()).then(|| Self { url: address.to_owned(), text })
    }
}

/// Builds the page of a user with the activity and the projects in the user's namespace that the viewer may see.
pub fn user_page(
    mut layout: Layout,
    user: &User,
    projects: &Page<Project>,
    activity: &ActivityCalendar,
    now: DateTime<Utc>,
) -> UserPage {
    layout.title = format!("{} (@{})", user.name, user.username);
    let is_own = layout.viewer.as_ref().is_some_and(|viewer| viewer.username == user.username);
    let not_empty = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    UserPage {
        person: Person::with_account(&user.name, &user.username),
        username: user.username.clone(),
        bio: user.bio.as_deref().and_then(not_empty),
        location: user.location.as_deref().and_then(not_empty),
        organization: not_empty(&user.organization),
        website: Website::parse(&user.website_url),
        member_since: Time::date(user.created_at),
        is_blocked: user.state != UserState::Active,
        is_own,
        calendar: CalendarView::new(activity),
        projects: rows(&projects.items, now),
        pages: Pages::new(projects, &links::user(&user.username), &[]),
        layout,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_become_links() {
        let text = |address: &str| Website::parse(address).map(|website| website.text);
        assert_eq!(text(" https://ada.example/ "), Some("ada.example".into()));
        for hostile in ["javascript:alert(1)", "data:text/html,x", "//evil.example", "ftp://a", "https://", ""] {
            assert_eq!(text(hostile), None, "{hostile}");
        }
    }
}
