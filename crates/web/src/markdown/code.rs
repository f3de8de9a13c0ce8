//! Code blocks with highlighted code.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::time::Instant;

use comrak::adapters::SyntaxHighlighterAdapter;

use crate::highlight;
use crate::visible;

/// Writes the code blocks of one text.
pub struct CodeBlocks {
    deadline: Instant,
}

impl CodeBlocks {
    /// Creates the writer. Code that would be highlighted after the deadline is written without colors.
    pub fn new(deadline: Instant) -> Self {
        Self { deadline }
    }
}

impl SyntaxHighlighterAdapter for CodeBlocks {
    fn write_highlighted(&self, output: &mut dyn Write, language: Option<&str>, code: &str) -> fmt::Result {
        let language = language.and_then(|text| text.split([' ', ',', '{', '\t']).next()).unwrap_or_default();
        match highlight::highlight_block(language, code, self.deadline) {
            Some(lines) => lines.iter().try_for_each(|line| writeln!(output, "{line}")),
            None => output.write_str(&visible::escape(code)),
        }
    }

    fn write_pre_tag(&self, output: &mut dyn Write, _: HashMap<&'static str, Cow<'_, str>>) -> fmt::Result {
        output.write_str("<pre>")
    }

    fn write_code_tag(&self, output: &mut dyn Write, _: HashMap<&'static str, Cow<'_, str>>) -> fmt::Result {
        output.write_str("<code>")
    }
}
