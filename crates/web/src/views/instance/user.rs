//! The page on which administrators manage a user.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::accounts::browser_session::BrowserSession;
use holdfast_app::accounts::token::Token;
use holdfast_app::instance::account::{MAX_COUNTED_PROJECTS, ManagedUser};
use holdfast_domain::Violations;
use holdfast_domain::accounts::{PublicKey, UserState};

use super::admin_nav::admin_frame;
use super::user_form::{UserFields, UserValues};
use super::user_list::block_word;
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::{Person, links};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "instance/user.html")]
pub struct ManagedUserPage {
    pub layout: Layout,
    pub person: Person,
    pub username: String,
    /// The address of this page, to which its forms are sent.
    pub url: String,
    pub block: Option<&'static str>,
    /// Whether administrators may block and unblock the user. They cannot lift the block of a directory.
    pub can_set_block: bool,
    pub is_administrator: bool,
    /// Whether the viewer manages another user.
    pub is_other: bool,
    pub created: Time,
    pub last_sign_in: Option<Time>,
    pub errors: Vec<FormError>,
    pub fields: UserFields,
    pub password: FormField,
    pub confirm: FormField,
    pub emails: Vec<CredentialRow>,
    pub keys: Vec<CredentialRow>,
    pub tokens: Vec<CredentialRow>,
    pub sessions: Vec<CredentialRow>,
    /// Whether a list has more entries than the page shows.
    pub has_more: bool,
    pub deletion: Deletion,
}

/// An address, a key, a token or a session of the user.
#[derive(Clone, Debug)]
pub struct CredentialRow {
    /// What the list shows.
    pub label: String,
    pub details: String,
    pub time: Option<Time>,
    /// The address of the action that takes it away. None if it is not valid any more.
    pub action: Option<String>,
}

/// What the deletion of the user removes.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// The number of the user's projects, with their noun.
    pub projects: String,
    /// Groups without another owner, which have to be deleted or passed on before.
    pub sole_groups: Vec<String>,
}

/// Builds the page. `violations` is empty when it is shown at first.
pub fn managed_user_page(
    layout: Layout,
    managed: &ManagedUser,
    values: UserValues,
    is_other: bool,
    violations: &Violations,
    now: DateTime<Utc>,
) -> ManagedUserPage {
    let user = &managed.user;
    let fields = UserFields::new(values, is_other, violations);
    let password = FormField::new("password", "New password", "").with_violations(violations);
    let confirm = FormField::new("confirm_username", "Username of the user", "").with_violations(violations);
    let action = |kind: &str, id: i64, verb: &str| links::admin_user_action(user.id, format!("{kind}/{id}/{verb}"));
    let email = |id: i64, email: &str| CredentialRow {
        label: email.to_owned(),
        details: String::new(),
        time: None,
        action: Some(action("emails", id, "delete")),
    };
    let emails = managed.emails.items.iter().map(|row| email(row.id.get(), &row.email));
    let keys = managed.ssh_keys.items.iter().map(|key| CredentialRow {
        label: key.title.clone(),
        details: PublicKey::parse(&key.key).map_or_else(|_| String::new(), |key| key.fingerprint().to_owned()),
        time: Some(Time::ago(key.created_at, now)),
        action: Some(action("keys", key.id.get(), "delete")),
    });
    let token = |token: &Token| CredentialRow {
        label: token.name.clone(),
        details: token.scopes.to_strings().join(", "),
        time: token.last_used_at.map(|at| Time::ago(at, now)),
        action: token.is_active(now).then(|| action("tokens", token.id.get(), "revoke")),
    };
    let session = |session: &BrowserSession| CredentialRow {
        label: if session.agent.is_empty() { "Unknown browser".to_owned() } else { session.agent.clone() },
        details: session.address.clone(),
        time: Some(Time::ago(session.seen_at, now)),
        action: Some(action("sessions", session.id.get(), "delete")),
    };
    let projects = match managed.effects.projects {
        count if count > MAX_COUNTED_PROJECTS => format!("more than {}", words::projects(MAX_COUNTED_PROJECTS)),
        count => words::projects(count),
    };
    ManagedUserPage {
        layout: admin_frame(layout, &user.name),
        person: Person::from_user(&user.summary()),
        username: user.username.clone(),
        url: links::admin_user(user.id),
        block: block_word(user.state),
        can_set_block: is_other && user.state != UserState::DirectoryBlocked,
        is_administrator: user.admin,
        is_other,
        created: Time::ago(user.created_at, now),
        last_sign_in: user.current_sign_in_at.map(|at| Time::ago(at, now)),
        errors: form::errors(fields.list().into_iter().chain([&password, &confirm])),
        fields,
        password,
        confirm,
        emails: emails.collect(),
        keys: keys.collect(),
        tokens: managed.tokens.items.iter().map(token).collect(),
        sessions: managed.sessions.iter().map(session).collect(),
        has_more: managed.emails.has_next || managed.ssh_keys.has_next || managed.tokens.has_next,
        deletion: Deletion { projects, sole_groups: managed.effects.sole_groups.clone() },
    }
}
