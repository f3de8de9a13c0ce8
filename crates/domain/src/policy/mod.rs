//! Permissions: which role and access level each action requires.
//!
//! The whole policy is in three tables: [`InstanceAction`]'s `min_role`, and the `requirement` of [`GroupAction`] and
//! [`ProjectAction`]. `docs/permissions.md` is generated from them.

mod group;
mod instance;
mod project;

use crate::{AccessLevel, Visibility};

pub use group::GroupAction;
pub use instance::InstanceAction;
pub use project::{Feature, ProjectAction};

/// The role of an actor for the instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstanceRole {
    Anonymous,
    /// Signed in, but without access to internal groups and projects.
    External,
    Regular,
    Administrator,
}

impl InstanceRole {
    pub const ALL: [Self; 4] = [Self::Anonymous, Self::External, Self::Regular, Self::Administrator];
}

/// The minimum that an action requires. Administrators satisfy every requirement.
#[derive(Clone, Copy)]
enum Requirement {
    Visible,
    VisibleAndSignedIn,
    /// Visible without a membership, or a membership of at least reporter.
    Code,
    CodeAndSignedIn,
    /// Like `Code`, and a role of at least regular, which may own projects.
    CodeAndRegular,
    Member(AccessLevel),
}

impl Requirement {
    fn is_satisfied_by(self, visibility: Visibility, role: InstanceRole, level: Option<AccessLevel>) -> bool {
        if role == InstanceRole::Administrator {
            return true;
        }
        match self {
            Self::Visible => is_visible(visibility, role, level),
            Self::VisibleAndSignedIn => role >= InstanceRole::External && is_visible(visibility, role, level),
            Self::Code => is_visible(visibility, role, None) || level >= Some(AccessLevel::Reporter),
            Self::CodeAndSignedIn => {
                role >= InstanceRole::External && Self::Code.is_satisfied_by(visibility, role, level)
            }
            Self::CodeAndRegular => {
                role >= InstanceRole::Regular && Self::Code.is_satisfied_by(visibility, role, level)
            }
            Self::Member(minimum) => level.is_some_and(|level| level >= minimum),
        }
    }
}

/// Returns whether a group or project is visible. Members always see it; for others its visibility decides.
pub fn is_visible(visibility: Visibility, role: InstanceRole, level: Option<AccessLevel>) -> bool {
    level.is_some()
        || match visibility {
            Visibility::Private => role == InstanceRole::Administrator,
            Visibility::Internal => role >= InstanceRole::Regular,
            Visibility::Public => true,
        }
}

/// Returns the minimum visibility that a role sees without a membership, or None if it sees everything.
pub const fn min_visibility_without_membership(role: InstanceRole) -> Option<Visibility> {
    match role {
        InstanceRole::Administrator => None,
        InstanceRole::Regular => Some(Visibility::Internal),
        InstanceRole::External | InstanceRole::Anonymous => Some(Visibility::Public),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_resources_are_visible_only_to_members_and_administrators() {
        for role in [InstanceRole::Anonymous, InstanceRole::External, InstanceRole::Regular] {
            for action in GroupAction::ALL {
                assert!(!action.is_allowed(Visibility::Private, role, None));
            }
            for action in ProjectAction::ALL {
                assert!(!action.is_allowed(Visibility::Private, role, None));
            }
        }
        assert!(GroupAction::Read.is_allowed(Visibility::Private, InstanceRole::External, Some(AccessLevel::Guest)));
        assert!(!GroupAction::Read.is_allowed(Visibility::Internal, InstanceRole::External, None));
    }

    #[test]
    fn only_administrators_operate_the_instance() {
        let allowed = InstanceRole::ALL.map(|role| InstanceAction::OperateInstance.is_allowed(role));
        assert_eq!(allowed, [false, false, false, true]);
        assert!(InstanceAction::ALL.contains(&InstanceAction::OperateInstance));
    }

    #[test]
    fn anonymous_visitors_do_nothing_on_the_instance_but_explore_it() {
        let allowed = InstanceAction::ALL.into_iter().filter(|action| action.is_allowed(InstanceRole::Anonymous));
        assert_eq!(allowed.collect::<Vec<_>>(), [InstanceAction::ExplorePublic]);
    }

    #[test]
    fn higher_access_levels_keep_all_permissions() {
        for visibility in Visibility::ALL {
            for action in GroupAction::ALL {
                let allowed =
                    AccessLevel::ALL.map(|level| action.is_allowed(visibility, InstanceRole::Regular, Some(level)));
                assert!(allowed.is_sorted(), "{action:?} {visibility:?}");
            }
            for action in ProjectAction::ALL {
                let allowed =
                    AccessLevel::ALL.map(|level| action.is_allowed(visibility, InstanceRole::Regular, Some(level)));
                assert!(allowed.is_sorted(), "{action:?} {visibility:?}");
            }
        }
    }
}
