//! The filters `only` and `except`, which select the refs that a job runs for.

use regex::Regex;

use super::PipelineTarget;
use super::pattern::{Patterns, strip_slashes};
use super::value::Value;

#[derive(Clone, Debug, Default)]
pub(super) struct RefFilters(Vec<RefFilter>);

#[derive(Clone, Debug)]
struct RefFilter {
    matcher: RefMatcher,
    /// The only project in which the filter applies, or None for all projects.
    project: Option<String>,
}

#[derive(Clone, Debug)]
enum RefMatcher {
    /// The name of a ref, or one of the keywords `branches`, `tags` and `triggers`.
    Name(String),
    Pattern(Regex),
}

impl RefFilters {
    /// Reads a list of filters. Returns None if the value is not one.
    pub fn read(value: &Value, patterns: &mut Patterns) -> Option<Self> {
        let Value::List(items) = value else { return None };
        items.iter().map(|item| RefFilter::parse(item.text_or_symbol()?, patterns)).collect::<Option<_>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn matches(&self, target: &PipelineTarget<'_>) -> bool {
        self.0.iter().any(|entry| entry.matches(target))
    }
}

impl RefFilter {
    fn parse(text: &str, patterns: &mut Patterns) -> Option<Self> {
        // The first `@` begins the project, even within a regular expression, as existing clients expect.
        let (name, project) = match text.split_once('@') {
            Some((name, project)) => (name, Some(project.to_owned())),
            None => (text, None),
        };
        let matcher = match strip_slashes(name) {
            Some(pattern) => RefMatcher::Pattern(patterns.compile(pattern)?),
            None => RefMatcher::Name(name.to_owned()),
        };
        Some(Self { matcher, project })
    }

    fn matches(&self, target: &PipelineTarget<'_>) -> bool {
        if self.project.as_deref().is_some_and(|project| project != target.project_path) {
            return false;
        }
        match &self.matcher {
            RefMatcher::Pattern(pattern) => pattern.is_match(target.ref_name),
            RefMatcher::Name(word) => {
                let is_keyword_match = match word.as_str() {
                    "tags" => target.is_tag,
                    "branches" => !target.is_tag,
                    "triggers" => target.is_triggered,
                    _ => false,
                };
                is_keyword_match || word == target.ref_name
            }
        }
    }
}
