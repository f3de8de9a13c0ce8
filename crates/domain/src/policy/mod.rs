//! Who may do what. The whole policy is the three `minimum` tables; `docs/permissions.md` is printed from them.

mod group;
mod instance;
mod project;

use crate::{AccessLevel, Visibility};

pub use group::GroupAction;
pub use instance::InstanceAction;
pub use project::{Feature, ProjectAction};

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

/// The least somebody must be.
#[derive(Clone, Copy)]
enum Minimum {
    Visible,
    VisibleAndSignedIn,
    /// Visible to everybody, or a member who is more than a guest.
    Code,
    /// The same, for who may have projects.
    CodeAndOrdinary,
    Member(AccessLevel),
}

impl Minimum {
    fn is_met(self, visibility: Visibility, standing: Standing, level: Option<AccessLevel>) -> bool {
        if standing == Standing::Administrator {
            return true;
        }
        match self {
            Self::Visible => is_visible(visibility, standing, level),
            Self::VisibleAndSignedIn => standing >= Standing::External && is_visible(visibility, standing, level),
            Self::Code => is_visible(visibility, standing, None) || level >= Some(AccessLevel::Reporter),
            Self::CodeAndOrdinary => standing >= Standing::Ordinary && Self::Code.is_met(visibility, standing, level),
            Self::Member(minimum) => level.is_some_and(|level| level >= minimum),
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

/// The least visibility of what can be seen without being a member; none for who sees everything.
pub const fn visible_from(standing: Standing) -> Option<Visibility> {
    match standing {
        Standing::Administrator => None,
        Standing::Ordinary => Some(Visibility::Internal),
        Standing::External | Standing::Anonymous => Some(Visibility::Public),
    }
}

/// The policy as a page for people.
pub fn to_markdown() -> String {
    let mut page = String::from(
        "# Permissions\n\nPrinted by `holdfast permissions` from `crates/domain/src/policy/`; a test keeps it current.\n\
         Who may not even see a thing is told that it does not exist (404), never that it is forbidden (403).\n\n\
         ## The instance\n\n| Action | Anonymous | External | Ordinary | Administrator |\n|---|---|---|---|---|\n",
    );
    let mark = |allowed: bool| if allowed { " yes |" } else { " |" };
    for action in InstanceAction::ALL {
        page += &format!("| {} |", action.describe());
        page.extend(Standing::ALL.map(|standing| mark(action.allowed(standing))));
        page.push('\n');
    }
    let groups = GroupAction::ALL.map(|action| (action.describe(), action.minimum()));
    let projects = ProjectAction::ALL.map(|action| (action.describe(), action.minimum()));
    for visibility in Visibility::ALL {
        page += &table(&format!("A group that is {}", visibility.word()), visibility, &groups);
    }
    page += "\nIn a project a member's level is the highest over all ways in: the own membership, that in the group it \
             belongs to, that in a group it is shared with (at most the level of the sharing). Whose namespace a \
             project is in, is its owner.\n";
    for visibility in Visibility::ALL {
        page += &table(&format!("A project that is {}", visibility.word()), visibility, &projects);
    }
    page
}

fn table(title: &str, visibility: Visibility, actions: &[(&str, Minimum)]) -> String {
    let mut table = format!("\n## {title}\n\n| Action | Anonymous | External | Ordinary |");
    for level in AccessLevel::ALL {
        table += &format!(" {} |", level.word());
    }
    table += " Administrator |\n|---|---|---|---|---|---|---|---|---|---|\n";
    let mark = |allowed: bool| if allowed { " yes |" } else { " |" };
    for (describe, minimum) in actions {
        table += &format!("| {describe} |");
        for standing in [Standing::Anonymous, Standing::External, Standing::Ordinary] {
            table += mark(minimum.is_met(visibility, standing, None));
        }
        for level in AccessLevel::ALL {
            table += mark(minimum.is_met(visibility, Standing::External, Some(level)));
        }
        table += mark(minimum.is_met(visibility, Standing::Administrator, None));
        table.push('\n');
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_hidden_from_all_but_members_and_administrators() {
        for standing in [Standing::Anonymous, Standing::External, Standing::Ordinary] {
            for action in GroupAction::ALL {
                assert!(!action.allowed(Visibility::Private, standing, None));
            }
            for action in ProjectAction::ALL {
                assert!(!action.allowed(Visibility::Private, standing, None));
            }
        }
        assert!(GroupAction::Read.allowed(Visibility::Private, Standing::External, Some(AccessLevel::Guest)));
        assert!(!GroupAction::Read.allowed(Visibility::Internal, Standing::External, None));
    }

    #[test]
    fn more_access_never_takes_a_right_away() {
        for visibility in Visibility::ALL {
            for action in GroupAction::ALL {
                let allowed = AccessLevel::ALL.map(|level| action.allowed(visibility, Standing::Ordinary, Some(level)));
                assert!(allowed.is_sorted(), "{action:?} {visibility:?}");
            }
            for action in ProjectAction::ALL {
                let allowed = AccessLevel::ALL.map(|level| action.allowed(visibility, Standing::Ordinary, Some(level)));
                assert!(allowed.is_sorted(), "{action:?} {visibility:?}");
            }
        }
    }
}
