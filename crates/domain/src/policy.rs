//! Who may do what. The whole policy is the two `minimum` tables; `docs/permissions.md` is printed from them.

use crate::{AccessLevel, Visibility};

/// What a caller is to the instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    Anonymous,
    /// Signed in, but sees nothing internal.
    External,
    Ordinary,
    Administrator,
}

impl Standing {
    pub const ALL: [Self; 4] = [Self::Anonymous, Self::External, Self::Ordinary, Self::Administrator];
}

/// Actions on the instance itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceAction {
    ReadUsers,
    ManageUsers,
    ManageOwnAccount,
    ListGroups,
    /// Beside this, the caller's own flag `can_create_group` decides.
    CreateGroup,
}

impl InstanceAction {
    pub const ALL: [Self; 5] =
        [Self::ReadUsers, Self::ManageUsers, Self::ManageOwnAccount, Self::ListGroups, Self::CreateGroup];

    pub const fn describe(self) -> &'static str {
        match self {
            Self::ReadUsers => "read users",
            Self::ManageUsers => "create, edit, delete, block users; their keys and addresses; full form",
            Self::ManageOwnAccount => "read and edit the own account, keys, addresses, tokens",
            Self::ListGroups => "list groups and namespaces",
            Self::CreateGroup => "create a group (if the account's `can_create_group` is set)",
        }
    }

    const fn minimum(self) -> Standing {
        match self {
            Self::ReadUsers | Self::ManageOwnAccount | Self::ListGroups | Self::CreateGroup => Standing::External,
            Self::ManageUsers => Standing::Administrator,
        }
    }

    pub fn allowed(self, standing: Standing) -> bool {
        standing >= self.minimum()
    }
}

/// Actions on one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupAction {
    Read,
    ReadMembers,
    Update,
    Delete,
    ManageMembers,
}

/// The least somebody must be.
enum Minimum {
    Visible,
    VisibleAndSignedIn,
    Member(AccessLevel),
}

impl GroupAction {
    pub const ALL: [Self; 5] = [Self::Read, Self::ReadMembers, Self::Update, Self::Delete, Self::ManageMembers];

    pub const fn describe(self) -> &'static str {
        match self {
            Self::Read => "read the group",
            Self::ReadMembers => "list members",
            Self::Update => "edit the group",
            Self::Delete => "delete the group",
            Self::ManageMembers => "add, change and remove members (everybody may remove himself)",
        }
    }

    const fn minimum(self) -> Minimum {
        match self {
            Self::Read => Minimum::Visible,
            Self::ReadMembers => Minimum::VisibleAndSignedIn,
            Self::Update | Self::Delete | Self::ManageMembers => Minimum::Member(AccessLevel::Owner),
        }
    }

    pub fn allowed(self, visibility: Visibility, standing: Standing, level: Option<AccessLevel>) -> bool {
        if standing == Standing::Administrator {
            return true;
        }
        match self.minimum() {
            Minimum::Visible => is_visible(visibility, standing, level),
            Minimum::VisibleAndSignedIn => standing >= Standing::External && is_visible(visibility, standing, level),
            Minimum::Member(minimum) => level.is_some_and(|level| level >= minimum),
        }
    }
}

/// Members see what they are members of; beyond that the visibility decides.
pub fn is_visible(visibility: Visibility, standing: Standing, level: Option<AccessLevel>) -> bool {
    level.is_some()
        || match visibility {
            Visibility::Private => standing == Standing::Administrator,
            Visibility::Internal => standing >= Standing::Ordinary,
            Visibility::Public => true,
        }
}

/// The policy as a page for people.
pub fn to_markdown() -> String {
    let mut page = String::from(
        "# Permissions\n\nPrinted by `holdfast permissions` from `crates/domain/src/policy.rs`; a test keeps it current.\n\
         Who may not even see a thing is told that it does not exist (404), never that it is forbidden (403).\n\n\
         ## The instance\n\n| Action | Anonymous | External | Ordinary | Administrator |\n|---|---|---|---|---|\n",
    );
    let mark = |allowed: bool| if allowed { " yes |" } else { " |" };
    for action in InstanceAction::ALL {
        page += &format!("| {} |", action.describe());
        page.extend(Standing::ALL.map(|standing| mark(action.allowed(standing))));
        page.push('\n');
    }
    for visibility in Visibility::ALL {
        page += &format!("\n## A group that is {}\n\n| Action | Anonymous | External | Ordinary |", visibility.word());
        for level in AccessLevel::ALL {
            page += &format!(" {} |", level.word());
        }
        page += " Administrator |\n|---|---|---|---|---|---|---|---|---|---|\n";
        for action in GroupAction::ALL {
            page += &format!("| {} |", action.describe());
            for standing in [Standing::Anonymous, Standing::External, Standing::Ordinary] {
                page += mark(action.allowed(visibility, standing, None));
            }
            for level in AccessLevel::ALL {
                page += mark(action.allowed(visibility, Standing::External, Some(level)));
            }
            page += mark(action.allowed(visibility, Standing::Administrator, None));
            page.push('\n');
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_groups_are_hidden_from_all_but_members_and_administrators() {
        for standing in [Standing::Anonymous, Standing::External, Standing::Ordinary] {
            for action in GroupAction::ALL {
                assert!(!action.allowed(Visibility::Private, standing, None));
            }
        }
        assert!(GroupAction::Read.allowed(Visibility::Private, Standing::External, Some(AccessLevel::Guest)));
        assert!(!GroupAction::Read.allowed(Visibility::Internal, Standing::External, None));
    }

    #[test]
    fn more_access_never_takes_a_right_away() {
        for action in GroupAction::ALL {
            for visibility in Visibility::ALL {
                let allowed = AccessLevel::ALL.map(|level| action.allowed(visibility, Standing::Ordinary, Some(level)));
                assert!(allowed.is_sorted(), "{action:?} {visibility:?}");
            }
        }
    }
}
