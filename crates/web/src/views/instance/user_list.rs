//! The list of users for administrators.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::accounts::user::User;
use holdfast_domain::accounts::UserState;
use holdfast_domain::page::Page;

use super::admin_nav::admin_frame;
use crate::layout::Layout;
use crate::views::{Pages, Person, links};
use crate::words::Time;

#[derive(Template)]
#[template(path = "instance/users.html")]
pub struct UserListPage {
    pub layout: Layout,
    pub search: String,
    /// One of [`STATES`].
    pub state: &'static str,
    pub users: Vec<UserRow>,
    pub pages: Pages,
}

#[derive(Clone, Debug)]
pub struct UserRow {
    /// The page on which the user is managed.
    pub url: String,
    pub person: Person,
    pub username: String,
    pub email: String,
    pub is_administrator: bool,
    pub is_external: bool,
    pub block: Option<&'static str>,
    pub last_sign_in: Option<Time>,
    pub created: Time,
}

/// The values of the parameter `state` with their labels. The first one is the default.
pub const STATES: [(&str, &str); 4] =
    [("", "All users"), ("active", "Active"), ("blocked", "Blocked"), ("external", "External")];

/// Returns the word for the block of a user, or None for an active user.
pub const fn block_word(state: UserState) -> Option<&'static str> {
    match state {
        UserState::Active => None,
        UserState::Blocked => Some("blocked"),
        UserState::DirectoryBlocked => Some("blocked by a directory"),
    }
}

/// Builds the list of users.
pub fn user_list_page(
    layout: Layout,
    users: &Page<User>,
    search: &str,
    state: &'static str,
    now: DateTime<Utc>,
) -> UserListPage {
    let row = |user: &User| UserRow {
        url: links::admin_user(user.id),
        person: Person::from_user(&user.summary()),
        username: user.username.clone(),
        email: user.email.clone(),
        is_administrator: user.admin,
        is_external: user.external,
        block: block_word(user.state),
        last_sign_in: user.current_sign_in_at.map(|at| Time::ago(at, now)),
        created: Time::ago(user.created_at, now),
    };
    UserListPage {
        layout: admin_frame(layout, "Users"),
        users: users.items.iter().map(row).collect(),
        pages: Pages::new(users, "/admin/users", &[("search", search), ("state", state)]),
        search: search.to_owned(),
        state,
    }
}
