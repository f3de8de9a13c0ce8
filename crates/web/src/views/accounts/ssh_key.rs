//! The own SSH keys.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::accounts::ssh_key::SshKey;
use holdfast_domain::Violations;
use holdfast_domain::accounts::{PublicKey, ssh_key};
use holdfast_domain::page::Page;

use crate::layout::Layout;
use crate::views::Pages;
use crate::views::form::{self, FormError, FormField};
use crate::words::Time;

#[derive(Template)]
#[template(path = "accounts/keys.html")]
pub struct KeysPage {
    pub layout: Layout,
    pub keys: Vec<KeyRow>,
    pub pages: Pages,
    pub errors: Vec<FormError>,
    pub title: FormField,
    pub key: FormField,
}

#[derive(Clone, Debug)]
pub struct KeyRow {
    pub id: i64,
    pub title: String,
    /// The algorithm, such as `ssh-ed25519`.
    pub algorithm: String,
    pub fingerprint: String,
    pub added: Time,
}

impl KeyRow {
    fn new(key: &SshKey, now: DateTime<Utc>) -> Self {
        let parsed = PublicKey::parse(&key.key);
        Self {
            id: key.id.get(),
            title: key.title.clone(),
            algorithm: key.key.split(' ').next().unwrap_or_default().to_owned(),
            fingerprint: parsed.map_or_else(|_| "unknown".to_owned(), |key| key.fingerprint().to_owned()),
            added: Time::ago(key.created_at, now),
        }
    }
}

/// The values of the form.
#[derive(Clone, Debug, Default)]
pub struct KeyValues {
    pub title: String,
    pub key: String,
}

/// Builds the list with its form. A private key that was entered is not shown again.
pub fn keys_page(
    mut layout: Layout,
    keys: &Page<SshKey>,
    values: KeyValues,
    violations: &Violations,
    now: DateTime<Utc>,
) -> KeysPage {
    "SSH keys".clone_into(&mut layout.title);
    let entered_key = if ssh_key::is_private_key(&values.key) { String::new() } else { values.key };
    let title = FormField::new("title", "Title", values.title).with_violations(violations);
    let key = FormField::new("key", "Public key", entered_key).with_violations(violations);
    KeysPage {
        layout,
        keys: keys.items.iter().map(|key| KeyRow::new(key, now)).collect(),
        pages: Pages::new(keys, "/profile/keys", &[]),
        errors: form::errors([&title, &key]),
        title,
        key,
    }
}
