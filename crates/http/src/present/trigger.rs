use holdfast_app::ci::trigger::ShownTrigger;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummary};
use crate::Site;

#[derive(Serialize, ToSchema)]
pub struct TriggerBody {
    /// For those who may delete a trigger and do not know its token.
    pub id: i64,
    /// For everybody but the trigger's owner the first four characters.
    pub token: String,
    pub description: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Always null.
    pub deleted_at: Option<Timestamp>,
    pub last_used: Option<Timestamp>,
    pub owner: Option<UserSummary>,
}

pub fn trigger(shown: ShownTrigger, site: &Site) -> TriggerBody {
    let ShownTrigger { trigger: it, token } = shown;
    TriggerBody {
        id: it.id.get(),
        token,
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
