//! Messages about quick actions that were refused.

use holdfast_app::planning::issue_action::RefusedActions;
use holdfast_domain::planning::QuickActionKind;

use crate::flash::FlashCode;

/// Returns the message about refused quick actions of a text that was saved, or None if there are none.
pub fn refusal_flash(refused: &[QuickActionKind]) -> Option<FlashCode> {
    match refused {
        [] => None,
        [QuickActionKind::Label] => Some(FlashCode::LabelActionRefused),
        [QuickActionKind::Assign] => Some(FlashCode::AssignActionRefused),
        [QuickActionKind::Milestone] => Some(FlashCode::MilestoneActionRefused),
        [QuickActionKind::Due] => Some(FlashCode::DueActionRefused),
        [QuickActionKind::State] => Some(FlashCode::StateActionRefused),
        [QuickActionKind::Confidential] => Some(FlashCode::ConfidentialActionRefused),
        [_, _, ..] => Some(FlashCode::ActionsRefused),
    }
}

/// Returns the message about refused quick actions of a comment that has no text, or None if there are none.
pub fn textless_refusal_flash(refused: &RefusedActions) -> Option<FlashCode> {
    match refused.kinds.as_slice() {
        [] => None,
        _ if refused.has_changes => Some(FlashCode::SomeActionsRefused),
        _ if refused.is_forbidden => Some(FlashCode::IssueChangeForbidden),
        [QuickActionKind::Assign] => Some(FlashCode::IssueAssigneeRejected),
        [QuickActionKind::Milestone] => Some(FlashCode::IssueMilestoneRejected),
        [QuickActionKind::Due] => Some(FlashCode::IssueDueRejected),
        _ => Some(FlashCode::IssueChangeRejected),
    }
}
