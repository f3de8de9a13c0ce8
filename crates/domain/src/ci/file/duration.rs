//! Parses durations in natural notation: `3 weeks and 2 days`, `1h30m`, `1:20`.

const MINUTE: f64 = 60.0;
const HOUR: f64 = 60.0 * MINUTE;
const DAY: f64 = 24.0 * HOUR;
const MONTH: f64 = 30.0 * DAY;
const YEAR: f64 = 365.25 * DAY;
/// Upper bound of a duration, below the maximum of `i64`.
const MAX_SECONDS: f64 = 9.2e18;

#[derive(Clone, Copy)]
enum Token {
    Number(f64),
    /// A unit, in seconds.
    Unit(f64),
}

/// Returns a duration in whole seconds. A number without a unit is in seconds. Returns None if the text is not a
/// duration, or if the duration is zero or too large.
pub fn parse_seconds(text: &str) -> Option<i64> {
    let mut tokens = tokenize(&expand_clock(&text.to_lowercase())?)?;
    if let Some(Token::Unit(_)) = tokens.first() {
        tokens.insert(0, Token::Number(1.0));
    }
    let mut sum = 0.0;
    for (index, token) in tokens.iter().enumerate() {
        sum += match (token, tokens.get(index + 1)) {
            (Token::Number(number), Some(Token::Unit(unit))) => number * unit,
            (Token::Number(number), None) => *number,
            // A number before another number is ignored. A unit is counted together with its number.
            (Token::Number(_), Some(Token::Number(_))) | (Token::Unit(_), _) => 0.0,
        };
    }
    (sum > 0.0 && sum < MAX_SECONDS).then_some(sum as i64)
}

/// Writes out the units of a clock notation such as `1:20`, and returns other texts unchanged. Returns None if the
/// notation has too many parts.
fn expand_clock(text: &str) -> Option<String> {
    let dense: String = text.split_whitespace().collect();
    let bytes = dense.as_bytes();
    let is_clock = bytes
        .windows(3)
        .any(|three| three[1] == b':' && three[0].is_ascii_digit() && (three[2].is_ascii_digit() || three[2] == b'.'));
    if !is_clock {
        return Some(text.to_owned());
    }
    let mut units = ["seconds", "minutes", "hours", "days", "months", "years"].into_iter();
    let mut parts = Vec::new();
    for number in dense.rsplit(':') {
        parts.push(format!("{number} {}", units.next()?));
    }
    parts.reverse();
    Some(parts.join(" "))
}

fn tokenize(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let number = number_length(rest);
        let length = if number > 0 {
            tokens.push(Token::Number(rest[..number].parse().ok()?));
            number
        } else {
            let end = rest
                .char_indices()
                .find(|(place, c)| c.is_whitespace() || number_length(&rest[*place..]) > 0)
                .map_or(rest.len(), |(place, _)| place);
            add_word(&rest[..end], &mut tokens)?;
            end
        };
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

/// Returns the length of the number that the text begins with: `12`, `1.5`, `.5`. Returns 0 if there is none.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    match text[whole..].strip_prefix('.').map_or(0, digits) {
        0 => whole,
        fraction => whole + 1 + fraction,
    }
}

fn add_word(word: &str, tokens: &mut Vec<Token>) -> Option<()> {
    let word = word.strip_prefix(',').unwrap_or(word);
    let word = word.strip_suffix(',').unwrap_or(word);
    if let Some(unit) = unit_seconds(word) {
        tokens.push(Token::Unit(unit));
    } else if let Some(number) = word.split('-').map(parse_number_word).sum::<Option<f64>>() {
        match tokens.last_mut() {
            // "twenty five" is twenty-five.
            Some(Token::Number(tens)) if *tens >= 20.0 && *tens % 10.0 == 0.0 => *tens += number,
            _ => tokens.push(Token::Number(number)),
        }
    } else if !matches!(word, "and" | "with" | "plus") {
        return None;
    }
    Some(())
}

fn unit_seconds(word: &str) -> Option<f64> {
    Some(match word {
        "seconds" | "second" | "secs" | "sec" | "s" => 1.0,
        "minutes" | "minute" | "mins" | "min" | "m" => MINUTE,
        "hours" | "hour" | "hrs" | "hr" | "h" => HOUR,
        "days" | "day" | "dy" | "d" => DAY,
        "weeks" | "week" | "wks" | "wk" | "w" => 7.0 * DAY,
        "months" | "month" | "mos" | "mo" => MONTH,
        "years" | "year" | "yrs" | "yr" | "y" => YEAR,
        _ => return None,
    })
}

fn parse_number_word(word: &str) -> Option<f64> {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let small = SMALL.iter().position(|known| *known == word);
    small.or_else(|| TENS.iter().position(|known| *known == word).map(|place| 10 * (place + 2))).map(|n| n as f64)
}

#[cfg(test)]
mod tests {
    use super::parse_seconds;

    #[test]
    fn durations_are_parsed() {
        for (text, expected) in [
            ("1 day", 86_400),
            ("2 weeks", 1_209_600),
            ("3 mins 4 sec", 184),
            ("2 hrs 20 min", 8_400),
            ("2h20min", 8_400),
            ("6 mos 1 day", 15_638_400),
            ("47 yrs 6 mos and 4d", 1_499_104_800),
            ("3 weeks and 2 days", 1_987_200),
            ("1h30m", 5_400),
            ("1H30M", 5_400),
            ("90", 90),
            (" 90 ", 90),
            ("1.5 days", 129_600),
            (".5 h", 1_800),
            ("12.4 secs", 12),
            ("0.4 secs", 0),
            ("1 day, 2 hours", 93_600),
            ("1 week plus 1 day", 691_200),
            ("1:20", 80),
            ("1:20.51", 80),
            ("4:01:01", 14_461),
            ("1:00:00:00", 86_400),
            ("day", 86_400),
            ("two hours and twenty minutes", 8_400),
            ("four minutes and 30 seconds", 270),
            ("twenty five minutes", 1_500),
            ("twenty-five minutes", 1_500),
            ("1 2 days", 172_800),
            ("1 hour 30", 3_630),
        ] {
            assert_eq!(parse_seconds(text), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn invalid_durations_are_rejected() {
        for text in [
            "",
            " ",
            "0",
            "0 days",
            "and",
            "7 elephants",
            "never",
            "-1 day",
            "1 day , 2 hours",
            "5.",
            "1:2:3:4:5:6:7",
            "999999999999999999999999 years",
            "９ days",
            "1 däy",
            "ß",
            "::",
            "1::2",
            "İ",
        ] {
            assert_eq!(parse_seconds(text), None, "{text:?}");
        }
        assert_eq!(parse_seconds(&"9".repeat(10_000)), None);
    }
}
