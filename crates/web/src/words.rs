//! Ages, dates, durations, sizes and counted phrases as pages show them.
//!
//! Texts that depend on a number are functions here and not in templates, so that a translation changes one file.

use std::fmt;

use askama::filters::HtmlSafe;
use chrono::{DateTime, Datelike, NaiveDate, SecondsFormat, TimeDelta, Timelike, Utc};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A point in time as an element `<time>`, with the exact time as its title.
///
/// A page that changes shows ages; a page about an immutable object shows dates, so that it can be cached. A script
/// converts both to the time zone of the browser.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    at: DateTime<Utc>,
    form: TimeForm,
    class: &'static str,
}

/// The form in which a time is shown. Ages are relative to the time of the request.
#[derive(Clone, Copy, Debug)]
enum TimeForm {
    Age(DateTime<Utc>),
    Ago(DateTime<Utc>),
    Date,
}

impl Time {
    /// Creates a time that is shown as its age alone, such as `3 h`, for columns of lists.
    pub const fn age(at: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        Self { at, form: TimeForm::Age(now), class: "" }
    }

    /// Creates a time that is shown as its age in a sentence, such as `3 h ago`.
    pub const fn ago(at: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        Self { at, form: TimeForm::Ago(now), class: "" }
    }

    /// Creates a time that is shown as its date, such as `16 Nov 2026`.
    pub const fn date(at: DateTime<Utc>) -> Self {
        Self { at, form: TimeForm::Date, class: "" }
    }

    /// Returns the time with a class for the element.
    pub const fn with_class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("<time")?;
        if !self.class.is_empty() {
            write!(formatter, " class=\"{}\"", self.class)?;
        }
        let (form, text) = match self.form {
            TimeForm::Age(now) => ("age", age(self.at, now)),
            TimeForm::Ago(now) => ("ago", ago(self.at, now)),
            TimeForm::Date => ("date", date(self.at.date_naive())),
        };
        let exact = self.at.to_rfc3339_opts(SecondsFormat::Secs, true);
        write!(formatter, " datetime=\"{exact}\" data-time=\"{form}\" title=\"{}\">{text}</time>", date_time(self.at))
    }
}

impl HtmlSafe for Time {}

/// Returns how long ago a time was, in its largest unit: `now`, `5 min`, `3 h`, `2 d`, `3 w`, `4 mo`, `2 y`. A time in
/// the future is `now`, because the clocks of clients that set it may be ahead.
pub fn age(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let elapsed = now - at;
    let days = elapsed.num_days();
    match elapsed {
        _ if elapsed < TimeDelta::minutes(1) => "now".to_owned(),
        _ if elapsed < TimeDelta::hours(1) => format!("{} min", elapsed.num_minutes()),
        _ if days < 1 => format!("{} h", elapsed.num_hours()),
        _ if days < 7 => format!("{days} d"),
        _ if days < 35 => format!("{} w", days / 7),
        _ if days < 365 => format!("{} mo", days / 30),
        _ => format!("{} y", number(days / 365)),
    }
}

/// Returns an age as a part of a sentence: `3 h ago`, or `just now`.
pub fn ago(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    if now - at < TimeDelta::minutes(1) { "just now".to_owned() } else { format!("{} ago", age(at, now)) }
}

/// Returns a date, such as `16 Nov 2026`.
pub fn date(date: NaiveDate) -> String {
    let month = MONTHS[date.month0() as usize];
    format!("{} {month} {}", date.day(), date.year())
}

/// Returns a date with its time of day, such as `16 Nov 2026, 14:32 UTC`.
pub fn date_time(at: DateTime<Utc>) -> String {
    format!("{}, {:02}:{:02} UTC", date(at.date_naive()), at.hour(), at.minute())
}

/// Returns a duration in its two largest units: `58 s`, `6 min 12 s`, `2 h 5 min`, `3 d 4 h`.
pub fn duration(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let units = |large: i64, large_unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{} {large_unit}", number(large)),
        _ => format!("{} {large_unit} {small} {small_unit}", number(large)),
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => units(minutes, "min", seconds % 60, "s"),
        3_600..86_400 => units(hours, "h", minutes % 60, "min"),
        _ => units(days, "d", hours % 24, "h"),
    }
}

/// Returns how long a request took: `84 ms`, `1.2 s`, and from ten seconds on as [`duration`].
pub fn milliseconds(milliseconds: impl Count) -> String {
    match milliseconds.count().max(0) {
        short @ 0..1_000 => format!("{short} ms"),
        medium @ 1_000..10_000 => format!("{}.{} s", medium / 1_000, medium % 1_000 / 100),
        long => duration(long / 1_000),
    }
}

/// A number of things. Templates pass references, so they count as well.
pub trait Count {
    fn count(&self) -> i64;
}

impl Count for i64 {
    fn count(&self) -> i64 {
        *self
    }
}

impl Count for i32 {
    fn count(&self) -> i64 {
        (*self).into()
    }
}

impl Count for u32 {
    fn count(&self) -> i64 {
        (*self).into()
    }
}

impl Count for usize {
    fn count(&self) -> i64 {
        i64::try_from(*self).unwrap_or(i64::MAX)
    }
}

impl Count for u64 {
    fn count(&self) -> i64 {
        i64::try_from(*self).unwrap_or(i64::MAX)
    }
}

impl<T: Count + ?Sized> Count for &T {
    fn count(&self) -> i64 {
        (**self).count()
    }
}

/// Returns a number with thousands separators, such as `1,284`.
pub fn number(number: impl Count) -> String {
    let number = number.count();
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0 {
        text.push('−');
    }
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a size in decimal units with up to one decimal: `312 bytes`, `2.4 kB`, `412 kB`, `18.4 MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1_000 {
        return bytes_of(bytes);
    }
    // Tenths of the unit, so that the arithmetic stays exact. 999.95 kB and more would be rounded to 1000.0 kB.
    let (mut tenths, mut unit) = (rounded_quotient(bytes, 100), 0);
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        unit += 1;
        tenths = rounded_quotient(bytes, 100 * 1_000_u64.pow(u32::try_from(unit).unwrap_or(0)));
    }
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} {}", UNITS[unit]),
        (whole @ 0..100, rest) => format!("{whole}.{rest} {}", UNITS[unit]),
        (whole, rest) => format!("{} {}", whole + rest / 5, UNITS[unit]),
    }
}

const fn rounded_quotient(dividend: u64, divisor: u64) -> u64 {
    (dividend.saturating_add(divisor / 2)) / divisor
}

/// Declares functions that return a number with its noun, such as `1 branch` and `14 branches`.
macro_rules! counted {
    ($($function:ident: $one:literal, $many:literal;)*) => {
        $(
            #[doc = concat!("Returns a number of ", $many, ", with its noun.")]
            pub fn $function(count: impl Count) -> String {
                let count = count.count();
                format!("{} {}", number(count), if count == 1 { $one } else { $many })
            }
        )*
    };
}

counted! {
    branches: "branch", "branches";
    builds: "build", "builds";
    bytes_of: "byte", "bytes";
    changed_files: "changed file", "changed files";
    commits: "commit", "commits";
    days: "day", "days";
    events: "event", "events";
    files: "file", "files";
    comments: "comment", "comments";
    forks: "fork", "forks";
    groups: "group", "groups";
    issues: "issue", "issues";
    jobs: "job", "jobs";
    lines: "line", "lines";
    members: "member", "members";
    notes: "note", "notes";
    pipelines: "pipeline", "pipelines";
    projects: "project", "projects";
    reasons: "reason", "reasons";
    runners: "runner", "runners";
    seconds: "second", "seconds";
    sessions: "session", "sessions";
    stars: "star", "stars";
    tags: "tag", "tags";
    times: "time", "times";
    webhooks: "webhook", "webhooks";
}

/// Returns the range of a page in a list: `21–40 of 612`, or `21–40` if the length of the list is not known.
pub fn range(first: i64, last: i64, total: Option<i64>) -> String {
    let (first, last) = (number(first), number(last));
    match total {
        Some(total) => format!("{first}–{last} of {}", number(total)),
        None => format!("{first}–{last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("the tests contain valid times")
    }

    #[test]
    fn ages_are_shown_in_their_largest_unit() {
        let now = at("2026-11-16T12:00:00Z");
        let shown = |elapsed: TimeDelta| age(now - elapsed, now);
        assert_eq!(shown(TimeDelta::seconds(59)), "now");
        assert_eq!(shown(TimeDelta::seconds(-90)), "now");
        assert_eq!(shown(TimeDelta::minutes(59)), "59 min");
        assert_eq!(shown(TimeDelta::hours(23)), "23 h");
        assert_eq!(shown(TimeDelta::days(6)), "6 d");
        assert_eq!(shown(TimeDelta::days(34)), "4 w");
        assert_eq!(shown(TimeDelta::days(35)), "1 mo");
        assert_eq!(shown(TimeDelta::days(364)), "12 mo");
        assert_eq!(shown(TimeDelta::days(800)), "2 y");
        assert_eq!((ago(now, now), ago(now - TimeDelta::hours(3), now)), ("just now".into(), "3 h ago".into()));
    }

    #[test]
    fn times_are_elements_with_the_exact_time() {
        let (then, now) = (at("2026-11-16T09:05:07.5Z"), at("2026-11-16T12:06:00Z"));
        let exact = "datetime=\"2026-11-16T09:05:07Z\"";
        assert_eq!(
            Time::age(then, now).with_class("age").to_string(),
            format!("<time class=\"age\" {exact} data-time=\"age\" title=\"16 Nov 2026, 09:05 UTC\">3 h</time>")
        );
        assert_eq!(
            Time::date(then).to_string(),
            format!("<time {exact} data-time=\"date\" title=\"16 Nov 2026, 09:05 UTC\">16 Nov 2026</time>")
        );
    }

    #[test]
    fn durations_have_at_most_two_units() {
        let shown: Vec<String> = [-1, 58, 60, 372, 7_500, 86_400, 100_000].into_iter().map(duration).collect();
        assert_eq!(shown, ["0 s", "58 s", "1 min", "6 min 12 s", "2 h 5 min", "1 d", "1 d 3 h"]);
    }

    #[test]
    fn durations_of_requests_are_exact_to_two_digits() {
        let shown: Vec<String> = [-1_i64, 84, 1_250, 9_999, 12_400, 61_000].into_iter().map(milliseconds).collect();
        assert_eq!(shown, ["0 ms", "84 ms", "1.2 s", "9.9 s", "12 s", "1 min 1 s"]);
    }

    #[test]
    fn numbers_have_thousands_separators() {
        let shown: Vec<String> = [0_i64, 7, 999, 1_000, -12_345, 1_234_567].into_iter().map(number).collect();
        assert_eq!(shown, ["0", "7", "999", "1,000", "−12,345", "1,234,567"]);
    }

    #[test]
    fn sizes_are_rounded_to_three_digits() {
        let shown: Vec<String> =
            [0, 1, 999, 1_000, 2_444, 99_960, 412_300, 999_960, 18_400_000, u64::MAX].into_iter().map(size).collect();
        assert_eq!(
            shown,
            ["0 bytes", "1 byte", "999 bytes", "1 kB", "2.4 kB", "100 kB", "412 kB", "1 MB", "18.4 MB", "18447 PB"]
        );
    }

    #[test]
    fn counted_phrases_use_the_singular_for_one() {
        assert_eq!(
            (branches(1_i64), branches(0_i64), tags(1_284_i64)),
            ("1 branch".into(), "0 branches".into(), "1,284 tags".into())
        );
        assert_eq!(range(21, 40, Some(1_612)), "21–40 of 1,612");
        assert_eq!(range(21, 40, None), "21–40");
    }
}
