//! Presents triggers and the pipelines that they start.

use holdfast_app::ci::trigger::TriggerWithToken;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

#[derive(Serialize, ToSchema)]
pub struct TriggerBody {
    /// Id of the trigger. It can be used in paths instead of the token.
    pub id: i64,
    /// Token of the trigger. Users other than its owner see only the first four characters.
    pub token: String,
    pub description: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Always null.
    pub deleted_at: Option<Timestamp>,
    pub last_used: Option<Timestamp>,
    pub owner: Option<UserSummaryBody>,
}

pub fn present_trigger(shown: TriggerWithToken, site: &InstanceUrls) -> TriggerBody {
    let TriggerWithToken { trigger, token } = shown;
    TriggerBody {
        id: trigger.id.get(),
        token,
        description: trigger.description,
        created_at: trigger.created_at.into(),
        updated_at: trigger.updated_at.into(),
        deleted_at: None,
        last_used: trigger.last_used.map(Into::into),
        owner: trigger.owner.as_ref().map(|person| user::summary(person, site)),
    }
}

/// A pipeline that was started by a trigger.
#[derive(Serialize, ToSchema)]
pub struct TriggeredPipelineBody {
    pub id: i64,
    /// Names of the variables that were passed to the builds, without values.
    pub variables: Vec<String>,
}
