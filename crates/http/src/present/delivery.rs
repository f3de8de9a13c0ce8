use holdfast_app::hooks::delivery::{Delivery, Shown, State};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::Timestamp;

/// Something that a hook was told, or is to be told.
#[derive(Serialize, ToSchema)]
pub struct DeliveryBody {
    /// Its number among the deliveries of its hook, without gaps; sent as `X-Holdfast-Sequence`.
    pub id: i64,
    /// The same for everything that is sent for it; sent as `Webhook-Id`.
    pub delivery_id: String,
    /// The number of the delivery that is sent again by this one.
    pub replay_of: Option<i64>,
    /// `push`, `issue`, `project_create` and so on.
    pub event: String,
    /// `pending`, `delivered`, or `parked` if it was given up.
    pub state: &'static str,
    /// When that happened which it tells of.
    pub created_at: Timestamp,
    pub attempts: i32,
    /// The last time it was tried.
    pub attempted_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
    /// What the receiver answered the last time.
    pub status: Option<i16>,
    pub duration_ms: Option<i32>,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

pub fn delivery(delivery: Delivery) -> DeliveryBody {
    DeliveryBody {
        id: delivery.sequence,
        delivery_id: delivery.id(),
        replay_of: delivery.replay_of,
        state: match delivery.state() {
            State::Pending => "pending",
            State::Delivered => "delivered",
            State::Parked => "parked",
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

/// The same with what was sent and what was answered, but for secrets.
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
    /// Null once it is older than what is kept.
    #[schema(value_type = Option<Object>)]
    pub body: Option<Value>,
}

#[derive(Serialize, ToSchema)]
pub struct ResponseBody {
    pub status: Option<i16>,
    #[schema(value_type = Object)]
    pub headers: Value,
    /// How it begins.
    pub body: String,
}

pub fn shown(shown: Shown) -> ShownDeliveryBody {
    let response = shown.delivery.response.clone().map(|response| ResponseBody {
        status: shown.delivery.status,
        headers: response["headers"].clone(),
        body: response["body"].as_str().unwrap_or_default().to_owned(),
    });
    let headers = shown.headers.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
    let request = RequestBody { url: shown.url, headers: headers.collect(), body: shown.body };
    ShownDeliveryBody { delivery: delivery(shown.delivery), request, response }
}

/// What a hook is told once more.
#[derive(Serialize, ToSchema)]
pub struct ReplayBody {
    /// The first number that is sent again.
    pub from: i64,
    /// How many that are.
    pub deliveries: i64,
}
