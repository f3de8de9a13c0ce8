//! Reads the first document of a YAML text as a value.
//!
//! Aliases share the value they refer to. The size and the depth of the document are limited as if aliases were
//! expanded, so that later steps can process it without further checks.

use std::collections::HashMap;
use std::rc::Rc;

use serde_saphyr::granit_parser::{self, ErrorKind, Event, Marker, Parser, ScalarStyle, StructureStyle};

use super::value::{MapBuilder, MapKey, Value};
use super::{MAX_EXPANDED_BYTES, scalar, syntax};

const MAX_DEPTH: usize = 100;
/// The weight of a value in addition to the length of its text. The number is an estimate.
pub(super) const NODE_WEIGHT: usize = 16;

pub(super) fn read(text: &str) -> Result<Value, String> {
    if !text.chars().all(is_allowed) {
        return Err(control_character_error());
    }
    let options = granit_parser::options! { emit_comments: false, emit_unresolved_aliases: true };
    let mut document = Document::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| match error.kind() {
            ErrorKind::RecursionLimitExceeded => too_deep_error(),
            _ => syntax::describe(&error, text, document.innermost_collection()),
        })?;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                // An escape sequence can still produce a zero byte, which PostgreSQL cannot store.
                if text.contains('\0') {
                    return Err(control_character_error());
                }
                let value = match tag {
                    Some(tag) => document.value_or_record_error(scalar::resolve_tagged(&tag, &text)),
                    None if style == ScalarStyle::Plain => document.value_or_record_error(scalar::resolve_plain(&text)),
                    None => Value::Text(text.into()),
                };
                let weight = NODE_WEIGHT + span.byte_range().map_or(0, |range| range.len());
                document.add_weight(weight)?;
                document.add(Node { value, weight, depth: 0 }, anchor, NodeOrigin::Inline)?;
            }
            Event::SequenceStart(style, anchor, tag) => {
                document.value_or_record_error(tag.map_or(Ok(Value::Null), |tag| scalar::check_tag(&tag)));
                document.open(Content::List(Vec::new()), style, anchor, span.start)?;
            }
            Event::MappingStart(style, anchor, tag) => {
                document.value_or_record_error(tag.map_or(Ok(Value::Null), |tag| scalar::check_tag(&tag)));
                document.open(Content::Map(MapBuilder::default(), None), style, anchor, span.start)?;
            }
            Event::SequenceEnd | Event::MappingEnd => document.close()?,
            Event::Alias(anchor) => {
                // The anchor is unknown while its collection is incomplete, so the alias refers to a collection that
                // contains it.
                let name = span.slice(text).unwrap_or_default().trim_start_matches('*');
                let node = document.anchors.get(&anchor).cloned().unwrap_or_else(|| document.unknown_alias(name));
                document.add_weight(node.weight)?;
                document.add(node, 0, NodeOrigin::Alias)?;
            }
            Event::UnresolvedAlias(name) => {
                let node = document.unknown_alias(&name);
                document.add(node, 0, NodeOrigin::Alias)?;
            }
            Event::DocumentEnd | Event::StreamEnd => break,
            _ => {}
        }
    }
    document.first_error.map_or(Ok(document.root.unwrap_or(Value::Null)), Err)
}

fn control_character_error() -> String {
    syntax::error_at_start("control characters are not allowed")
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
enum NodeOrigin {
    Inline,
    Alias,
}

enum Content {
    List(Vec<Value>),
    /// A map, with a key whose value has not been read yet.
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
    /// The first error about a value. It is reported after the whole text has been parsed, because syntax errors take
    /// precedence.
    first_error: Option<String>,
}

impl Document {
    fn value_or_record_error(&mut self, value: Result<Value, String>) -> Value {
        value.unwrap_or_else(|error| {
            self.first_error.get_or_insert(error);
            Value::Null
        })
    }

    fn unknown_alias(&mut self, name: &str) -> Node {
        Node { value: self.value_or_record_error(Err(format!("Unknown alias: {name}"))), weight: NODE_WEIGHT, depth: 0 }
    }

    fn innermost_collection(&self) -> Option<syntax::EnclosingCollection> {
        self.stack.last().map(|collection| syntax::EnclosingCollection {
            is_map: matches!(collection.content, Content::Map(..)),
            is_flow: matches!(collection.style, StructureStyle::Flow),
            start: collection.start,
        })
    }

    fn add_weight(&mut self, weight: usize) -> Result<(), String> {
        self.weight = self.weight.saturating_add(weight);
        if self.weight > MAX_EXPANDED_BYTES {
            return Err("The file is larger than 4 MiB with its aliases followed".into());
        }
        Ok(())
    }

    fn open(&mut self, content: Content, style: StructureStyle, anchor: usize, start: Marker) -> Result<(), String> {
        self.add_weight(NODE_WEIGHT)?;
        check_depth(self.stack.len())?;
        self.stack.push(Collection { content, style, start, anchor, weight: NODE_WEIGHT, depth: 1 });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(collection) = self.stack.pop() else { return Ok(()) };
        let value = match collection.content {
            Content::List(items) => Value::List(items.into()),
            Content::Map(map, _) => Value::Map(Rc::new(map.build())),
        };
        let node = Node { value, weight: collection.weight, depth: collection.depth };
        self.add(node, collection.anchor, NodeOrigin::Inline)
    }

    fn add(&mut self, node: Node, anchor: usize, origin: NodeOrigin) -> Result<(), String> {
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
            Content::Map(map, pending_key) => match pending_key.take() {
                None => *pending_key = Some(node.value),
                Some(key) => set_or_merge(map, &key, node.value, origin),
            },
        }
        Ok(())
    }
}

fn check_depth(depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH { Err(too_deep_error()) } else { Ok(()) }
}

fn too_deep_error() -> String {
    format!("The file is nested more than {MAX_DEPTH} levels deep")
}

/// Sets a key of a map. The key `<<` merges the keys of another map, or of a list of maps in which the first takes
/// precedence. Keys below it in the file override the merged ones, and merged keys override those above it. If its
/// value is not a map or a list of maps, `<<` is an ordinary key.
fn set_or_merge(map: &mut MapBuilder, key: &Value, value: Value, origin: NodeOrigin) {
    if matches!(key, Value::Text(name) if &**name == "<<") {
        match &value {
            Value::Map(other) => return map.set_all(other),
            Value::List(others) if origin == NodeOrigin::Inline => {
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
    map.set(MapKey::from_value(key), value);
}
