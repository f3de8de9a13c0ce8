//! The page of a delivery: its request and its response.

use askama::Template;
use holdfast_app::hooks::address;
use holdfast_app::hooks::delivery::Delivery;
use holdfast_app::hooks::page::HookDelivery;

use super::frame::{HookFrame, HookProject, hook_frame};
use super::status::{ResponseStatus, delivery_status, event_name, response_status};
use crate::layout::Layout;
use crate::views::projects::settings_nav::SettingsNav;
use crate::views::status::StatusView;
use crate::visible;
use crate::words;

/// Maximum size of a body that is shown. A body with many changed files is longer. Arbitrary.
const MAX_BODY_BYTES: usize = 64 << 10;

#[derive(Template)]
#[template(path = "hooks/delivery.html")]
pub struct DeliveryPage {
    pub layout: Layout,
    pub nav: Option<SettingsNav>,
    pub hook_url: String,
    /// The URL of the receiver, without user name and password.
    pub address: String,
    pub sequence: i64,
    /// The id of the delivery, which all attempts and replays share.
    pub id: String,
    pub status: StatusView,
    pub event: String,
    pub created: String,
    pub attempted: Option<String>,
    pub attempts: i32,
    pub duration: Option<String>,
    pub error: Option<String>,
    pub original: Option<OriginalDelivery>,
    pub replay_action: String,
    pub resume_action: String,
    pub request_headers: Vec<(String, String)>,
    /// None if the body is not stored any more.
    pub request_body: Option<ShownBody>,
    pub response: Option<ShownResponse>,
}

/// The delivery that this one repeats.
#[derive(Clone, Debug)]
pub struct OriginalDelivery {
    pub url: String,
    pub sequence: i64,
}

/// A body as HTML.
#[derive(Clone, Debug)]
pub struct ShownBody {
    pub html: String,
    /// Whether only its beginning is shown.
    pub is_cut: bool,
}

impl ShownBody {
    fn new(text: &str) -> Self {
        let end = (0..=MAX_BODY_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        Self { html: visible::escape(&text[..end]).into_owned(), is_cut: end < text.len() }
    }
}

/// The response to the last attempt.
#[derive(Clone, Debug)]
pub struct ShownResponse {
    pub status: Option<ResponseStatus>,
    pub headers: Vec<(String, String)>,
    pub body: ShownBody,
}

fn shown_response(delivery: &Delivery) -> Option<ShownResponse> {
    let response = delivery.response.as_ref()?;
    let headers = response["headers"].as_object().into_iter().flatten();
    let text = |value: &str| visible::escape(value).into_owned();
    Some(ShownResponse {
        status: response_status(delivery),
        headers: headers.map(|(name, value)| (text(name), text(value.as_str().unwrap_or_default()))).collect(),
        body: ShownBody::new(response["body"].as_str().unwrap_or_default()),
    })
}

/// Builds the page of a delivery.
pub fn delivery_page(layout: Layout, project: HookProject<'_>, found: &HookDelivery) -> DeliveryPage {
    let (hook, detail) = (&found.hook, &found.detail);
    let delivery = &detail.delivery;
    let title = format!("Delivery {} · {}", delivery.sequence, address::redact(&hook.url));
    let HookFrame { layout, nav, links } = hook_frame(layout, project, &title);
    let headers = detail.headers.iter();
    DeliveryPage {
        layout,
        nav,
        hook_url: links.hook(hook.id),
        address: detail.url.clone(),
        sequence: delivery.sequence,
        id: delivery.id(),
        status: delivery_status(delivery),
        event: event_name(delivery),
        created: words::date_time(delivery.created_at),
        attempted: delivery.attempted_at.map(words::date_time),
        attempts: delivery.attempts,
        duration: delivery.duration_ms.map(words::milliseconds),
        error: delivery.error.clone(),
        original: delivery
            .replay_of
            .map(|sequence| OriginalDelivery { url: links.delivery(hook.id, sequence), sequence }),
        replay_action: links.delivery_action(hook.id, delivery.sequence, "replay"),
        resume_action: links.delivery_action(hook.id, delivery.sequence, "resume"),
        request_headers: headers.map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        request_body: detail.body.as_ref().map(|body| ShownBody::new(&format!("{body:#}"))),
        response: shown_response(delivery),
    }
}
