//! Dates as users enter them.

use chrono::NaiveDate;

/// Parses a date such as `2026-12-01`. Years have four digits, because databases do not store every year.
pub fn parse_date(text: &str) -> Option<NaiveDate> {
    let has_form = text.len() == 10
        && text.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if has_form { NaiveDate::parse_from_str(text, "%Y-%m-%d").ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_a_year_of_four_digits() {
        assert_eq!(parse_date("2026-12-01"), NaiveDate::from_ymd_opt(2026, 12, 1));
        for text in ["", "2026-12-1", "2026-13-01", "-200000-01-01", "-200-01-01", "+2026-1-01", "20261201--"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }
}
