//! The context of a request that is passed to the handler of its page beside the parameters.

use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use chrono::{DateTime, Utc};
use holdfast_app::accounts::browser_session::{BrowserSession, SessionClient};
use holdfast_app::client::KeyedPermit;
use holdfast_app::projects::project::Project;
use holdfast_app::{Actor, App, Error};
use holdfast_domain::InstanceUrls;
use holdfast_domain::page::{MAX_PAGE_SIZE, PageRequest};
use holdfast_http_core::RequestLimits;
use holdfast_http_core::client_address;
use holdfast_http_core::middleware::RequestId;

use crate::abilities::Abilities;
use crate::addresses::{is_local_path, matches_pattern};
use crate::cost::{Cost, CostPermits};
use crate::errors::PageError;
use crate::flash::FlashCode;
use crate::layout::Layout;
use crate::live_permits::LivePermits;
use crate::session::{self, Session};
use crate::validator::Validator;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::{assets, cookies, respond};

/// State that is shared by all pages.
pub struct Context {
    pub app: Arc<App>,
    pub site: InstanceUrls,
    pub limits: Arc<RequestLimits>,
    pub permits: CostPermits,
    pub live_permits: LivePermits,
    /// The paths of all pages that are read with `GET`, in the form of their declaration.
    pub paths: Vec<&'static str>,
}

/// What a request says about itself, before its session is known.
#[derive(Clone)]
pub struct RequestInfo {
    pub address: IpAddr,
    /// The header `User-Agent`.
    pub agent: String,
    pub request_id: String,
    /// Path and query.
    pub path: String,
    pub theme: Option<&'static str>,
    pub has_shortcuts: bool,
    pub flash: Option<FlashCode>,
    /// Whether the client asks for a stream of events, and not for a page.
    pub accepts_events: bool,
    /// The id of the last event that the client got from an earlier stream.
    pub last_event_id: Option<String>,
    /// The values of the header `If-None-Match`.
    pub if_none_match: Vec<HeaderValue>,
}

impl RequestInfo {
    pub fn new(parts: &Parts, site: &InstanceUrls) -> Self {
        let request_id = parts.extensions.get::<RequestId>().and_then(|id| id.0.to_str().ok()).unwrap_or_default();
        Self {
            address: client_address::from_extensions(parts),
            agent: header_text(&parts.headers, "user-agent"),
            request_id: request_id.to_owned(),
            path: parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string),
            theme: theme(&parts.headers, site),
            has_shortcuts: cookies::read(&parts.headers, site, cookies::KEYS).as_deref() != Some("off"),
            flash: cookies::read(&parts.headers, site, cookies::FLASH).and_then(|code| FlashCode::from_str_opt(&code)),
            accepts_events: header_text(&parts.headers, "accept").starts_with("text/event-stream"),
            last_event_id: Some(header_text(&parts.headers, "last-event-id")).filter(|id| !id.is_empty()),
            if_none_match: respond::if_none_match(&parts.headers),
        }
    }

    /// Returns the frame of a page for this viewer.
    pub fn layout(&self, actor: Option<&Actor>) -> Layout {
        Layout {
            viewer: actor.and_then(session::viewer),
            flash: self.flash.map(FlashCode::flash),
            assets: assets::prefix(),
            theme: self.theme,
            has_shortcuts: self.has_shortcuts,
            request_id: self.request_id.clone(),
            path: self.path.clone(),
            ..Layout::default()
        }
    }
}

fn header_text(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

fn theme(headers: &HeaderMap, site: &InstanceUrls) -> Option<&'static str> {
    let theme = cookies::read(headers, site, cookies::THEME)?;
    ["light", "dark"].into_iter().find(|known| *known == theme)
}

/// The context of a request.
pub struct RequestContext {
    pub(crate) context: Arc<Context>,
    pub(crate) info: RequestInfo,
    pub(crate) session: Option<Session>,
    pub(crate) title: &'static str,
    pub(crate) api_call: Option<&'static str>,
    pub actor: Actor,
    pub page: PageRequest,
}

impl RequestContext {
    pub fn app(&self) -> &App {
        &self.context.app
    }

    pub fn site(&self) -> &InstanceUrls {
        &self.context.site
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.context.app.now()
    }

    pub fn is_signed_in(&self) -> bool {
        self.session.is_some()
    }

    /// Returns the session of the viewer. Fails for an anonymous viewer.
    pub fn session(&self) -> Result<&BrowserSession, Error> {
        self.session.as_ref().map(|session| &session.browser_session).ok_or(Error::Unauthenticated)
    }

    /// Returns the secret of the session cookie.
    pub fn session_secret(&self) -> Option<&str> {
        self.session.as_ref().map(|session| session.secret.as_str())
    }

    /// Returns path and query of the request.
    pub fn path(&self) -> &str {
        &self.info.path
    }

    /// Returns the browser that sent the request.
    pub fn client(&self) -> SessionClient<'_> {
        SessionClient { address: self.info.address, agent: &self.info.agent }
    }

    /// Returns the frame of the page, with its declared title and API request.
    pub fn layout(&self) -> Layout {
        Layout {
            title: self.title.to_owned(),
            api_call: self.api_call.map(api_call),
            ..self.info.layout(Some(&self.actor))
        }
    }

    /// Like [`layout`](Self::layout), with the id of the project, group or user in the API request.
    pub fn layout_with_id(&self, id: impl Into<i64>) -> Layout {
        let call = self.api_call.map(|call| api_call(&call.replace(":id", &id.into().to_string())));
        Layout { api_call: call, ..self.layout() }
    }

    /// Like [`layout_with_id`](Self::layout_with_id), with the value of another parameter, such as `:issue_id`.
    pub fn layout_with_record(&self, id: impl Into<i64>, name: &str, value: impl std::fmt::Display) -> Layout {
        let layout = self.layout_with_id(id);
        Layout { api_call: layout.api_call.map(|call| call.replace(name, &value.to_string())), ..layout }
    }

    /// Returns the validator of a page about code that is rendered from its frame and these objects alone.
    pub fn code_validator(&self, project: &Project, objects: impl Hash) -> Validator {
        let abilities = Abilities::new(project, &self.actor);
        let layout = self.layout_with_id(project.id.get());
        let mut frame = project_frame(layout, project, abilities, ProjectTab::Code);
        frame.request_id.clear();
        self.validator((frame, abilities, objects))
    }

    /// Returns the validator of a response that is made from these parts alone.
    pub fn validator(&self, parts: impl Hash) -> Validator {
        Validator::from_parts(parts, &self.info.if_none_match)
    }

    /// Waits for the permit of a heavy page, for a page that is heavy only with some parameters. Fails if none is free in
    /// time.
    pub async fn acquire_heavy_permit(&self) -> Result<Option<KeyedPermit>, PageError> {
        self.context.permits.acquire(Cost::Heavy, &self.actor, self.info.address).await
    }

    /// Returns the requested page with the maximum size, for lists with short rows.
    pub fn long_page(&self) -> PageRequest {
        PageRequest::new(Some(self.page.number()), Some(MAX_PAGE_SIZE))
    }

    /// Returns the maximum size of a form.
    pub fn max_form_bytes(&self) -> usize {
        self.context.limits.settings.max_body_bytes
    }

    /// Returns the page that a form leads to: the path in `to` if it belongs to a declared page, else the start page.
    pub fn destination(&self, to: Option<&str>) -> String {
        let is_page = |text: &&str| {
            let path = text.split(['?', '#']).next().unwrap_or_default();
            is_local_path(text) && self.context.paths.iter().any(|pattern| matches_pattern(pattern, path))
        };
        to.filter(is_page).unwrap_or("/").to_owned()
    }
}

/// Returns the request of the API as the footer shows it, from a declaration such as `GET /projects/:id`.
fn api_call(declared: &str) -> String {
    declared.replacen(" /", " /api/v3/", 1)
}
