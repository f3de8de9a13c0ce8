//! Protected branches and tags.

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

/// The access level that is required to create the tags that match a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagRule {
    /// The name of a tag, or a pattern in which `*` matches any number of characters.
    pub name: String,
    /// None if nobody may create them.
    pub create: Option<AccessLevel>,
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

/// The combination of all rules that match one tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagProtection {
    pub is_protected: bool,
    /// The lowest level of the rules. None if nobody may create the tag.
    min_level_to_create: Option<AccessLevel>,
}

impl TagProtection {
    pub fn for_tag(rules: &[TagRule], tag: &str) -> Self {
        let mut matching = rules.iter().filter(|rule| covers(&rule.name, tag)).peekable();
        let is_protected = matching.peek().is_some();
        Self { is_protected, min_level_to_create: matching.filter_map(|rule| rule.create).min() }
    }

    /// Returns whether a user of this level may create the tag. Changing it requires the same.
    pub fn can_create(self, level: Option<AccessLevel>) -> bool {
        !self.is_protected || self.min_level_to_create.is_some_and(|min_level| level >= Some(min_level))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_level_of_the_matching_tag_rules_is_required() {
        let rule = |name: &str, create| TagRule { name: name.to_owned(), create };
        let rules = [
            rule("v*", Some(AccessLevel::Master)),
            rule("v*-rc", Some(AccessLevel::Developer)),
            rule("*-frozen", None),
        ];
        for (tag, developers, masters) in [
            ("other", true, true),
            ("v1", false, true),
            ("v1-rc", true, true),
            ("frozen", true, true),
            ("a-frozen", false, false),
            ("v1-frozen", false, true),
        ] {
            let protection = TagProtection::for_tag(&rules, tag);
            let can_create = |level| protection.can_create(Some(level));
            let expected = (developers, masters, masters);
            let actual =
                (can_create(AccessLevel::Developer), can_create(AccessLevel::Master), can_create(AccessLevel::Owner));
            assert_eq!(actual, expected, "{tag}");
            assert_eq!(protection.is_protected, !["other", "frozen"].contains(&tag), "{tag}");
        }
    }

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
