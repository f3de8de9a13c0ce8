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
    pub push_access_levels: Vec<BranchAccessLevel>,
    pub merge_access_levels: Vec<BranchAccessLevel>,
    pub unprotect_access_levels: Vec<BranchAccessLevel>,
    pub allow_force_push: bool,
    pub code_owner_approval_required: bool,
    pub inherited: bool,
}

/// Who may do something with a protected branch.
#[derive(Serialize, ToSchema)]
pub struct BranchAccessLevel {
    /// The same as that of the rule.
    pub id: i64,
    /// 30 for developers, 40 for maintainers.
    pub access_level: i16,
    pub access_level_description: &'static str,
    pub user_id: Option<i64>,
    pub group_id: Option<i64>,
    pub deploy_key_id: Option<i64>,
}

pub fn present_protected_branch(stored: StoredRule) -> ProtectedBranchBody {
    let StoredRule { id, rule } = stored;
    let level = |level: AccessLevel| BranchAccessLevel {
        id,
        access_level: level.as_i16(),
        access_level_description: match level {
            AccessLevel::Master | AccessLevel::Owner => "Maintainers",
            AccessLevel::Developer | AccessLevel::Reporter | AccessLevel::Guest => "Developers + Maintainers",
        },
        user_id: None,
        group_id: None,
        deploy_key_id: None,
    };
    ProtectedBranchBody {
        id,
        push_access_levels: vec![level(rule.push)],
        merge_access_levels: vec![level(rule.merge)],
        unprotect_access_levels: Vec::new(),
        allow_force_push: false,
        code_owner_approval_required: false,
        inherited: false,
        name: rule.name,
    }
}
