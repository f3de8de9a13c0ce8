//! The table of keys. The page `/help/keyboard` and the dialog of the key `?` show it, and the pages carry it to the script
//! `keys.js`: elements that a key uses have the attribute `data-keys`, and the attribute `data-actions` of the body names
//! the keys of what the script does itself.

use std::sync::LazyLock;

/// The pages on which a key works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Everywhere,
    Project,
    List,
}

impl Place {
    pub const ALL: [Self; 3] = [Self::Everywhere, Self::Project, Self::List];

    pub const fn heading(self) -> &'static str {
        match self {
            Self::Everywhere => "On every page",
            Self::Project => "In a project, and on the pages about you",
            Self::List => "In lists",
        }
    }
}

/// The effect of pressing a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Follows the link, presses the button or focuses the field that has the key in its attribute `data-keys`.
    Element,
    /// Like [`Element`](Self::Element), for the tab with this label.
    Tab(&'static str),
    /// Calls this action of `keys.js`.
    Action(&'static str),
}

/// A key, or two keys one after the other, separated by a space.
#[derive(Clone, Copy, Debug)]
pub struct Shortcut {
    pub keys: &'static str,
    pub text: &'static str,
    pub place: Place,
    effect: Effect,
}

impl Shortcut {
    const fn new(place: Place, keys: &'static str, text: &'static str, effect: Effect) -> Self {
        Self { keys, text, place, effect }
    }

    /// Returns the keys that are pressed one after the other.
    pub fn sequence(&self) -> impl Iterator<Item = &'static str> {
        self.keys.split(' ')
    }
}

/// The keys of elements that templates name.
pub const SEARCH: &str = "/";
pub const HELP: &str = "?";
pub const HOME: &str = "g h";
pub const PROJECTS: &str = "g p";
pub const NEW: &str = "c";

const SHORTCUTS: [Shortcut; 16] = [
    Shortcut::new(Place::Everywhere, HELP, "Show these keys", Effect::Action("help")),
    Shortcut::new(Place::Everywhere, SEARCH, "Search", Effect::Element),
    Shortcut::new(
        Place::Everywhere,
        "Ctrl+K",
        "Go to a project, to a user (@) or to an action (>)",
        Effect::Action("jump"),
    ),
    Shortcut::new(Place::Everywhere, HOME, "Go to the start page", Effect::Element),
    Shortcut::new(Place::Everywhere, PROJECTS, "Go to the projects", Effect::Element),
    Shortcut::new(Place::Everywhere, "Escape", "Leave a field, and close a menu or a dialog", Effect::Action("leave")),
    Shortcut::new(Place::Project, "g c", "Code", Effect::Tab("Code")),
    Shortcut::new(Place::Project, "g i", "Issues", Effect::Tab("Issues")),
    Shortcut::new(Place::Project, "g m", "Merge requests", Effect::Tab("Merge requests")),
    Shortcut::new(Place::Project, "g b", "Board", Effect::Tab("Board")),
    Shortcut::new(Place::Project, "g r", "Pipelines", Effect::Tab("Pipelines")),
    Shortcut::new(Place::List, "j", "Next row", Effect::Action("next")),
    Shortcut::new(Place::List, "k", "Previous row", Effect::Action("previous")),
    Shortcut::new(Place::List, "Enter", "Open the row", Effect::Action("open")),
    Shortcut::new(Place::List, "x", "Select the row", Effect::Action("select")),
    Shortcut::new(Place::List, NEW, "New project, issue or merge request", Effect::Element),
];

/// Returns the keys of a place, in the order in which they are shown.
pub fn shortcuts(place: Place) -> impl Iterator<Item = &'static Shortcut> {
    SHORTCUTS.iter().filter(move |shortcut| shortcut.place == place)
}

/// Returns the keys that lead to the tab with this label.
pub fn for_tab(label: &str) -> Option<&'static str> {
    let is_tab = |shortcut: &&Shortcut| matches!(shortcut.effect, Effect::Tab(tab) if tab == label);
    SHORTCUTS.iter().find(is_tab).map(|shortcut| shortcut.keys)
}

/// Returns the value of `data-actions`: pairs of a key and an action, such as `j=next`, separated by spaces.
pub fn actions() -> &'static str {
    static ACTIONS: LazyLock<String> = LazyLock::new(|| {
        let pairs = SHORTCUTS.iter().filter_map(|shortcut| match shortcut.effect {
            Effect::Action(action) => Some(format!("{}={action}", shortcut.keys)),
            Effect::Element | Effect::Tab(_) => None,
        });
        pairs.collect::<Vec<_>>().join(" ")
    });
    &ACTIONS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SCRIPT: &str = include_str!("../assets/keys.js");

    #[test]
    fn the_script_has_every_action_of_the_table() {
        for shortcut in &SHORTCUTS {
            if let Effect::Action(action) = shortcut.effect {
                assert!(SCRIPT.contains(&format!("\n  {action}: ")), "{action}");
            }
        }
    }

    #[test]
    fn every_key_does_one_thing() {
        let keys: BTreeSet<&str> = SHORTCUTS.iter().map(|shortcut| shortcut.keys).collect();
        assert_eq!(keys.len(), SHORTCUTS.len());
        // A key that begins a sequence has no meaning of its own.
        let has_longer = |it: &Shortcut| keys.iter().any(|other| other.starts_with(&format!("{} ", it.keys)));
        assert!(!SHORTCUTS.iter().any(has_longer));
        assert_eq!(for_tab("Issues"), Some("g i"));
        assert!(actions().contains("j=next"));
    }
}
