//! Resolves unquoted scalars by the rules of YAML 1.1, as Ruby implements them.

use chrono::NaiveDate;
use serde_saphyr::granit_parser::Tag;

use super::value::Value;

pub(super) fn resolve_plain(text: &str) -> Result<Value, String> {
    if let Some(value) = resolve_keyword(text) {
        return Ok(value);
    }
    if is_date(text) {
        return Err(unknown_class("Date"));
    }
    if is_time(text) {
        return Err(unknown_class("Time"));
    }
    if let Some(name) = text.strip_prefix(':').filter(|name| !name.is_empty()) {
        return Ok(Value::Symbol(strip_quotes(name).into()));
    }
    Ok(match parse_sexagesimal(text).or_else(|| parse_float(text)).or_else(|| parse_integer(text)) {
        Some(number) => Value::Number(number.into()),
        None => Value::Text(text.into()),
    })
}

/// Resolves a scalar with a tag. A tag of a Ruby object is an error; an unknown tag is ignored.
pub(super) fn resolve_tagged(tag: &Tag, text: &str) -> Result<Value, String> {
    check_tag(tag)?;
    match tag_name(tag) {
        Some("str" | "binary" | "ruby/string") => Ok(Value::Text(text.into())),
        Some("ruby/sym" | "ruby/symbol") => Ok(Value::Symbol(text.into())),
        _ => resolve_plain(text),
    }
}

/// Fails if the tag is not allowed. Returns null otherwise.
pub(super) fn check_tag(tag: &Tag) -> Result<Value, String> {
    match tag_name(tag).and_then(|word| word.strip_prefix("ruby/")) {
        None | Some("string" | "sym" | "symbol") => Ok(Value::Null),
        Some(word) => Err(unknown_class(word.rsplit(':').next().unwrap_or(word))),
    }
}

/// Returns the name of a tag. `!!str` and `!str` are equivalent.
fn tag_name(tag: &Tag) -> Option<&str> {
    tag.core_suffix().or_else(|| (tag.handle() == "!").then_some(tag.suffix()))
}

fn unknown_class(name: &str) -> String {
    format!("Tried to load unspecified class: {name}")
}

fn resolve_keyword(text: &str) -> Option<Value> {
    if text.len() > 5 {
        return None;
    }
    match text.to_ascii_lowercase().as_str() {
        "" | "~" | "null" => Some(Value::Null),
        "yes" | "true" | "on" => Some(Value::Bool(true)),
        "no" | "false" | "off" => Some(Value::Bool(false)),
        ".inf" => Some(Value::Number("Infinity".into())),
        "-.inf" => Some(Value::Number("-Infinity".into())),
        ".nan" => Some(Value::Number("NaN".into())),
        _ => None,
    }
}

/// Removes the quotes of a symbol: `:"two words"` is the symbol `two words`.
fn strip_quotes(name: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| name.strip_prefix(quote)?.strip_suffix(quote))
        .filter(|name| !name.is_empty())
        .unwrap_or(name)
}

fn is_date(text: &str) -> bool {
    // A date that does not exist is a text.
    date_parts(text).is_some_and(|(year, month, day)| NaiveDate::from_ymd_opt(year, month, day).is_some())
}

fn date_parts(text: &str) -> Option<(i32, u32, u32)> {
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let digits = |part: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_digit())
    };
    if !digits(year, 4..=4) || !digits(month, 1..=2) || !digits(day, 1..=2) {
        return None;
    }
    Some((year.parse().ok()?, month.parse().ok()?, day.parse().ok()?))
}

fn is_time(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let Some((date, time)) = text.split_once(|c: char| matches!(c, 'T' | 't') || c.is_whitespace()) else {
        return false;
    };
    let mut parts = time.trim_start().splitn(3, ':');
    let is_two_digits = |part: &str| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_digit());
    let (Some(hour), Some(minute), Some(rest)) = (parts.next(), parts.next(), parts.next()) else { return false };
    date_parts(date).is_some()
        && (is_two_digits(hour) || (hour.len() == 1 && hour.as_bytes()[0].is_ascii_digit()))
        && is_two_digits(minute)
        && rest.get(..2).is_some_and(is_two_digits)
        && rest[2..]
            .chars()
            .all(|c| c.is_ascii_digit() || c.is_whitespace() || matches!(c, '.' | ':' | 'Z' | '+' | '-'))
}

fn split_sign(text: &str) -> (&str, &str) {
    if text.starts_with(['-', '+']) { text.split_at(1) } else { ("", text) }
}

/// Recognizes base-60 numbers: `1:30` is ninety. No key needs the value, so the text is returned unchanged.
fn parse_sexagesimal(text: &str) -> Option<String> {
    let (_, digits) = split_sign(text);
    let (first, rest) = digits.split_once(':')?;
    let rest =
        rest.split_once('.').map_or(rest, |(whole, fraction)| if is_number(fraction, "_") { whole } else { "x" });
    let is_sixtieth = |part: &str| {
        matches!(part.len(), 1 | 2) && part.parse::<u8>().is_ok_and(|number| number < 60) && !part.starts_with('+')
    };
    (first.starts_with(|c: char| c.is_ascii_digit()) && is_number(first, "_") && rest.split(':').all(is_sixtieth))
        .then(|| text.to_owned())
}

fn is_number(text: &str, extra_chars: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || extra_chars.contains(c))
}

fn parse_float(text: &str) -> Option<String> {
    let (sign, digits) = split_sign(text);
    let (whole, rest) = digits.split_once('.')?;
    let (fraction, exponent) = match rest.split_once(['e', 'E']) {
        Some((fraction, exponent)) => {
            let digits = exponent.strip_prefix(['-', '+'])?;
            (!digits.is_empty() && is_number(digits, "")).then_some((fraction, exponent))?
        }
        None => (rest, "0"),
    };
    let is_whole = whole.is_empty() || whole.starts_with(|c: char| c.is_ascii_digit()) && is_number(whole, "_,");
    if !is_whole || !is_number(fraction, "") || whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole = whole.replace(['_', ','], "");
    let number: f64 = format!("{sign}{whole}.{fraction}e{exponent}").parse().ok()?;
    Some(format!("{number:?}"))
}

fn parse_integer(text: &str) -> Option<String> {
    let (sign, digits) = split_sign(text);
    let sign = if sign == "-" { "-" } else { "" };
    let (digits, radix) = if let Some(digits) = digits.strip_prefix("0b") {
        (digits.replace('_', ""), 2)
    } else if let Some(digits) = digits.strip_prefix("0x") {
        (digits.replace('_', ""), 16)
    } else if digits.len() > 1 && digits.starts_with('0') {
        (digits.replace('_', ""), 8)
    } else if digits.starts_with(|c: char| c.is_ascii_digit()) {
        (digits.replace(['_', ','], ""), 10)
    } else {
        return None;
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    // A number that exceeds 128 bits keeps its text.
    Some(u128::from_str_radix(&digits, radix).map_or_else(|_| text.to_owned(), |number| format!("{sign}{number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_follow_yaml_1_1() {
        let number = |text: &str| Value::Number(text.into());
        for (text, value) in [
            ("", Value::Null),
            ("~", Value::Null),
            ("Null", Value::Null),
            ("yes", Value::Bool(true)),
            ("ON", Value::Bool(true)),
            ("True", Value::Bool(true)),
            ("no", Value::Bool(false)),
            ("Off", Value::Bool(false)),
            ("false", Value::Bool(false)),
            (":word", Value::Symbol("word".into())),
            (":\"two words\"", Value::Symbol("two words".into())),
            ("10", number("10")),
            ("-1_000", number("-1000")),
            ("+1,000", number("1000")),
            ("0xB", number("11")),
            ("0b11", number("3")),
            ("010", number("8")),
            ("99999999999999999999999999999999999999999", number("99999999999999999999999999999999999999999")),
            ("2.10", number("2.1")),
            ("2.", number("2.0")),
            (".5", number("0.5")),
            ("1.5e+3", number("1500.0")),
            (".inf", number("Infinity")),
            ("-.INF", number("-Infinity")),
            (".nan", number("NaN")),
            ("1:30", number("1:30")),
            ("12:30:45.5", number("12:30:45.5")),
        ] {
            assert_eq!(resolve_plain(text), Ok(value), "{text:?}");
        }
        for text in [
            "y",
            "n",
            "nil",
            "yess",
            "nulls",
            ":",
            "::",
            "a:b",
            "08",
            "0x",
            "0b2",
            "1e3",
            "1.2.3",
            "1.5e3",
            ".",
            "-",
            "+",
            "-.",
            "_1",
            ",1",
            "1:60",
            "1:234",
            "1:+5",
            "8080:80x",
            "2016-02-30",
            "2016-13-01",
            "2016-1",
            "v1.0",
            "é",
            "1 day",
            "2016-01-01 noon",
            "a\nb",
            "1.x",
            "😀",
        ] {
            let resolved = resolve_plain(text).unwrap();
            assert!(matches!(&resolved, Value::Text(same) if &**same == text) || text == "::", "{text:?} {resolved:?}");
        }
    }

    #[test]
    fn dates_are_refused() {
        for text in ["2016-01-01", "2016-1-2"] {
            assert_eq!(resolve_plain(text), Err("Tried to load unspecified class: Date".into()), "{text}");
        }
        for text in ["2016-01-01 10:00:00", "2016-01-01T1:00:00.5Z", "2016-01-01t10:00:00 +02:00"] {
            assert_eq!(resolve_plain(text), Err("Tried to load unspecified class: Time".into()), "{text}");
        }
    }
}
