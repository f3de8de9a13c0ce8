//! The section `[database]`.

use std::net::IpAddr;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    pub(super) url: SecretString,
    pub(super) direct_url: SecretString,
    pub max_connections: u32,
    pub(super) acquire_timeout_seconds: u64,
    pub(super) statement_timeout_seconds: u64,
}

impl Database {
    /// Returns the URL that reaches PostgreSQL without a connection pooler.
    pub(super) fn direct_url(&self) -> &str {
        match self.direct_url.expose_secret() {
            "" => self.url.expose_secret(),
            direct => direct,
        }
    }

    /// Returns whether the database is on another machine.
    pub fn is_remote(&self) -> bool {
        let Ok(url) = Url::parse(self.direct_url()) else { return false };
        let parameter = url.query_pairs().filter(|(key, _)| key == "host" || key == "hostaddr").last();
        let host = parameter.map_or(url.host_str().unwrap_or_default().to_owned(), |(_, host)| host.into_owned());
        // The path of a socket begins with a slash, which is encoded in the host of a URL.
        let is_local = host.is_empty() || host == "localhost" || host.starts_with('/') || host.starts_with("%2F");
        !is_local && !host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Returns whether connections to the database are always encrypted.
    pub fn requires_tls(&self) -> bool {
        let Ok(url) = Url::parse(self.direct_url()) else { return false };
        let mode = url.query_pairs().filter(|(key, _)| key == "sslmode" || key == "ssl-mode").last();
        mode.is_some_and(|(_, mode)| matches!(&*mode, "require" | "verify-ca" | "verify-full"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_databases_without_encryption_are_recognized() {
        for (url, is_remote, requires_tls) in [
            ("postgres://u@db.example.com/d", true, false),
            ("postgres://u@192.0.2.1/d?sslmode=disable", true, false),
            ("postgres://u@192.0.2.1/d?sslmode=verify-full", true, true),
            ("postgres://u@127.0.0.1/d", false, false),
            ("postgres://u@[::1]:5432/d", false, false),
            ("postgres://u@localhost/d?sslmode=require", false, true),
            ("postgres:///holdfast?host=/run/postgresql&user=holdfast", false, false),
        ] {
            let database = Database {
                url: url.into(),
                direct_url: "".into(),
                max_connections: 1,
                acquire_timeout_seconds: 1,
                statement_timeout_seconds: 1,
            };
            let found = (database.is_remote(), database.requires_tls());
            assert_eq!(found, (is_remote, requires_tls), "{url}");
        }
    }
}
