//! Presents the rules of protected tags.

use holdfast_app::repository::refs::protected_branch::StoredRule;
use holdfast_domain::repository::TagRule;
use serde::Serialize;
use utoipa::ToSchema;

use super::protected_branch::{RefAccessLevel, present_level};

/// The rule of protected tags.
#[derive(Serialize, ToSchema)]
pub struct ProtectedTagBody {
    /// Name of the tag, in which `*` stands for any characters.
    pub name: String,
    pub create_access_levels: Vec<RefAccessLevel>,
}

pub fn present_protected_tag(stored: StoredRule<TagRule>) -> ProtectedTagBody {
    let StoredRule { id, rule } = stored;
    ProtectedTagBody { name: rule.name, create_access_levels: vec![present_level(id, rule.create)] }
}
