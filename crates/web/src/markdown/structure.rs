//! Makes the elements of a text nest properly and in bounded depth, and rewrites its links, images and headings.
//!
//! The parser that runs afterwards repairs HTML like a browser does. On hostile texts that takes time and memory in
//! proportion to the square of their length. It has nothing to repair in the output of this step.

mod rewritten;

use std::cell::RefCell;
use std::fmt::Write as _;

use holdfast_domain::planning::{FoundMention, find_mentions};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

use super::attributes;
use super::elements::{self, Element, Kind};
use super::links::LinkContext;
use crate::visible;

/// Maximum depth of elements. Deeper elements are left out; their text remains.
const MAX_DEPTH: usize = 60;
/// Maximum length of a text between two tags or comments, in bytes.
const MAX_TEXT_BYTES: usize = 4_096;

/// Returns the HTML of a text with proper nesting.
pub fn normalize(html: String, context: &LinkContext) -> String {
    let tokenizer = Tokenizer::new(Sink(RefCell::new(Writer::new(context))), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    // The sink never interrupts the tokenizer, which therefore reads everything at once.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    let mut writer = tokenizer.sink.0.into_inner();
    writer.close_to(0);
    writer.output
}

/// The receiver of the tokens of a text.
struct Sink<'a>(RefCell<Writer<'a>>);

impl TokenSink for Sink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut writer = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => writer.start(&tag),
            Token::TagToken(tag) => writer.end(&tag.name),
            Token::CharacterTokens(text) => writer.text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// An element that is open in the output.
struct OpenElement {
    /// The name in the input, which the end tag has.
    source: String,
    name: &'static str,
    kind: Kind,
    /// The position in the output where the content begins.
    content: usize,
    /// The text of a link that has no content.
    label: Option<String>,
}

struct Writer<'a> {
    context: &'a LinkContext,
    output: String,
    open: Vec<OpenElement>,
    /// The levels of the headings that the current place is below, as the text has them.
    headings: Vec<u8>,
    /// The end of the last text or image in the output.
    last_content: usize,
    /// The number of bytes of text since the last comment.
    text_bytes: usize,
    /// The element whose content is left out, such as `script`.
    skipped: Option<String>,
}

impl<'a> Writer<'a> {
    fn new(context: &'a LinkContext) -> Self {
        Self {
            context,
            output: String::new(),
            open: Vec::new(),
            headings: Vec::new(),
            last_content: 0,
            text_bytes: 0,
            skipped: None,
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        let mut written = 0;
        let has_mentions = text.contains(['#', '@']) && !self.is_in_code_or_link();
        let mentions = if has_mentions { find_mentions(text) } else { Vec::new() };
        for FoundMention { start, end, mention } in mentions {
            let Some(address) = self.context.mention(mention) else { continue };
            self.push_text(&text[written..start]);
            self.output.push_str("<a");
            attributes::write(&mut self.output, "href", &address);
            let _ = write!(self.output, ">{}</a>", visible::escape(&text[start..end]));
            written = end;
        }
        self.push_text(&text[written..]);
        if !text.trim().is_empty() {
            self.last_content = self.output.len();
        }
    }

    /// Writes a text. Comments, which the sanitizer removes, divide long texts: the time that the sanitizer needs to
    /// write a text grows with the square of its length.
    fn push_text(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.floor_char_boundary(MAX_TEXT_BYTES));
            if self.text_bytes + part.len() > MAX_TEXT_BYTES {
                self.output.push_str("<!---->");
                self.text_bytes = 0;
            }
            self.text_bytes += part.len();
            self.output.push_str(&visible::escape(part));
            rest = after;
        }
    }

    fn is_in_code_or_link(&self) -> bool {
        self.open
            .iter()
            .any(|element| element.kind == Kind::Link || matches!(element.name, "code" | "pre" | "kbd" | "samp"))
    }

    fn start(&mut self, tag: &Tag) {
        if self.skipped.is_some() {
            return;
        }
        let source: &str = &tag.name;
        if matches!(source, "script" | "style") {
            self.skipped = Some(source.to_owned());
            return;
        }
        let Some(element) = elements::find(source) else { return };
        if !self.make_room(element.kind) || self.open.len() >= MAX_DEPTH {
            return;
        }
        match element.kind {
            Kind::Image => self.image(tag),
            Kind::Checkbox => self.checkbox(tag),
            Kind::Link => self.link(tag),
            Kind::Heading(level) => self.heading(tag, element, level),
            kind => {
                let _ = write!(self.output, "<{}", element.name);
                attributes::write_kept(&mut self.output, tag, element.name, self.context);
                match source {
                    "pre" => self.output.push_str(" tabindex=\"0\""),
                    "center" => self.output.push_str(" align=\"center\""),
                    _ => {}
                }
                self.output.push('>');
                if !kind.is_empty() && source != "hr" {
                    self.push(source, element, None);
                }
            }
        }
    }

    fn end(&mut self, source: &str) {
        if let Some(skipped) = &self.skipped {
            if skipped == source {
                self.skipped = None;
            }
            return;
        }
        let is_in_table = matches!(source, "table" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th");
        let first = if is_in_table { 0 } else { self.scope() };
        if let Some(found) = self.open.iter().skip(first).rposition(|element| element.source == source) {
            self.close_to(first + found);
        }
    }

    fn push(&mut self, source: &str, element: Element, label: Option<String>) {
        let (source, content) = (source.to_owned(), self.output.len());
        self.open.push(OpenElement { source, name: element.name, kind: element.kind, content, label });
    }

    /// Returns the number of open elements up to the innermost cell. What is outside of a cell is not closed from
    /// within it.
    fn scope(&self) -> usize {
        self.open.iter().rposition(|element| element.kind == Kind::Cell).map_or(0, |cell| cell + 1)
    }

    /// Closes elements until `depth` are open.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(element) = self.open.pop() else { return };
            if let Some(label) = element.label.filter(|_| self.last_content <= element.content) {
                self.output.push_str(&visible::escape(&label));
                self.last_content = self.output.len();
            }
            let _ = write!(self.output, "</{}>", element.name);
        }
    }

    /// Closes the elements that a new one cannot be in. Returns false if the new one has no place here.
    fn make_room(&mut self, kind: Kind) -> bool {
        let find = |open: &[OpenElement], first: usize, wanted: &[Kind]| {
            open.iter().skip(first).rposition(|element| wanted.contains(&element.kind)).map(|found| found + first)
        };
        match kind {
            Kind::TableSection | Kind::Row | Kind::Cell => {
                let Some(table) = find(&self.open, 0, &[Kind::Table]) else { return false };
                let parents: &[Kind] = match kind {
                    Kind::TableSection => &[Kind::Table],
                    Kind::Row => &[Kind::Table, Kind::TableSection],
                    _ => &[Kind::Row],
                };
                let Some(parent) = find(&self.open, table, parents) else { return false };
                self.close_to(parent + 1);
                return true;
            }
            Kind::Item | Kind::Definition => {
                let parent = if kind == Kind::Item { Kind::List } else { Kind::Definitions };
                let Some(parent) = find(&self.open, self.scope(), &[parent]) else { return false };
                self.close_to(parent + 1);
                return true;
            }
            Kind::Link => {
                if let Some(link) = find(&self.open, self.scope(), &[Kind::Link]) {
                    self.close_to(link);
                }
            }
            _ if kind.ends_paragraph() => {
                if let Some(paragraph) = find(&self.open, self.scope(), &[Kind::Paragraph]) {
                    self.close_to(paragraph);
                }
                let is_heading = |element: &OpenElement| matches!(element.kind, Kind::Heading(_));
                if let Some(heading) = self.open.iter().skip(self.scope()).position(is_heading) {
                    self.close_to(self.scope() + heading);
                }
            }
            _ => {}
        }
        let parent = self.open.last().map(|element| element.kind);
        !parent.is_some_and(|parent| parent.is_table_frame() || matches!(parent, Kind::List | Kind::Definitions))
    }
}
