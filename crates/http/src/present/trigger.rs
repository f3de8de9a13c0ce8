use holdfast_app::ci::trigger::Trigger;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummary};
use crate::Site;

#[derive(Serialize, ToSchema)]
pub struct TriggerBody {
    pub token: String,
    pub description: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Always null.
    pub deleted_at: Option<Timestamp>,
    pub last_used: Option<Timestamp>,
    pub owner: Option<UserSummary>,
}

pub fn trigger(it: Trigger, site: &Site) -> TriggerBody {
    TriggerBody {
        token: it.token,
        description: it.description,
        created_at: it.created_at.into(),
        updated_at: it.updated_at.into(),
        deleted_at: None,
        last_used: it.last_used.map(Into::into),
        owner: it.owner.as_ref().map(|person| user::summary(person, site)),
    }
}

/// What a trigger started.
#[derive(Serialize, ToSchema)]
pub struct Triggered {
    pub id: i64,
    /// The names of what the builds were given; the values are not repeated.
    pub variables: Vec<String>,
}
