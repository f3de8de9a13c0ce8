use holdfast_app::repository::import::Import;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;

#[derive(Serialize, ToSchema)]
pub struct ImportBody {
    /// Without name and password.
    pub url: String,
    /// waiting, connecting, receiving, storing; and in the end finished, failed or canceled.
    pub phase: String,
    /// Of what is to be received.
    pub percent: i16,
    /// What went wrong, or what was left out.
    pub error: Option<String>,
    pub requested_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

pub fn import(import: Import) -> ImportBody {
    ImportBody {
        url: import.url,
        phase: import.phase,
        percent: import.percent,
        error: import.error,
        requested_at: import.requested_at.into(),
        finished_at: import.finished_at.map(Into::into),
    }
}
