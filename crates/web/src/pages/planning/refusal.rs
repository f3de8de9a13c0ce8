//! Messages about quick actions that were refused.

use holdfast_domain::planning::QuickActionKind;

use crate::flash::FlashCode;

/// Returns the message about refused quick actions, or None if there are none.
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
