//! The known syntaxes, which are loaded when the first code is highlighted.

use std::sync::LazyLock;

use syntect::parsing::{SyntaxReference, SyntaxSet};

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// Maximum number of bytes of the first line of a file that its syntax is found by.
const MAX_FIRST_LINE_BYTES: usize = 200;

/// Returns all syntaxes.
pub fn all() -> &'static SyntaxSet {
    &SYNTAXES
}

/// Returns the syntax of a file by its name, its extension, or its first line. Returns `None` for plain text.
pub fn find_by_path(path: &str, first_line: &str) -> Option<&'static SyntaxReference> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let by_name = SYNTAXES.find_syntax_by_extension(name);
    let by_extension = || SYNTAXES.find_syntax_by_extension(extension).filter(|_| !extension.is_empty());
    let by_first_line = || {
        let is_script = first_line.len() <= MAX_FIRST_LINE_BYTES && extension.is_empty();
        if is_script { SYNTAXES.find_syntax_by_first_line(first_line) } else { None }
    };
    is_known(by_name.or_else(by_extension).or_else(by_first_line))
}

/// Returns the syntax of a language that a text names. Returns `None` for plain text.
pub fn find_by_name(language: &str) -> Option<&'static SyntaxReference> {
    let language = language.trim();
    let name = match language.to_ascii_lowercase().as_str() {
        "" => return None,
        "shell" | "console" | "shell-session" => "sh",
        "dockerfile" => "Dockerfile",
        "golang" => "go",
        "csharp" => "cs",
        _ => language,
    };
    is_known(SYNTAXES.find_syntax_by_token(name))
}

fn is_known(syntax: Option<&SyntaxReference>) -> Option<&SyntaxReference> {
    syntax.filter(|syntax| syntax.name != "Plain Text")
}
