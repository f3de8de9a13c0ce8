//! For which refs a job runs.

use regex::Regex;

use super::Target;
use super::pattern::{Patterns, between_slashes};
use super::value::Value;

#[derive(Clone, Debug, Default)]
pub(super) struct Refs(Vec<Ref>);

#[derive(Clone, Debug)]
struct Ref {
    name: Name,
    /// The only project in which it counts.
    project: Option<String>,
}

#[derive(Clone, Debug)]
enum Name {
    /// A ref's own, or `branches`, `tags`, `triggers`.
    Word(String),
    Like(Regex),
}

impl Refs {
    /// None where it is no list of refs.
    pub fn read(value: &Value, patterns: &mut Patterns) -> Option<Self> {
        let Value::List(items) = value else { return None };
        items.iter().map(|item| Ref::parse(item.text_or_symbol()?, patterns)).collect::<Option<_>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn matches(&self, target: &Target<'_>) -> bool {
        self.0.iter().any(|entry| entry.matches(target))
    }
}

impl Ref {
    fn parse(text: &str, patterns: &mut Patterns) -> Option<Self> {
        // The first `@` begins the project, even within slashes: it has always been so.
        let (name, project) = match text.split_once('@') {
            Some((name, project)) => (name, Some(project.to_owned())),
            None => (text, None),
        };
        let name = match between_slashes(name) {
            Some(pattern) => Name::Like(patterns.compile(pattern)?),
            None => Name::Word(name.to_owned()),
        };
        Some(Self { name, project })
    }

    fn matches(&self, target: &Target<'_>) -> bool {
        if self.project.as_deref().is_some_and(|project| project != target.project_path) {
            return false;
        }
        match &self.name {
            Name::Like(pattern) => pattern.is_match(target.ref_name),
            Name::Word(word) => {
                let is_meant = match word.as_str() {
                    "tags" => target.tag,
                    "branches" => !target.tag,
                    "triggers" => target.triggered,
                    _ => false,
                };
                is_meant || word == target.ref_name
            }
        }
    }
}
