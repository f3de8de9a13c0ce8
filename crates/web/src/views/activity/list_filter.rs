//! The filters of the lists of what concerns the viewer: links beside each other, one of them current.

use crate::views::links;

/// A choice of a filter.
#[derive(Clone, Debug)]
pub struct FilterLink {
    pub label: &'static str,
    pub url: String,
    pub is_current: bool,
}

/// The filters of a list as they are in the address. Empty texts are the defaults.
#[derive(Clone, Copy, Debug)]
pub struct OwnListFilters {
    path: &'static str,
    /// `created`, or an empty text for what is assigned to the viewer.
    pub scope: &'static str,
    /// One of the states of the list, or an empty text for what is open.
    pub state: &'static str,
}

impl OwnListFilters {
    /// Creates the filters from the parameters of the address. Unknown words are left out.
    pub fn new(
        path: &'static str,
        states: &[(&'static str, &'static str)],
        scope: Option<&str>,
        state: Option<&str>,
    ) -> Self {
        let known = |mut words: Vec<&'static str>, word: Option<&str>| {
            words.retain(|known| Some(*known) == word);
            words.first().copied().unwrap_or_default()
        };
        let states = states.iter().map(|(_, state)| *state).collect();
        Self { path, scope: known(vec!["created"], scope), state: known(states, state) }
    }

    pub const fn parameters(self) -> [(&'static str, &'static str); 2] {
        [("scope", self.scope), ("state", self.state)]
    }

    fn url(self) -> String {
        format!("{}{}", self.path, links::query(&self.parameters()))
    }

    /// Returns the choices between what is assigned to the viewer and what the viewer has created.
    pub fn scopes(self) -> Vec<FilterLink> {
        let link =
            |(label, scope)| FilterLink { label, url: Self { scope, ..self }.url(), is_current: self.scope == scope };
        [("Assigned to you", ""), ("Created by you", "created")].into_iter().map(link).collect()
    }

    /// Returns the choices of the state, from labels and words of the address.
    pub fn states(self, states: &[(&'static str, &'static str)]) -> Vec<FilterLink> {
        let link = |(label, state): &(&'static str, &'static str)| FilterLink {
            label,
            url: Self { state, ..self }.url(),
            is_current: self.state == *state,
        };
        states.iter().map(link).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_words_of_the_address_are_left_out() {
        let states = [("Open", ""), ("Closed", "closed")];
        let filters = OwnListFilters::new("/x", &states, Some("created"), Some("merged"));
        assert_eq!(filters.parameters(), [("scope", "created"), ("state", "")]);
        let urls: Vec<_> = filters.states(&states).into_iter().map(|link| (link.url, link.is_current)).collect();
        assert_eq!(urls, [("/x?scope=created".into(), true), ("/x?scope=created&state=closed".into(), false)]);
    }
}
