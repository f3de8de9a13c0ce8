//! Presents triggers.

use holdfast_app::ci::trigger::TriggerWithToken;
use serde::Serialize;
use utoipa::ToSchema;

use super::user::{self, UserBasic};
use crate::InstanceUrls;
use crate::present::Timestamp;

/// A trigger of pipelines.
#[derive(Serialize, ToSchema)]
pub struct PipelineTriggerBody {
    pub id: i64,
    /// Token of the trigger. Users other than its owner see only the first four characters.
    pub token: String,
    pub description: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub last_used: Option<Timestamp>,
    /// Always null: tokens of triggers do not expire.
    pub expires_at: Option<Timestamp>,
    pub owner: Option<UserBasic>,
}

pub fn present_trigger(shown: TriggerWithToken, site: &InstanceUrls) -> PipelineTriggerBody {
    let TriggerWithToken { trigger, token } = shown;
    PipelineTriggerBody {
        id: trigger.id.get(),
        token,
        description: trigger.description,
        created_at: trigger.created_at.into(),
        updated_at: trigger.updated_at.into(),
        last_used: trigger.last_used.map(Into::into),
        expires_at: None,
        owner: trigger.owner.as_ref().map(|person| user::present_basic(person, site)),
    }
}
