//! The elements that are written in another way than the text has them: headings, links, images and the boxes of tasks.

use std::fmt::Write as _;

use html5ever::tokenizer::Tag;

use super::Writer;
use crate::markdown::attributes;
use crate::markdown::elements::{Element, Kind};
use crate::markdown::links::Target;
use crate::visible;

impl Writer<'_> {
    /// Writes the start of a heading. Its level is one more than that of the heading above it, so that no level is
    /// missing; the class keeps the size that the text asks for.
    pub(super) fn heading(&mut self, tag: &Tag, element: Element, level: u8) {
        while self.headings.last().is_some_and(|last| *last >= level) {
            self.headings.pop();
        }
        self.headings.push(level);
        let depth = usize::from(self.context.first_heading()) + self.headings.len() - 1;
        let name = ["h2", "h3", "h4", "h5", "h6"][depth.clamp(2, 6) - 2];
        let _ = write!(self.output, "<{name} class=\"h{level}\"");
        attributes::write_kept(&mut self.output, tag, name, self.context);
        self.output.push('>');
        self.push(&tag.name, Element { name, ..element }, None);
    }

    pub(super) fn link(&mut self, tag: &Tag) {
        // The link of a heading to itself has no text.
        if attributes::has_class(tag, "anchor") {
            return;
        }
        let address = attributes::find(tag, "href").unwrap_or_default();
        let link = if address.is_empty() { None } else { self.context.link(address) };
        self.output.push_str("<a");
        attributes::write_kept(&mut self.output, tag, "a", self.context);
        if let Some(link) = &link {
            attributes::write(&mut self.output, "href", link);
        }
        if let Some(name) =
            attributes::find(tag, "aria-label").filter(|_| attributes::has_class(tag, "footnote-backref"))
        {
            attributes::write(&mut self.output, "aria-label", name);
        }
        self.output.push('>');
        self.push("a", Element { name: "a", kind: Kind::Link }, link);
    }

    /// Writes an image of this host. An image of another host becomes a link with the text of the image.
    pub(super) fn image(&mut self, tag: &Tag) {
        let alternative = attributes::find(tag, "alt").map(str::trim).unwrap_or_default();
        let address = attributes::find(tag, "src").unwrap_or_default();
        let is_in_link = self.open.iter().skip(self.scope()).any(|element| element.kind == Kind::Link);
        let name = address.rsplit('/').find(|part| !part.is_empty()).unwrap_or("image");
        match self.context.image(address) {
            Some(Target::Image(source)) => {
                self.output.push_str("<img");
                attributes::write(&mut self.output, "src", &source);
                let needs_name = alternative.is_empty() && is_in_link;
                attributes::write(&mut self.output, "alt", if needs_name { name } else { alternative });
                attributes::write_kept(&mut self.output, tag, "img", self.context);
                self.output.push_str(" loading=\"lazy\">");
            }
            target => {
                let text = visible::escape(if alternative.is_empty() { name } else { alternative });
                match target {
                    Some(Target::Link(address)) if !is_in_link => {
                        self.output.push_str("<a");
                        attributes::write(&mut self.output, "href", &address);
                        let _ = write!(self.output, ">{text}</a>");
                    }
                    _ => self.output.push_str(&text),
                }
            }
        }
        self.last_content = self.output.len();
    }

    /// Writes the box of a task. Other inputs are left out.
    pub(super) fn checkbox(&mut self, tag: &Tag) {
        if attributes::find(tag, "type") != Some("checkbox") {
            return;
        }
        let is_checked = attributes::find(tag, "checked").is_some();
        let name = if is_checked { "Done" } else { "Not done" };
        let checked = if is_checked { " checked=\"\"" } else { "" };
        let _ = write!(self.output, "<input type=\"checkbox\" disabled=\"\" aria-label=\"{name}\"{checked}>");
    }
}
