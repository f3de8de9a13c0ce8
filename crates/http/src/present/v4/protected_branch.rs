//! Presents the rules of protected branches.

use holdfast_app::repository::refs::protected_branch::StoredRule;
use holdfast_domain::AccessLevel;
use serde::Serialize;
use utoipa::ToSchema;

/// The rule of a protected branch.
#[derive(Serialize, ToSchema)]
pub struct ProtectedBranchBody {
    pub id: i64,
    /// Name of the branch.
    pub name: String,
    pub push_access_levels: Vec<RefAccessLevel>,
    pub merge_access_levels: Vec<RefAccessLevel>,
    pub unprotect_access_levels: Vec<RefAccessLevel>,
    pub allow_force_push: bool,
    pub code_owner_approval_required: bool,
    pub inherited: bool,
}

/// Who may do something with a protected branch or tag.
#[derive(Serialize, ToSchema)]
pub struct RefAccessLevel {
    /// The same as that of the rule.
    pub id: i64,
    /// 30 for developers, 40 for maintainers, 0 for nobody.
    pub access_level: i16,
    pub access_level_description: &'static str,
    pub user_id: Option<i64>,
    pub group_id: Option<i64>,
    pub deploy_key_id: Option<i64>,
}

pub fn present_protected_branch(stored: StoredRule) -> ProtectedBranchBody {
    let StoredRule { id, rule } = stored;
    ProtectedBranchBody {
        id,
        push_access_levels: vec![present_level(id, Some(rule.push))],
        merge_access_levels: vec![present_level(id, Some(rule.merge))],
        unprotect_access_levels: Vec::new(),
        allow_force_push: false,
        code_owner_approval_required: false,
        inherited: false,
        name: rule.name,
    }
}

/// Presents the lowest level that may do something by a rule. Without a level nobody may.
pub fn present_level(rule_id: i64, level: Option<AccessLevel>) -> RefAccessLevel {
    RefAccessLevel {
        id: rule_id,
        access_level: level.map_or(0, AccessLevel::as_i16),
        access_level_description: match level {
            Some(AccessLevel::Master | AccessLevel::Owner) => "Maintainers",
            Some(AccessLevel::Developer | AccessLevel::Reporter | AccessLevel::Guest) => "Developers + Maintainers",
            None => "No one",
        },
        user_id: None,
        group_id: None,
        deploy_key_id: None,
    }
}
