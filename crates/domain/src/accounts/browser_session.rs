//! Sessions of browsers: how long they are valid, and what is recorded of the browser.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use chrono::{DateTime, TimeDelta, Utc};

/// The prefix of the secrets of browser sessions, by which users and secret scanners recognize them.
pub const SECRET_PREFIX: &str = "hfb_";

/// How long a session that is not remembered is valid after its last use.
pub const IDLE_TIMEOUT: TimeDelta = TimeDelta::hours(12);

/// Maximum length of the recorded description of a browser.
const MAX_AGENT_CHARS: usize = 100;

/// Returns when a session that is used at `now` ends. A session that is remembered (`remembered_until`) is not
/// extended by its use.
pub fn expiry(remembered_until: Option<DateTime<Utc>>, now: DateTime<Utc>) -> DateTime<Utc> {
    remembered_until.unwrap_or(now + IDLE_TIMEOUT)
}

/// Returns whether the user has entered the password recently enough for actions on credentials: less than `ttl` ago.
pub fn is_confirmed(confirmed_at: DateTime<Utc>, ttl: TimeDelta, now: DateTime<Utc>) -> bool {
    now - confirmed_at < ttl
}

/// Returns the network of an address in the form in which it is recorded: without the last 8 bits of an IPv4 address
/// or the last 80 bits of an IPv6 address. It is enough for users to recognize their own network.
pub fn shorten_address(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("{}/24", Ipv4Addr::from_bits(address.to_bits() >> 8 << 8)),
        IpAddr::V6(address) => format!("{}/48", Ipv6Addr::from_bits(address.to_bits() >> 80 << 80)),
    }
}

/// Words of the header `User-Agent`, and the browser that each means. The first one that occurs decides, because
/// browsers also send the words of those that they are compatible with.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// Words of the header `User-Agent`, and the operating system that each means. The first one that occurs decides.
const SYSTEMS: [(&str, &str); 7] = [
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// Returns the browser and the operating system that the header `User-Agent` names, such as "Firefox on Linux". Of an
/// unknown browser, returns the beginning of the header without control characters.
pub fn describe_agent(header: &str) -> String {
    let find =
        |words: &[(&str, &'static str)]| words.iter().find(|(word, _)| header.contains(word)).map(|(_, name)| *name);
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, _) => header.chars().filter(|it| !it.is_control()).take(MAX_AGENT_CHARS).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_twelve_hours_after_its_last_use_unless_it_is_remembered() {
        let now = DateTime::UNIX_EPOCH;
        assert_eq!(expiry(None, now), now + TimeDelta::hours(12));
        let until = now + TimeDelta::days(30);
        assert_eq!(expiry(Some(until), now + TimeDelta::days(29)), until);
    }

    #[test]
    fn a_confirmation_lasts_for_its_time_to_live() {
        let (now, ttl) = (DateTime::UNIX_EPOCH, TimeDelta::minutes(15));
        assert!(is_confirmed(now, ttl, now + TimeDelta::minutes(14)));
        assert!(!is_confirmed(now, ttl, now + TimeDelta::minutes(15)));
    }

    #[test]
    fn addresses_are_recorded_without_the_part_of_the_host() {
        assert_eq!(shorten_address("192.0.2.130".parse().unwrap()), "192.0.2.0/24");
        assert_eq!(shorten_address("::ffff:192.0.2.130".parse().unwrap()), "192.0.2.0/24");
        assert_eq!(shorten_address("2001:db8:1:2:3:4:5:6".parse().unwrap()), "2001:db8:1::/48");
    }

    #[test]
    fn browsers_are_described_by_name_and_system() {
        let describe = |rest: &str| describe_agent(&format!("Mozilla/5.0 {rest}"));
        assert_eq!(describe("(X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"), "Firefox on Linux");
        let edge = "(Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36 Edg/156.0";
        assert_eq!(describe(edge), "Edge on Windows");
        let chrome = "(Linux; Android 10; K) AppleWebKit/537.36 Chrome/156.0 Mobile Safari/537.36";
        assert_eq!(describe(chrome), "Chrome on Android");
        let safari = "(iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Safari/604.1";
        assert_eq!(describe(safari), "Safari on iOS");
        assert_eq!(describe_agent("curl/8.0\r\n"), "curl/8.0");
        assert_eq!(describe_agent(&"x".repeat(500)).len(), 100);
    }
}
