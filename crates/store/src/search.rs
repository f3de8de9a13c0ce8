//! Substring search.

/// A `like` pattern for a case-insensitive substring of a `search_text` column. The characters that are special to
/// `like` stand for themselves.
///
/// The parts of such a column are separated by a line break, so a term with one matches nothing.
pub fn contains(term: &str) -> String {
    if term.contains('\n') {
        return "\n".into();
    }
    let mut pattern = String::with_capacity(term.len() + 2);
    pattern.push('%');
    for c in term.to_lowercase().chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    #[test]
    fn wildcards_stand_for_themselves() {
        assert_eq!(super::contains(r"50%_Off\"), r"%50\%\_off\\%");
        assert_eq!(super::contains("a\nb"), "\n");
    }
}
