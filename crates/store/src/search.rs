//! Substring search.

use sqlx::{Postgres, QueryBuilder};

/// Writes the condition that a `search_text` column contains the term, whatever the case. The characters that are
/// special to `like` stand for themselves. The parts of such a column are separated by a line break, so a term with one
/// matches nothing. The comparison is by bytes, as in the column's index.
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
    fn wildcards_stand_for_themselves() {
        assert_eq!(super::pattern(r"50%_off\"), r"%50\%\_off\\%");
        assert_eq!(super::pattern("a\nb"), "\n");
    }
}
