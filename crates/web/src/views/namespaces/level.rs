//! Access levels with their meaning.

use holdfast_domain::AccessLevel;

/// An access level as a list shows it.
#[derive(Clone, Copy, Debug)]
pub struct LevelView {
    pub name: &'static str,
    pub meaning: &'static str,
}

impl From<AccessLevel> for LevelView {
    fn from(level: AccessLevel) -> Self {
        let meaning = match level {
            AccessLevel::Guest => "reads and writes issues",
            AccessLevel::Reporter => "also reads code, and manages issues and labels",
            AccessLevel::Developer => "also pushes, and works on merge requests and pipelines",
            AccessLevel::Master => "also manages members and settings",
            AccessLevel::Owner => "may do everything, such as renaming and deleting",
        };
        Self { name: level.as_str(), meaning }
    }
}

/// A choice of a form.
#[derive(Clone, Copy, Debug)]
pub struct LevelOption {
    pub value: i16,
    pub name: &'static str,
    pub meaning: &'static str,
    pub is_selected: bool,
}

/// Returns the levels up to the highest one. `selected` is the one that was sent. Developer is selected if it is none.
pub fn level_options(highest: AccessLevel, selected: i64) -> Vec<LevelOption> {
    let selected = AccessLevel::try_from(selected).unwrap_or(AccessLevel::Developer);
    let option = |level: AccessLevel| {
        let LevelView { name, meaning } = level.into();
        LevelOption { value: level.as_i16(), name, meaning, is_selected: level == selected }
    };
    AccessLevel::ALL.into_iter().filter(|level| *level <= highest).map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_offers_levels_up_to_the_highest_one() {
        let options = level_options(AccessLevel::Master, 20);
        assert_eq!(options.iter().map(|option| option.value).collect::<Vec<_>>(), [10, 20, 30, 40]);
        assert_eq!(options.iter().filter(|option| option.is_selected).map(|option| option.value).sum::<i16>(), 20);
        let selected = level_options(AccessLevel::Owner, 0).into_iter().find(|option| option.is_selected);
        assert_eq!(selected.map(|option| option.name), Some("Developer"));
    }
}
