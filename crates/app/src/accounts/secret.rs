//! Random secrets that are issued to clients. Only their digests are stored.

use sha2::{Digest, Sha256};

use crate::App;

pub(crate) fn digest(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}

impl App {
    /// Generates a secret of 160 random bits behind a prefix that shows its kind.
    pub(crate) fn new_secret(&self, prefix: &str) -> String {
        format!("{prefix}{}", hex::encode(self.entropy.bytes::<20>()))
    }
}
