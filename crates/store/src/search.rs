//! Search for substrings.

use sqlx::{Postgres, QueryBuilder};

/// Writes the condition that a `search_text` column contains the term, ignoring case. The wildcards of `like` are
/// escaped. The parts of such a column are separated by a line break, so a term that contains one matches nothing. The
/// comparison is bytewise, as in the index of the column.
pub(crate) fn push_contains(query: &mut QueryBuilder<Postgres>, column: &'static str, term: &str) {
    query.push(column).push(" like lower(").push_bind(pattern(term)).push(" collate \"und-x-icu\") collate \"C\"");
}

fn pattern(term: &str) -> String {
    if term.contains('\n') {
        return "\n".into();
    }
    let mut pattern = String::with_capacity(term.len() + 2);
    pattern.push('%');
    for c in term.chars() {
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
    fn wildcards_are_escaped() {
        assert_eq!(super::pattern(r"50%_off\"), r"%50\%\_off\\%");
        assert_eq!(super::pattern("a\nb"), "\n");
    }
}
