//! Numbered pages of a list, with a total that is counted only as far as it is worth.

/// Counting stops here: a larger total is not told.
pub const COUNTED_AT_MOST: i64 = 10_000;
pub const DEFAULT_SIZE: i64 = 20;
pub const MAXIMUM_SIZE: i64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    number: i64,
    size: i64,
}

impl PageRequest {
    /// Out-of-range values fall back to the first page and the default size; no list is longer than the maximum.
    pub fn new(number: Option<i64>, size: Option<i64>) -> Self {
        Self {
            number: number.filter(|n| *n > 0).unwrap_or(1),
            size: size.filter(|n| *n > 0).unwrap_or(DEFAULT_SIZE).min(MAXIMUM_SIZE),
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
}

/// One page of a list.
#[derive(Debug)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub request: PageRequest,
    /// None when there are more than [`COUNTED_AT_MOST`].
    pub total: Option<i64>,
    pub has_next: bool,
}

impl<T> Page<T> {
    pub fn map<U>(self, present: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(present).collect(),
            request: self.request,
            total: self.total,
            has_next: self.has_next,
        }
    }

    pub fn try_map<U, E>(self, mut convert: impl FnMut(T) -> Result<U, E>) -> Result<Page<U>, E> {
        let items = self.items.into_iter().map(&mut convert).collect::<Result<_, E>>()?;
        Ok(Page { items, request: self.request, total: self.total, has_next: self.has_next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_becomes_the_first_page_of_default_size() {
        for nonsense in [None, Some(0), Some(-3), Some(i64::MIN)] {
            assert_eq!(PageRequest::new(nonsense, nonsense), PageRequest { number: 1, size: 20 });
        }
        assert_eq!(PageRequest::new(Some(i64::MAX), Some(1000)).size(), 100);
        assert_eq!(PageRequest::new(Some(i64::MAX), Some(1000)).offset(), i64::MAX);
    }
}
