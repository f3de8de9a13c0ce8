//! The first document of a YAML text as a value. Aliases are followed without copying what they stand for; how large
//! and how deep it all would be is counted nevertheless, so that nobody downstream is surprised.

use std::collections::HashMap;
use std::rc::Rc;

use serde_saphyr::granit_parser::{self, ErrorKind, Event, Marker, Parser, ScalarStyle, StructureStyle};

use super::value::{Key, MapBuilder, Value};
use super::{LARGEST_EXPANDED, scalar, syntax};

const DEEPEST: usize = 100;
/// What a value counts besides its text.
pub(super) const WEIGHT: usize = 16;

pub(super) fn read(text: &str) -> Result<Value, String> {
    if !text.chars().all(is_allowed) {
        return Err(no_control_characters());
    }
    let options = granit_parser::options! { emit_comments: false, emit_unresolved_aliases: true };
    let mut document = Document::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| match error.kind() {
            ErrorKind::RecursionLimitExceeded => too_deep(),
            _ => syntax::describe(&error, text, document.innermost()),
        })?;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                // An escape can still make what could not be written, and what no database takes.
                if text.contains('\0') {
                    return Err(no_control_characters());
                }
                let value = match tag {
                    Some(tag) => document.known(scalar::tagged(&tag, &text)),
                    None if style == ScalarStyle::Plain => document.known(scalar::plain(&text)),
                    None => Value::Text(text.into()),
                };
                let weight = WEIGHT + span.byte_range().map_or(0, |range| range.len());
                document.count(weight)?;
                document.add(Node { value, weight, depth: 0 }, anchor, Origin::Here)?;
            }
            Event::SequenceStart(style, anchor, tag) => {
                document.known(tag.map_or(Ok(Value::Null), |tag| scalar::allowed(&tag)));
                document.open(Content::List(Vec::new()), style, anchor, span.start)?;
            }
            Event::MappingStart(style, anchor, tag) => {
                document.known(tag.map_or(Ok(Value::Null), |tag| scalar::allowed(&tag)));
                document.open(Content::Map(MapBuilder::default(), None), style, anchor, span.start)?;
            }
            Event::SequenceEnd | Event::MappingEnd => document.close()?,
            Event::Alias(anchor) => {
                // What is not known stands for something that it is itself a part of.
                let name = span.slice(text).unwrap_or_default().trim_start_matches('*');
                let node = document.anchors.get(&anchor).cloned().unwrap_or_else(|| document.unknown_alias(name));
                document.count(node.weight)?;
                document.add(node, 0, Origin::Alias)?;
            }
            Event::UnresolvedAlias(name) => {
                let node = document.unknown_alias(&name);
                document.add(node, 0, Origin::Alias)?;
            }
            Event::DocumentEnd | Event::StreamEnd => break,
            _ => {}
        }
    }
    document.unknown.map_or(Ok(document.root.unwrap_or(Value::Null)), Err)
}

fn no_control_characters() -> String {
    syntax::at_start("control characters are not allowed")
}

fn is_allowed(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}') || matches!(c, '\t' | '\n' | '\r' | '\u{85}')
}

#[derive(Clone)]
struct Node {
    value: Value,
    weight: usize,
    depth: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Origin {
    Here,
    Alias,
}

enum Content {
    List(Vec<Value>),
    /// With the key that waits for its value.
    Map(MapBuilder, Option<Value>),
}

struct Collection {
    content: Content,
    style: StructureStyle,
    start: Marker,
    anchor: usize,
    weight: usize,
    depth: usize,
}

#[derive(Default)]
struct Document {
    stack: Vec<Collection>,
    anchors: HashMap<usize, Node>,
    weight: usize,
    root: Option<Value>,
    /// What means nothing is told after all else has been read: an error of the grammar comes first.
    unknown: Option<String>,
}

impl Document {
    fn known(&mut self, value: Result<Value, String>) -> Value {
        value.unwrap_or_else(|error| {
            self.unknown.get_or_insert(error);
            Value::Null
        })
    }

    fn unknown_alias(&mut self, name: &str) -> Node {
        Node { value: self.known(Err(format!("Unknown alias: {name}"))), weight: WEIGHT, depth: 0 }
    }

    fn innermost(&self) -> Option<syntax::Within> {
        self.stack.last().map(|collection| syntax::Within {
            is_map: matches!(collection.content, Content::Map(..)),
            is_flow: matches!(collection.style, StructureStyle::Flow),
            start: collection.start,
        })
    }

    fn count(&mut self, weight: usize) -> Result<(), String> {
        self.weight = self.weight.saturating_add(weight);
        if self.weight > LARGEST_EXPANDED {
            return Err("The file is larger than 4 MiB with its aliases followed".into());
        }
        Ok(())
    }

    fn open(&mut self, content: Content, style: StructureStyle, anchor: usize, start: Marker) -> Result<(), String> {
        self.count(WEIGHT)?;
        check_depth(self.stack.len())?;
        self.stack.push(Collection { content, style, start, anchor, weight: WEIGHT, depth: 1 });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(collection) = self.stack.pop() else { return Ok(()) };
        let value = match collection.content {
            Content::List(items) => Value::List(items.into()),
            Content::Map(map, _) => Value::Map(Rc::new(map.build())),
        };
        let node = Node { value, weight: collection.weight, depth: collection.depth };
        self.add(node, collection.anchor, Origin::Here)
    }

    fn add(&mut self, node: Node, anchor: usize, origin: Origin) -> Result<(), String> {
        check_depth(self.stack.len() + node.depth)?;
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(parent) = self.stack.last_mut() else {
            self.root.get_or_insert(node.value);
            return Ok(());
        };
        parent.weight = parent.weight.saturating_add(node.weight);
        parent.depth = parent.depth.max(node.depth + 1);
        match &mut parent.content {
            Content::List(items) => items.push(node.value),
            Content::Map(map, waiting) => match waiting.take() {
                None => *waiting = Some(node.value),
                Some(key) => set_or_merge(map, &key, node.value, origin),
            },
        }
        Ok(())
    }
}

fn check_depth(depth: usize) -> Result<(), String> {
    if depth > DEEPEST { Err(too_deep()) } else { Ok(()) }
}

fn too_deep() -> String {
    format!("The file is nested more than {DEEPEST} levels deep")
}

/// `<<` takes over the keys of another map, or of several of which the first counts most. What stands below it in the
/// file counts more, what stands above it less. If there is nothing to take over, it is a key like any other.
fn set_or_merge(map: &mut MapBuilder, key: &Value, value: Value, origin: Origin) {
    if matches!(key, Value::Text(name) if &**name == "<<") {
        match &value {
            Value::Map(other) => return map.set_all(other),
            Value::List(others) if origin == Origin::Here => {
                let maps: Option<Vec<_>> =
                    others.iter().map(|other| if let Value::Map(other) = other { Some(other) } else { None }).collect();
                if let Some(maps) = maps {
                    maps.into_iter().rev().for_each(|other| map.set_all(other));
                    return;
                }
            }
            _ => {}
        }
    }
    map.set(Key::of(key), value);
}
