//! The list of what the HTML of a text may contain.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};

use super::elements::CLASSES;
use super::links::ID_PREFIX;

/// The elements that texts may contain.
pub const TAGS: &[&str] = &[
    "a",
    "abbr",
    "b",
    "blockquote",
    "br",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "input",
    "ins",
    "kbd",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "samp",
    "section",
    "small",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
    "var",
];

/// The attributes that every element may have. `class` is limited to the known classes.
pub const ATTRIBUTES: &[&str] = &["dir", "id", "lang", "title"];

/// The attributes of single elements.
pub const TAG_ATTRIBUTES: &[(&str, &[&str])] = &[
    ("a", &["href", "aria-label"]),
    ("details", &["open"]),
    ("img", &["src", "alt", "width", "height", "loading"]),
    ("li", &["value"]),
    ("ol", &["start", "reversed"]),
    ("td", &["colspan", "rowspan"]),
    ("th", &["colspan", "rowspan", "scope"]),
];

/// The attributes whose values are limited to a list.
pub const TAG_ATTRIBUTE_VALUES: &[(&str, &str, &[&str])] = &[
    ("div", "align", &["left", "center", "right"]),
    ("h2", "align", &["left", "center", "right"]),
    ("h3", "align", &["left", "center", "right"]),
    ("h4", "align", &["left", "center", "right"]),
    ("h5", "align", &["left", "center", "right"]),
    ("h6", "align", &["left", "center", "right"]),
    ("img", "align", &["left", "right"]),
    ("input", "aria-label", &["Done", "Not done"]),
    ("input", "checked", &[""]),
    ("input", "disabled", &[""]),
    ("input", "type", &["checkbox"]),
    ("p", "align", &["left", "center", "right"]),
    ("pre", "tabindex", &["0"]),
    ("td", "align", &["left", "center", "right"]),
    ("th", "align", &["left", "center", "right"]),
];

static SANITIZER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let set = |names: &[&'static str]| names.iter().copied().collect::<HashSet<_>>();
    let mut values: HashMap<&str, HashMap<&str, HashSet<&str>>> = HashMap::new();
    for (tag, attribute, allowed) in TAG_ATTRIBUTE_VALUES {
        values.entry(tag).or_default().insert(attribute, set(allowed));
    }
    let mut builder = Builder::empty();
    builder
        .tags(set(TAGS))
        .clean_content_tags(set(&["script", "style"]))
        .generic_attributes(set(ATTRIBUTES))
        .tag_attributes(TAG_ATTRIBUTES.iter().map(|(tag, names)| (*tag, set(names))).collect())
        .tag_attribute_values(values)
        .set_tag_attribute_value("input", "disabled", "")
        .set_tag_attribute_value("input", "type", "checkbox")
        .allowed_classes(TAGS.iter().map(|tag| (*tag, set(CLASSES))).collect())
        .url_schemes(set(&["http", "https", "mailto"]))
        .url_relative(UrlRelative::PassThrough)
        .link_rel(Some("nofollow ugc"))
        .id_prefix(Some(ID_PREFIX))
        .strip_comments(true);
    builder
});

/// Removes everything that is not on the list.
pub fn clean(html: &str) -> String {
    SANITIZER.clean(html).to_string()
}
