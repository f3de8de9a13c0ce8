//! The classes of the style sheet for the scopes that syntaxes give to parts of code.

use std::sync::LazyLock;

use syntect::parsing::{Scope, ScopeStack};

/// The beginnings of scopes and their classes. The first that matches counts; an empty class ends the search.
const SCOPES: &[(&str, &str)] = &[
    ("comment", "com"),
    ("punctuation.definition.comment", "com"),
    ("string.unquoted.plain", ""),
    ("string", "str"),
    ("constant.character", "str"),
    ("constant.other.symbol", "str"),
    ("constant.numeric", "num2"),
    ("constant.language", "num2"),
    ("keyword.operator.word", "k"),
    ("keyword.operator.logical.python", "k"),
    ("keyword.operator", ""),
    ("keyword", "k"),
    ("storage", "k"),
    ("variable.language", "k"),
    ("entity.name.function", "fun"),
    ("variable.function", "fun"),
    ("support.function", "fun"),
    ("support.macro", "fun"),
    ("entity.other.attribute-name", "fun"),
    ("entity.name.tag", "typ"),
    ("entity.name", "typ"),
    ("entity.other.inherited-class", "typ"),
    ("support.type", "typ"),
    ("support.class", "typ"),
    ("meta.property-name", "fun"),
    ("markup.heading", "k"),
    ("markup.inserted", "str"),
    ("markup.deleted", "num2"),
    ("markup.raw", "str"),
    // Code within a string.
    ("meta.interpolation", ""),
    ("meta.template.expression", ""),
    ("source", ""),
];

static CLASSES: LazyLock<Vec<(Scope, Option<&'static str>)>> = LazyLock::new(|| {
    let class = |class: &'static str| Some(class).filter(|class| !class.is_empty());
    SCOPES.iter().filter_map(|(scope, name)| Some((Scope::new(scope).ok()?, class(name)))).collect()
});

/// Returns the class of the innermost scope that has one.
pub fn find(scopes: &ScopeStack) -> Option<&'static str> {
    let class = |scope: &Scope| CLASSES.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, class)| *class);
    scopes.as_slice().iter().rev().find_map(class).flatten()
}
