//! Durations of work, such as `1w 2d 3h 30m`: a day has 8 hours, a week 5 days and a month 4 weeks.

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 8 * HOUR;
const WEEK: i64 = 5 * DAY;
const MONTH: i64 = 4 * WEEK;

/// The units with their lengths in seconds, longest first.
const UNITS: [(&str, i64); 6] = [("mo", MONTH), ("w", WEEK), ("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", 1)];

/// Parses a duration of work, and returns its seconds. A minus sign before it applies to the whole. Returns None if the
/// text is no duration: each number needs a unit.
pub fn parse_work_time(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let mut seconds: i64 = 0;
    while !rest.trim_start().is_empty() {
        rest = rest.trim_start();
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (_, length) = UNITS.into_iter().find(|(name, _)| *name == &rest[..letters])?;
        seconds = seconds.checked_add(number.checked_mul(length)?)?;
        rest = &rest[letters..];
    }
    (!text.is_empty() && text != "-").then_some(sign * seconds)
}

/// Formats seconds of work with the longest units. Returns None for zero.
pub fn format_work_time(seconds: i64) -> Option<String> {
    let mut rest = seconds.unsigned_abs();
    let mut parts = Vec::new();
    for (name, length) in UNITS {
        let length = length.unsigned_abs();
        if rest >= length {
            parts.push(format!("{}{name}", rest / length));
            rest %= length;
        }
    }
    let sign = if seconds < 0 { "-" } else { "" };
    (!parts.is_empty()).then(|| format!("{sign}{}", parts.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_of_work() {
        for (text, seconds) in [
            ("3h30m", 3 * HOUR + 30 * MINUTE),
            ("3h 30m", 3 * HOUR + 30 * MINUTE),
            (" 1mo 1w 1d 1h 1m 1s ", MONTH + WEEK + DAY + HOUR + MINUTE + 1),
            ("1mo", 4 * 5 * 8 * 3600),
            ("90m", 90 * MINUTE),
            ("-1h", -HOUR),
            ("0h", 0),
        ] {
            assert_eq!(parse_work_time(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in ["", "-", "h", "1", "1x", "1h 2", "1 hour", "1.5h", "--1h", "99999999999999999mo", "1hé"] {
            assert_eq!(parse_work_time(text), None, "{text}");
        }
    }

    #[test]
    fn formatting_uses_the_longest_units() {
        assert_eq!(format_work_time(12_600).as_deref(), Some("3h 30m"));
        assert_eq!(format_work_time(8 * HOUR).as_deref(), Some("1d"));
        assert_eq!(format_work_time(-90).as_deref(), Some("-1m 30s"));
        assert_eq!(format_work_time(0), None);
        for seconds in [1, 59, 3_599, DAY - 1, MONTH + WEEK + 61] {
            assert_eq!(parse_work_time(&format_work_time(seconds).unwrap()), Some(seconds));
        }
    }
}
