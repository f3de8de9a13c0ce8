//! Presents the import of a repository.

use holdfast_app::repository::transfer::import::Import;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;

#[derive(Serialize, ToSchema)]
pub struct ImportBody {
    /// URL of the source, without credentials.
    pub url: String,
    /// `waiting`, `connecting`, `receiving` or `storing`, and finally `finished`, `failed` or `canceled`.
    pub phase: String,
    /// Progress of receiving the repository, in percent.
    pub percent: i16,
    /// Reason of the failure, or a note about skipped refs.
    pub error: Option<String>,
    pub requested_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

pub fn present_import(import: Import) -> ImportBody {
    ImportBody {
        url: import.url,
        phase: import.phase,
        percent: import.percent,
        error: import.error,
        requested_at: import.requested_at.into(),
        finished_at: import.finished_at.map(Into::into),
    }
}
