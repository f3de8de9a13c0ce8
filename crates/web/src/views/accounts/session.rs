//! The list of the own browser sessions.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::accounts::browser_session::BrowserSession;
use holdfast_domain::ids::BrowserSessionId;

use crate::layout::Layout;
use crate::words::Time;

#[derive(Template)]
#[template(path = "accounts/sessions.html")]
pub struct SessionsPage {
    pub layout: Layout,
    pub sessions: Vec<SessionRow>,
}

#[derive(Clone, Debug)]
pub struct SessionRow {
    pub id: i64,
    /// Browser and system.
    pub agent: String,
    /// The network of the browser.
    pub address: String,
    pub created: Time,
    pub seen: Time,
    pub expires: Time,
    pub is_current: bool,
}

impl SessionsPage {
    /// Returns whether there are sessions that can be ended at once without ending this one.
    pub fn has_others(&self) -> bool {
        self.sessions.iter().any(|session| !session.is_current)
    }
}

/// Builds the list, with the session of this request first.
pub fn sessions_page(
    mut layout: Layout,
    sessions: &[BrowserSession],
    current: BrowserSessionId,
    now: DateTime<Utc>,
) -> SessionsPage {
    "Sessions".clone_into(&mut layout.title);
    let row = |session: &BrowserSession| SessionRow {
        id: session.id.get(),
        agent: if session.agent.is_empty() { "Unknown browser".to_owned() } else { session.agent.clone() },
        address: session.address.clone(),
        created: Time::ago(session.created_at, now),
        seen: Time::ago(session.seen_at, now),
        expires: Time::date(session.expires_at),
        is_current: session.id == current,
    };
    let mut sessions: Vec<SessionRow> = sessions.iter().map(row).collect();
    sessions.sort_by_key(|session| !session.is_current);
    SessionsPage { layout, sessions }
}
