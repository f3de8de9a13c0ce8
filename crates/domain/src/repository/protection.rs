//! Protected branches.

use crate::AccessLevel;

/// The access levels that are required for the branches that match a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name of a branch, or a pattern in which `*` matches any number of characters.
    pub name: String,
    pub push: AccessLevel,
    pub merge: AccessLevel,
}

impl Rule {
    /// Returns a rule that lets only masters push and merge. It protects the first branch of a repository.
    pub fn masters_only(name: &str) -> Self {
        Self { name: name.to_owned(), push: AccessLevel::Master, merge: AccessLevel::Master }
    }

    pub fn covers(&self, branch: &str) -> bool {
        covers(&self.name, branch)
    }
}

/// Returns whether a pattern matches a text, in linear time for every pattern.
fn covers(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The combination of all rules that match one branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    pub is_protected: bool,
    pub developers_can_push: bool,
    pub developers_can_merge: bool,
}

impl Protection {
    pub fn for_branch(rules: &[Rule], branch: &str) -> Self {
        let mut protection = Self::default();
        for rule in rules.iter().filter(|rule| rule.covers(branch)) {
            protection.is_protected = true;
            protection.developers_can_push |= rule.push <= AccessLevel::Developer;
            protection.developers_can_merge |= rule.merge <= AccessLevel::Developer;
        }
        protection
    }

    pub fn min_level_to_push(self) -> AccessLevel {
        if self.is_protected && !self.developers_can_push { AccessLevel::Master } else { AccessLevel::Developer }
    }

    /// Returns the level that is needed to merge into the branch. Who may push may also merge.
    pub fn min_level_to_merge(self) -> AccessLevel {
        if self.developers_can_merge { AccessLevel::Developer } else { self.min_level_to_push() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_any_characters() {
        for (pattern, text, expected) in [
            ("main", "main", true),
            ("main", "main2", false),
            ("*", "", true),
            ("*", "anything/at-all", true),
            ("release-*", "release-1", true),
            ("release-*", "release", false),
            ("*-stable", "1-2-stable", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXcYb", false),
            ("ab*ba", "aba", false),
            ("a**b", "ab", true),
        ] {
            assert_eq!(covers(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn long_patterns_match_in_bounded_time() {
        assert!(!covers(&"*a".repeat(20_000), &"a".repeat(19_999)));
    }
}
