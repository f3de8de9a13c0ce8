//! Formats YAML syntax errors with the wording and positions of libyaml, which users know: an error is reported at the
//! beginning of the construct that cannot be parsed, not where parsing stopped.

use serde_saphyr::granit_parser::{ErrorKind, Marker, ScanError};

/// The innermost list or map that is not closed at the position of an error.
#[derive(Clone, Copy)]
pub(super) struct EnclosingCollection {
    pub is_map: bool,
    /// Whether the collection is in flow style, with brackets.
    pub is_flow: bool,
    pub start: Marker,
}

pub(super) fn error_at_start(what: &str) -> String {
    error_at(what, 1, 1)
}

fn error_at(what: &str, line: usize, column: usize) -> String {
    format!("(<unknown>): {what} at line {line} column {column}")
}

pub(super) fn invalid_utf8(error: std::str::Utf8Error) -> String {
    error_at_start(match error.error_len() {
        Some(1) => "invalid leading UTF-8 octet",
        Some(_) => "invalid trailing UTF-8 octet",
        None => "incomplete UTF-8 octet sequence",
    })
}

pub(super) fn describe(error: &ScanError, text: &str, enclosing: Option<EnclosingCollection>) -> String {
    let mark = error.marker();
    let (line, column) = (mark.line(), mark.col() + 1);
    let error_here = |what: &str| error_at(what, line, column);
    match error.kind() {
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar
        | ErrorKind::CommentInterceptedScalar
        | ErrorKind::InvalidColonPlacement => unexpected_content(enclosing),
        ErrorKind::UnclosedFlowCollection { open } | ErrorKind::MismatchedFlowCollectionEnd { open, .. } => {
            error_here(unclosed_message(*open == '{'))
        }
        ErrorKind::UnclosedQuotedScalar => error_here("found unexpected end of stream while scanning a quoted scalar"),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            error_here("could not find expected ':' while scanning a simple key")
        }
        ErrorKind::UnexpectedCharacter { .. } => error_here(INVALID_TOKEN_START),
        ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation | ErrorKind::TabNotAllowed => {
            error_at(INVALID_TOKEN_START, line, tab_column(text, line).unwrap_or(column))
        }
        ErrorKind::TabAtBlockScalarStart => {
            error_here("found a tab character where an indentation space is expected while scanning a block scalar")
        }
        ErrorKind::MisplacedFlowCollectionEnd
        | ErrorKind::ExpectedNodeContent
        | ErrorKind::UnexpectedEof
        | ErrorKind::UnexpectedEofBlockMapping
        | ErrorKind::UnexpectedEofBlockSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            let kind = if enclosing.is_some_and(|enclosing| enclosing.is_flow) { "flow" } else { "block" };
            error_here(&format!("did not find expected node content while parsing a {kind} node"))
        }
        ErrorKind::UndeclaredTagHandle => error_here("found undefined tag handle while parsing a node"),
        ErrorKind::BlockEntryInFlowCollection => {
            error_here("did not find expected node content while parsing a flow node")
        }
        ErrorKind::TabInPlainScalar => {
            error_here("found a tab character that violates indentation while scanning a plain scalar")
        }
        ErrorKind::MissingAnchorOrAliasName => {
            let is_alias = mark.byte_offset().and_then(|place| text.as_bytes().get(place)) == Some(&b'*');
            let kind = if is_alias { "alias" } else { "anchor" };
            error_here(&format!("did not find expected alphabetic or numeric character while scanning an {kind}"))
        }
        _ => error_here(&problem_before_context(&error.info())),
    }
}

const INVALID_TOKEN_START: &str = "found character that cannot start any token while scanning for the next token";

const fn unclosed_message(is_map: bool) -> &'static str {
    if is_map {
        "did not find expected ',' or '}' while parsing a flow mapping"
    } else {
        "did not find expected ',' or ']' while parsing a flow sequence"
    }
}

/// Returns the error for content that cannot follow in this collection.
fn unexpected_content(enclosing: Option<EnclosingCollection>) -> String {
    let Some(enclosing) = enclosing else { return error_at_start("did not find expected <document start>") };
    let what = match enclosing {
        EnclosingCollection { is_flow: true, is_map, .. } => unclosed_message(is_map),
        EnclosingCollection { is_map: true, .. } => "did not find expected key while parsing a block mapping",
        EnclosingCollection { .. } => "did not find expected '-' indicator while parsing a block collection",
    };
    error_at(what, enclosing.start.line(), enclosing.start.col() + 1)
}

fn tab_column(text: &str, line: usize) -> Option<usize> {
    let line = text.split('\n').nth(line.checked_sub(1)?)?;
    line.chars().position(|c| c == '\t').map(|place| place + 1)
}

/// Reorders a message of the parser, which puts the context before the problem. Libyaml does it the other way round.
fn problem_before_context(info: &str) -> String {
    match info.split_once(", ") {
        Some((when, what)) if when.starts_with("while ") => format!("{what} {when}"),
        _ => info.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::document;

    #[test]
    fn syntax_errors_match_libyaml() {
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
