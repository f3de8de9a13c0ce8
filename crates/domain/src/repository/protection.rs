//! Protected branches.

use crate::AccessLevel;

/// Who may do what to the branches that its name covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `*` stands for any run of characters.
    pub name: String,
    pub push: AccessLevel,
    pub merge: AccessLevel,
}

impl Rule {
    /// Of the first branch of a repository.
    pub fn of_masters(name: &str) -> Self {
        Self { name: name.to_owned(), push: AccessLevel::Master, merge: AccessLevel::Master }
    }

    pub fn covers(&self, branch: &str) -> bool {
        covers(&self.name, branch)
    }
}

/// In time proportional to both, whatever the pattern is.
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

/// What all rules together say of one branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    pub protected: bool,
    pub developers_can_push: bool,
    pub developers_can_merge: bool,
}

impl Protection {
    pub fn of(rules: &[Rule], branch: &str) -> Self {
        let mut all = Self::default();
        for rule in rules.iter().filter(|rule| rule.covers(branch)) {
            all.protected = true;
            all.developers_can_push |= rule.push <= AccessLevel::Developer;
            all.developers_can_merge |= rule.merge <= AccessLevel::Developer;
        }
        all
    }

    pub fn least_to_push(self) -> AccessLevel {
        if self.protected && !self.developers_can_push { AccessLevel::Master } else { AccessLevel::Developer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_run() {
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
    fn a_long_pattern_takes_no_longer_than_it_is() {
        assert!(!covers(&"*a".repeat(20_000), &"a".repeat(19_999)));
    }
}
