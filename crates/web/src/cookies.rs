//! The cookies of the web interface: the session, a flash message, the theme and the use of keys.
//!
//! Over TLS their names begin with `__Host-`: browsers then accept them only from this host, for all paths, over TLS.

use axum::http::{HeaderMap, HeaderValue, header};
use axum_extra::extract::cookie::{Cookie, CookieJar, SameSite};
use cookie::time::Duration;
use holdfast_domain::InstanceUrls;

/// Names of the cookies, without their prefix.
pub const SESSION: &str = "holdfast";
pub const FLASH: &str = "holdfast-flash";
pub const THEME: &str = "holdfast-theme";
pub const KEYS: &str = "holdfast-keys";

fn name(site: &InstanceUrls, name: &'static str) -> String {
    if site.is_https() { format!("__Host-{name}") } else { name.to_owned() }
}

/// Creates a cookie that scripts cannot read. Without `max_age_seconds` it ends with the browser.
pub fn new(site: &InstanceUrls, cookie: &'static str, value: String, max_age_seconds: Option<i64>) -> Cookie<'static> {
    let mut cookie = Cookie::new(name(site, cookie), value);
    cookie.set_path("/");
    cookie.set_http_only(true);
    cookie.set_secure(site.is_https());
    cookie.set_same_site(SameSite::Lax);
    cookie.set_max_age(max_age_seconds.map(Duration::seconds));
    cookie
}

/// Creates a cookie that makes the browser delete the one with this name.
pub fn removal(site: &InstanceUrls, cookie: &'static str) -> Cookie<'static> {
    new(site, cookie, String::new(), Some(0))
}

/// Returns the value of a cookie of the request.
pub fn read(headers: &HeaderMap, site: &InstanceUrls, cookie: &'static str) -> Option<String> {
    CookieJar::from_headers(headers).get(&name(site, cookie)).map(|cookie| cookie.value().to_owned())
}

/// Adds a cookie to the headers of a response.
pub fn add(headers: &mut HeaderMap, cookie: &Cookie<'_>) {
    if let Ok(value) = HeaderValue::from_str(&cookie.encoded().to_string()) {
        headers.append(header::SET_COOKIE, value);
    }
}

/// Adds a cookie unless the response sets one with the same name.
pub fn add_unless_set(headers: &mut HeaderMap, cookie: &Cookie<'_>) {
    let start = format!("{}=", cookie.name());
    let is_set = headers.get_all(header::SET_COOKIE).iter().any(|value| value.as_bytes().starts_with(start.as_bytes()));
    if !is_set {
        add(headers, cookie);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn cookies_are_bound_to_the_host_over_tls() {
        let site = InstanceUrls::new(&"https://git.example".parse().unwrap(), 22);
        let cookie = new(&site, SESSION, "hfb_x".into(), None).to_string();
        assert_eq!(cookie, "__Host-holdfast=hfb_x; HttpOnly; SameSite=Lax; Secure; Path=/");
        let site = InstanceUrls::new(&"http://localhost:8080".parse().unwrap(), 22);
        let cookie = new(&site, SESSION, "hfb_x".into(), Some(60)).to_string();
        assert_eq!(cookie, "holdfast=hfb_x; HttpOnly; SameSite=Lax; Path=/; Max-Age=60");
    }
}
