//! Errors of YAML's grammar, in the words and at the places that users know from libyaml: not where reading stopped,
//! but where that began which could not be read.

use serde_saphyr::granit_parser::{ErrorKind, Marker, ScanError};

/// The innermost list or map that was open.
#[derive(Clone, Copy)]
pub(super) struct Within {
    pub is_map: bool,
    /// With brackets.
    pub is_flow: bool,
    pub start: Marker,
}

pub(super) fn at_start(what: &str) -> String {
    at(what, 1, 1)
}

fn at(what: &str, line: usize, column: usize) -> String {
    format!("(<unknown>): {what} at line {line} column {column}")
}

pub(super) fn not_utf8(error: std::str::Utf8Error) -> String {
    at_start(match error.error_len() {
        Some(1) => "invalid leading UTF-8 octet",
        Some(_) => "invalid trailing UTF-8 octet",
        None => "incomplete UTF-8 octet sequence",
    })
}

pub(super) fn describe(error: &ScanError, text: &str, within: Option<Within>) -> String {
    let mark = error.marker();
    let (line, column) = (mark.line(), mark.col() + 1);
    let here = |what: &str| at(what, line, column);
    match error.kind() {
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar
        | ErrorKind::CommentInterceptedScalar
        | ErrorKind::InvalidColonPlacement => unexpected(within),
        ErrorKind::UnclosedFlowCollection { open } | ErrorKind::MismatchedFlowCollectionEnd { open, .. } => {
            here(unclosed(*open == '{'))
        }
        ErrorKind::UnclosedQuotedScalar => here("found unexpected end of stream while scanning a quoted scalar"),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            here("could not find expected ':' while scanning a simple key")
        }
        ErrorKind::UnexpectedCharacter { .. } => here(NO_TOKEN),
        ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation | ErrorKind::TabNotAllowed => {
            at(NO_TOKEN, line, tab_in(text, line).unwrap_or(column))
        }
        ErrorKind::TabAtBlockScalarStart => {
            here("found a tab character where an indentation space is expected while scanning a block scalar")
        }
        ErrorKind::MisplacedFlowCollectionEnd
        | ErrorKind::ExpectedNodeContent
        | ErrorKind::UnexpectedEof
        | ErrorKind::UnexpectedEofBlockMapping
        | ErrorKind::UnexpectedEofBlockSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            let kind = if within.is_some_and(|within| within.is_flow) { "flow" } else { "block" };
            here(&format!("did not find expected node content while parsing a {kind} node"))
        }
        ErrorKind::UndeclaredTagHandle => here("found undefined tag handle while parsing a node"),
        ErrorKind::BlockEntryInFlowCollection => here("did not find expected node content while parsing a flow node"),
        ErrorKind::TabInPlainScalar => {
            here("found a tab character that violates indentation while scanning a plain scalar")
        }
        ErrorKind::MissingAnchorOrAliasName => {
            let is_alias = mark.byte_offset().and_then(|place| text.as_bytes().get(place)) == Some(&b'*');
            let kind = if is_alias { "alias" } else { "anchor" };
            here(&format!("did not find expected alphabetic or numeric character while scanning an {kind}"))
        }
        _ => here(&what_first(&error.info())),
    }
}

const NO_TOKEN: &str = "found character that cannot start any token while scanning for the next token";

const fn unclosed(is_map: bool) -> &'static str {
    if is_map {
        "did not find expected ',' or '}' while parsing a flow mapping"
    } else {
        "did not find expected ',' or ']' while parsing a flow sequence"
    }
}

/// Something follows that cannot follow.
fn unexpected(within: Option<Within>) -> String {
    let Some(within) = within else { return at_start("did not find expected <document start>") };
    let what = match within {
        Within { is_flow: true, is_map, .. } => unclosed(is_map),
        Within { is_map: true, .. } => "did not find expected key while parsing a block mapping",
        Within { .. } => "did not find expected '-' indicator while parsing a block collection",
    };
    at(what, within.start.line(), within.start.col() + 1)
}

fn tab_in(text: &str, line: usize) -> Option<usize> {
    let line = text.split('\n').nth(line.checked_sub(1)?)?;
    line.chars().position(|c| c == '\t').map(|place| place + 1)
}

/// The parser says when, then what; users know it the other way round.
fn what_first(info: &str) -> String {
    match info.split_once(", ") {
        Some((when, what)) if when.starts_with("while ") => format!("{what} {when}"),
        _ => info.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::document;

    /// As libyaml says it.
    #[test]
    fn errors_are_told_as_ever() {
        for (text, error) in [
            ("invalid: yaml: test", "mapping values are not allowed in this context at line 1 column 14"),
            ("job:\n  script: echo: x\n", "mapping values are not allowed in this context at line 2 column 15"),
            ("a: [1, 2", "did not find expected ',' or ']' while parsing a flow sequence at line 1 column 4"),
            ("a: {b: 1", "did not find expected ',' or '}' while parsing a flow mapping at line 1 column 4"),
            ("a: {b: 1 c: 2}", "did not find expected ',' or '}' while parsing a flow mapping at line 1 column 4"),
            ("a: 'x", "found unexpected end of stream while scanning a quoted scalar at line 1 column 4"),
            (
                "a:\n\t- b\n",
                "found character that cannot start any token while scanning for the next token at line 2 column 1",
            ),
            (
                "a: @x",
                "found character that cannot start any token while scanning for the next token at line 1 column 4",
            ),
            ("a:\n  b: 1\n c: 2\n", "did not find expected key while parsing a block mapping at line 1 column 1"),
            ("a: 1\nb:\n  c: \"d\" e\n", "did not find expected key while parsing a block mapping at line 3 column 3"),
            (
                "a:\n  - x\n  y: 1\n",
                "did not find expected '-' indicator while parsing a block collection at line 2 column 3",
            ),
            ("a: - b\n", "block sequence entries are not allowed in this context at line 1 column 4"),
            ("a: \"\\q\"\n", "found unknown escape character while parsing a quoted scalar at line 1 column 4"),
            ("a: ]\n", "did not find expected node content while parsing a block node at line 1 column 4"),
            ("a: !x!y z\n", "found undefined tag handle while parsing a node at line 1 column 4"),
            (
                "a: & b\n",
                "did not find expected alphabetic or numeric character while scanning an anchor at line 1 column 4",
            ),
            (
                "a: * b\n",
                "did not find expected alphabetic or numeric character while scanning an alias at line 1 column 4",
            ),
            (
                "a: *missing\nb: @\n",
                concat!(
                    "found character that cannot start any token while scanning for the next token ",
                    "at line 2 column 4"
                ),
            ),
            (
                "a: |x\n  b\n",
                "did not find expected comment or line break while scanning a block scalar at line 1 column 4",
            ),
            ("fine: yes\nbell: \u{7}\n", "control characters are not allowed at line 1 column 1"),
        ] {
            assert_eq!(document::read(text), Err(format!("(<unknown>): {error}")), "{text:?}");
        }
    }
}
