//! Redacts secrets in texts that other servers send back, before they are stored or shown.

/// The text in place of a secret.
pub(crate) const REDACTED: &str = "[hidden]";
/// Shorter secrets are not redacted: they would occur in ordinary text.
const MIN_SECRET_LENGTH: usize = 4;

/// Replaces secrets in a text.
pub(crate) fn redact(text: &str, secrets: &[String]) -> String {
    let long = secrets.iter().filter(|secret| secret.len() >= MIN_SECRET_LENGTH);
    long.fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), REDACTED))
}
