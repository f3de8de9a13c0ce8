//! Secrets that are given out: made at random, and kept only as digests.

use holdfast_domain::accounts::TokenKind;
use sha2::{Digest, Sha256};

use crate::App;

pub(crate) fn digest(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}

impl App {
    /// 160 random bits behind a prefix that says what it is.
    pub(crate) fn new_secret(&self, kind: TokenKind) -> String {
        format!("{}{}", kind.prefix(), hex::encode(self.entropy.bytes::<20>()))
    }
}
