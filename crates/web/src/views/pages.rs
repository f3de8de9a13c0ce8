//! Links to the previous and the next page of a list.

use holdfast_domain::page::Page;

use super::links;
use crate::words;

/// The position of a page in its list.
#[derive(Clone, Debug)]
pub struct Pages {
    /// The range that the page shows, such as `21–40 of 612`.
    pub range: String,
    pub previous: Option<String>,
    pub next: Option<String>,
}

impl Pages {
    /// Creates the links of a page. `path` and `filters` are those of the first page; other pages add their number.
    pub fn new<T>(page: &Page<T>, path: &str, filters: &[(&str, &str)]) -> Self {
        let number = page.request.number();
        let url = |number: i64| {
            let text = number.to_string();
            let position = ("page", if number == 1 { "" } else { text.as_str() });
            format!("{path}{}", links::query(&[filters, &[position]].concat()))
        };
        let first = page.request.offset() + 1;
        let last = page.request.offset() + i64::try_from(page.items.len()).unwrap_or(i64::MAX);
        Self {
            range: words::range(first, last, page.total),
            previous: (number > 1).then(|| url(number - 1)),
            next: page.has_next.then(|| url(number + 1)),
        }
    }

    /// Returns whether the list has more than one page.
    pub fn is_needed(&self) -> bool {
        self.previous.is_some() || self.next.is_some()
    }
}

#[cfg(test)]
mod tests {
    use holdfast_domain::page::PageRequest;

    use super::*;

    #[test]
    fn pages_keep_the_filters_of_the_list() {
        let page = Page::with_total(vec![(); 20], PageRequest::new(Some(2), None), 61);
        let pages = Pages::new(&page, "/projects", &[("search", "tide"), ("order", "")]);
        assert_eq!(pages.range, "21–40 of 61");
        assert_eq!(pages.previous.as_deref(), Some("/projects?search=tide"));
        assert_eq!(pages.next.as_deref(), Some("/projects?search=tide&page=3"));
    }

    #[test]
    fn a_short_list_needs_no_links() {
        assert!(!Pages::new(&Page::with_total(vec![()], PageRequest::new(None, None), 1), "/", &[]).is_needed());
    }
}
