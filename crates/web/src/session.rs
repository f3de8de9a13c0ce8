//! The session of a request: who the viewer is.
//!
//! Only pages read the session cookie. The API, git and runners accept tokens alone, so they need no protection against
//! forms of other sites.

use std::net::IpAddr;

use axum::http::HeaderMap;
use axum_extra::extract::cookie::Cookie;
use holdfast_app::accounts::browser_session::{self, BrowserSession};
use holdfast_app::namespaces::group;
use holdfast_app::prefetched::RequestTarget;
use holdfast_app::{Actor, App, Result};
use holdfast_domain::InstanceUrls;

use crate::cookies;
use crate::layout::Viewer;
use crate::views::links;

/// The viewer of a page.
pub struct CurrentViewer {
    pub actor: Actor,
    pub session: Option<Session>,
    /// Whether the request has a cookie of a session that has ended, which the browser is to delete.
    pub has_stale_cookie: bool,
}

/// A valid session with the secret of its cookie.
#[derive(Clone)]
pub struct Session {
    pub browser_session: BrowserSession,
    pub secret: String,
}

/// Returns the secret of the session cookie.
pub fn secret(headers: &HeaderMap, site: &InstanceUrls) -> Option<String> {
    cookies::read(headers, site, cookies::SESSION)
}

/// Finds the viewer of a request. Without a valid session the viewer is anonymous.
pub async fn authenticate(
    app: &App,
    secret: Option<String>,
    target: Option<&RequestTarget>,
    address: IpAddr,
) -> Result<CurrentViewer> {
    let anonymous = Actor::Anonymous(Some(address));
    let Some(secret) = secret else {
        return Ok(CurrentViewer { actor: anonymous, session: None, has_stale_cookie: false });
    };
    match browser_session::authenticate(app, &secret, target, address).await? {
        Some((actor, browser_session)) => {
            let session = Session { browser_session, secret };
            Ok(CurrentViewer { actor, session: Some(session), has_stale_cookie: false })
        }
        None => Ok(CurrentViewer { actor: anonymous, session: None, has_stale_cookie: true }),
    }
}

/// Creates the cookie of a new session. It outlives the browser if the user stays signed in.
pub fn cookie(app: &App, site: &InstanceUrls, secret: String, session: &BrowserSession) -> Cookie<'static> {
    let remaining = (session.expires_at - app.now()).num_seconds().max(0);
    cookies::new(site, cookies::SESSION, secret, session.is_remembered.then_some(remaining))
}

/// Returns the viewer as the header of a page shows them.
pub fn viewer(actor: &Actor) -> Option<Viewer> {
    let Actor::User(current_user) = actor else { return None };
    let summary = &current_user.account.summary;
    Some(Viewer {
        username: summary.username.clone(),
        name: summary.name.clone(),
        url: links::user(&summary.username),
        can_create_group: group::can_create(actor),
        is_administrator: actor.is_administrator(),
    })
}
