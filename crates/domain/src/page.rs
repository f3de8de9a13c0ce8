//! Numbered pages of a list, with a total that is counted only up to a maximum.

use std::ops::Range;

/// Counting stops at this number, and a larger total is not shown.
pub const MAX_COUNTED_TOTAL: i64 = 10_000;
/// Number of items on a page if the client does not choose it, as existing clients expect.
pub const DEFAULT_PAGE_SIZE: i64 = 20;
/// Maximum number of items on a page, as existing clients expect.
pub const MAX_PAGE_SIZE: i64 = 100;

/// The number and the size of a requested page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    number: i64,
    size: i64,
}

impl PageRequest {
    /// Creates a request. Out-of-range values fall back to the first page and the default size. The size is limited to
    /// [`MAX_PAGE_SIZE`].
    pub fn new(number: Option<i64>, size: Option<i64>) -> Self {
        Self {
            number: number.filter(|n| *n > 0).unwrap_or(1),
            size: size.filter(|n| *n > 0).unwrap_or(DEFAULT_PAGE_SIZE).min(MAX_PAGE_SIZE),
        }
    }

    pub const fn number(self) -> i64 {
        self.number
    }

    pub const fn size(self) -> i64 {
        self.size
    }

    pub const fn offset(self) -> i64 {
        (self.number - 1).saturating_mul(self.size)
    }

    /// Returns the range of the page in a list of `total` items.
    pub fn range(self, total: usize) -> Range<usize> {
        let clamp = |position: i64| usize::try_from(position).unwrap_or(usize::MAX).min(total);
        clamp(self.offset())..clamp(self.offset().saturating_add(self.size))
    }
}

/// One page of a list.
#[derive(Debug)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub request: PageRequest,
    /// The length of the list, or None if it exceeds [`MAX_COUNTED_TOTAL`].
    pub total: Option<i64>,
    pub has_next: bool,
}

impl<T> Page<T> {
    /// Creates a page of a list whose length is known.
    pub fn with_total(items: Vec<T>, request: PageRequest, total: usize) -> Self {
        let total = i64::try_from(total).unwrap_or(i64::MAX);
        let has_next = request.offset().saturating_add(request.size()) < total;
        Self { items, request, total: Some(total).filter(|total| *total <= MAX_COUNTED_TOTAL), has_next }
    }

    pub fn map<U>(self, present: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(present).collect(),
            request: self.request,
            total: self.total,
            has_next: self.has_next,
        }
    }

    pub fn try_map<U, E>(self, convert: impl FnMut(T) -> Result<U, E>) -> Result<Page<U>, E> {
        let items = self.items.into_iter().map(convert).collect::<Result<_, E>>()?;
        Ok(Page { items, request: self.request, total: self.total, has_next: self.has_next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_page_requests_become_the_first_page_of_default_size() {
        for nonsense in [None, Some(0), Some(-3), Some(i64::MIN)] {
            assert_eq!(PageRequest::new(nonsense, nonsense), PageRequest { number: 1, size: 20 });
        }
        assert_eq!(PageRequest::new(Some(i64::MAX), Some(1000)).size(), 100);
        assert_eq!(PageRequest::new(Some(i64::MAX), Some(1000)).offset(), i64::MAX);
    }

    #[test]
    fn page_ranges_stay_within_the_list() {
        let range = |number, total| PageRequest::new(Some(number), Some(10)).range(total);
        assert_eq!((range(1, 25), range(3, 25), range(4, 25), range(1, 0)), (0..10, 20..25, 25..25, 0..0));
        assert_eq!(range(i64::MAX, 25), 25..25);
        let has_next =
            |number, total| Page::with_total(vec![()], PageRequest::new(Some(number), Some(10)), total).has_next;
        assert!(has_next(2, 21) && !has_next(2, 20) && !has_next(3, 20));
    }
}
