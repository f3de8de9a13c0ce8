//! The attributes of the elements of a text.

use std::fmt::Write as _;

use html5ever::tokenizer::Tag;

use super::elements;
use super::links::LinkContext;

/// The attributes whose values are kept as they are. The sanitizer decides which of them an element may have.
const KEPT: &[&str] = &[
    "align", "colspan", "dir", "height", "lang", "open", "reversed", "rowspan", "scope", "start", "title", "value",
    "width",
];

/// Returns the value of an attribute.
pub fn find<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

/// Returns whether an element has a class in the input.
pub fn has_class(tag: &Tag, name: &str) -> bool {
    find(tag, "class").is_some_and(|classes| classes.split_whitespace().any(|class| class == name))
}

/// Maximum length of the value of an attribute, in bytes. Longer ones are left out.
const MAX_VALUE_BYTES: usize = 4_096;

/// Writes one attribute.
pub fn write(output: &mut String, name: &str, value: &str) {
    if value.len() > MAX_VALUE_BYTES {
        return;
    }
    let value = value.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = write!(output, " {name}=\"{value}\"");
}

/// Writes the attributes that an element keeps: its id, its known classes, and those whose values do not change. `name`
/// is the name of the element in the output.
pub fn write_kept(output: &mut String, tag: &Tag, name: &str, context: &LinkContext) {
    let classes = find(tag, "class").unwrap_or_default().split_whitespace().filter_map(elements::class);
    // The class of a heading is its level.
    let classes: Vec<&str> = if name.starts_with('h') { Vec::new() } else { classes.collect() };
    if !classes.is_empty() {
        write(output, "class", &classes.join(" "));
    }
    let id = find(tag, "id").or_else(|| find(tag, "name").filter(|_| name == "a"));
    if let Some(id) = id.filter(|id| context.has_ids() && is_valid_id(id)) {
        write(output, "id", id);
    }
    for kept in KEPT {
        if let Some(value) = find(tag, kept) {
            write(output, kept, value);
        }
    }
}

/// Returns whether a text can be the id of an element.
fn is_valid_id(id: &str) -> bool {
    !id.is_empty() && !id.contains(char::is_whitespace)
}
