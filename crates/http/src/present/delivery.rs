//! Presents the deliveries of hooks.

use holdfast_app::hooks::delivery::{Delivery, DeliveryDetail, DeliveryState};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::Timestamp;

/// A delivery of an event to a hook.
#[derive(Serialize, ToSchema)]
pub struct DeliveryBody {
    /// Sequence number among the deliveries of the hook, without gaps. Sent as `X-Holdfast-Sequence`.
    pub id: i64,
    /// Identifier that is the same in all attempts and replays of a delivery. Sent as `Webhook-Id`.
    pub delivery_id: String,
    /// Sequence number of the delivery that this one replays.
    pub replay_of: Option<i64>,
    /// Type of the event, such as `push`, `issue` or `project_create`.
    pub event: String,
    /// `pending`, `delivered`, or `parked` if the server no longer retries it.
    pub state: &'static str,
    /// Time of the event.
    pub created_at: Timestamp,
    pub attempts: i32,
    /// Time of the last attempt.
    pub attempted_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
    /// HTTP status of the response to the last attempt.
    pub status: Option<i16>,
    pub duration_ms: Option<i32>,
    /// Reason for the failure of the last attempt.
    pub error: Option<String>,
}

pub fn present_delivery(delivery: Delivery) -> DeliveryBody {
    DeliveryBody {
        id: delivery.sequence,
        delivery_id: delivery.id(),
        replay_of: delivery.replay_of,
        state: match delivery.state() {
            DeliveryState::Pending => "pending",
            DeliveryState::Delivered => "delivered",
            DeliveryState::Parked => "parked",
        },
        event: delivery.kind,
        created_at: delivery.created_at.into(),
        attempts: delivery.attempts,
        attempted_at: delivery.attempted_at.map(Into::into),
        delivered_at: delivery.delivered_at.map(Into::into),
        status: delivery.status,
        duration_ms: delivery.duration_ms,
        error: delivery.error,
    }
}

/// A delivery with its request and response, without secrets.
#[derive(Serialize, ToSchema)]
pub struct ShownDeliveryBody {
    #[serde(flatten)]
    pub delivery: DeliveryBody,
    pub request: RequestBody,
    pub response: Option<ResponseBody>,
}

#[derive(Serialize, ToSchema)]
pub struct RequestBody {
    pub url: String,
    #[schema(value_type = Object)]
    pub headers: Map<String, Value>,
    /// Null after the retention period.
    #[schema(value_type = Option<Object>)]
    pub body: Option<Value>,
}

#[derive(Serialize, ToSchema)]
pub struct ResponseBody {
    pub status: Option<i16>,
    #[schema(value_type = Object)]
    pub headers: Value,
    /// Beginning of the response body.
    pub body: String,
}

pub fn detail(detail: DeliveryDetail) -> ShownDeliveryBody {
    let response = detail.delivery.response.clone().map(|response| ResponseBody {
        status: detail.delivery.status,
        headers: response["headers"].clone(),
        body: response["body"].as_str().unwrap_or_default().to_owned(),
    });
    let headers = detail.headers.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
    let request = RequestBody { url: detail.url, headers: headers.collect(), body: detail.body };
    ShownDeliveryBody { delivery: present_delivery(detail.delivery), request, response }
}

/// The deliveries that are replayed.
#[derive(Serialize, ToSchema)]
pub struct ReplayBody {
    /// Sequence number of the first delivery to be sent again.
    pub from: i64,
    /// Number of deliveries to be sent.
    pub deliveries: i64,
}
