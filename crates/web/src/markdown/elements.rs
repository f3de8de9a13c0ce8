//! The elements that texts may contain, and how they nest.

/// What an element is allowed to be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text with a meaning, such as `strong`.
    Phrasing,
    Link,
    /// An element without content.
    Void,
    Image,
    /// The box of a task.
    Checkbox,
    /// An element that ends a paragraph.
    Block,
    Paragraph,
    Heading(u8),
    /// `ul` and `ol`.
    List,
    /// `li`, only in a list.
    Item,
    /// `dl`.
    Definitions,
    /// `dt` and `dd`, only in `dl`.
    Definition,
    Table,
    /// `thead`, `tbody` and `tfoot`, only in a table.
    TableSection,
    /// `tr`, only in a table.
    Row,
    /// `td` and `th`, only in a row.
    Cell,
}

impl Kind {
    /// Returns whether the element ends an open paragraph.
    pub fn ends_paragraph(self) -> bool {
        !matches!(self, Self::Phrasing | Self::Link | Self::Void | Self::Image | Self::Checkbox)
    }

    /// Returns whether the element has no content and no end tag.
    pub fn is_empty(self) -> bool {
        matches!(self, Self::Void | Self::Image | Self::Checkbox)
    }

    /// Returns whether the element is a part of a table that may contain only other parts.
    pub fn is_table_frame(self) -> bool {
        matches!(self, Self::Table | Self::TableSection | Self::Row)
    }
}

/// An element that texts may contain.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// The name in the output.
    pub name: &'static str,
    pub kind: Kind,
}

/// Returns the element with a name, or `None` for names that texts may not contain.
pub fn find(name: &str) -> Option<Element> {
    let (_, name, kind) = *ELEMENTS.iter().find(|(source, ..)| *source == name)?;
    Some(Element { name, kind })
}

/// The elements by their names in the input and in the output.
const ELEMENTS: &[(&str, &str, Kind)] = &[
    ("a", "a", Kind::Link),
    ("abbr", "abbr", Kind::Phrasing),
    ("b", "b", Kind::Phrasing),
    ("blockquote", "blockquote", Kind::Block),
    ("br", "br", Kind::Void),
    ("center", "div", Kind::Block),
    ("code", "code", Kind::Phrasing),
    ("dd", "dd", Kind::Definition),
    ("del", "del", Kind::Phrasing),
    ("details", "details", Kind::Block),
    ("div", "div", Kind::Block),
    ("dl", "dl", Kind::Definitions),
    ("dt", "dt", Kind::Definition),
    ("em", "em", Kind::Phrasing),
    ("h1", "h1", Kind::Heading(1)),
    ("h2", "h2", Kind::Heading(2)),
    ("h3", "h3", Kind::Heading(3)),
    ("h4", "h4", Kind::Heading(4)),
    ("h5", "h5", Kind::Heading(5)),
    ("h6", "h6", Kind::Heading(6)),
    ("hr", "hr", Kind::Block),
    ("i", "i", Kind::Phrasing),
    ("img", "img", Kind::Image),
    ("input", "input", Kind::Checkbox),
    ("ins", "ins", Kind::Phrasing),
    ("kbd", "kbd", Kind::Phrasing),
    ("li", "li", Kind::Item),
    ("mark", "mark", Kind::Phrasing),
    ("ol", "ol", Kind::List),
    ("p", "p", Kind::Paragraph),
    ("pre", "pre", Kind::Block),
    ("q", "q", Kind::Phrasing),
    ("s", "s", Kind::Phrasing),
    ("samp", "samp", Kind::Phrasing),
    ("section", "section", Kind::Block),
    ("small", "small", Kind::Phrasing),
    ("span", "span", Kind::Phrasing),
    ("strike", "s", Kind::Phrasing),
    ("strong", "strong", Kind::Phrasing),
    ("sub", "sub", Kind::Phrasing),
    ("summary", "summary", Kind::Block),
    ("sup", "sup", Kind::Phrasing),
    ("table", "table", Kind::Table),
    ("tbody", "tbody", Kind::TableSection),
    ("td", "td", Kind::Cell),
    ("tfoot", "tfoot", Kind::TableSection),
    ("th", "th", Kind::Cell),
    ("thead", "thead", Kind::TableSection),
    ("tr", "tr", Kind::Row),
    ("tt", "code", Kind::Phrasing),
    ("u", "u", Kind::Phrasing),
    ("ul", "ul", Kind::List),
    ("var", "var", Kind::Phrasing),
];

/// The classes that texts may contain: those of highlighted code, of task lists, of alerts and of footnotes.
pub const CLASSES: &[&str] = &[
    "k",
    "str",
    "com",
    "num2",
    "fun",
    "typ",
    "unseen",
    "tasks",
    "alert",
    "alert-note",
    "alert-tip",
    "alert-important",
    "alert-warning",
    "alert-caution",
    "alert-title",
    "footnotes",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
];

/// Returns the class of the output for a class of the input, or `None` if texts may not contain it.
pub fn class(name: &str) -> Option<&'static str> {
    let name = match name {
        "contains-task-list" => "tasks",
        "markdown-alert" => "alert",
        _ => name.strip_prefix("markdown-").unwrap_or(name),
    };
    CLASSES.iter().find(|known| **known == name).copied()
}
