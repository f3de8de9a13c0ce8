//! Sealing what must be kept and read again, such as a project's secret variables: whoever has the database alone cannot
//! read it.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{Error, Result};

/// What the operator keeps apart from the database.
#[derive(Clone)]
pub struct SealingKey([u8; 32]);

impl SealingKey {
    pub const fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// A key for something else than sealing. Nothing can be told from it about this one.
    pub(crate) fn derived(&self, purpose: &str) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length will do");
        mac.update(purpose.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(hidden)")
    }
}

pub(crate) struct Sealing(Option<RandomizedNonceKey>);

/// The first byte of all that is sealed: so that another way can be told apart one day.
const VERSION: u8 = 1;

pub(crate) const NO_KEY: &str = "Secrets cannot be kept: the operator has to set secrets.key";

impl Sealing {
    pub fn new(key: Option<&SealingKey>) -> Self {
        // Any 32 bytes are a key.
        Self(key.and_then(|key| RandomizedNonceKey::new(&AES_256_GCM_SIV, &key.0).ok()))
    }

    /// Returns whether there is a key. Without one nothing can be sealed or opened.
    pub fn has_key(&self) -> bool {
        self.0.is_some()
    }

    fn key(&self) -> Result<&RandomizedNonceKey> {
        self.0.as_ref().ok_or(Error::Forbidden(Some(NO_KEY)))
    }

    /// `place` is where it is kept: what is moved elsewhere cannot be opened there.
    pub fn seal(&self, place: &str, text: &[u8]) -> Result<Vec<u8>> {
        let mut sealed = text.to_vec();
        let nonce = self.key()?.seal_in_place_append_tag(Aad::from(place), &mut sealed);
        let nonce = nonce.map_err(|error| Error::Internal(error.into()))?;
        Ok([&[VERSION], nonce.as_ref().as_slice(), &sealed].concat())
    }

    pub fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>> {
        let damaged =
            || Error::Internal("a secret cannot be read: secrets.key is not the one it was sealed with".into());
        let (&VERSION, sealed) = sealed.split_first().ok_or_else(damaged)? else { return Err(damaged()) };
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN).ok_or_else(damaged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| damaged())?;
        let mut sealed = sealed.to_vec();
        let text = self.key()?.open_in_place(nonce, Aad::from(place), &mut sealed).map_err(|_| damaged())?;
        Ok(text.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_opened_where_it_was_sealed_and_nowhere_else() {
        let sealing = Sealing::new(Some(&SealingKey::new([7; 32])));
        let sealed = sealing.seal("here", b"secret").unwrap();
        assert_eq!(sealing.open("here", &sealed).unwrap(), b"secret");
        assert_ne!(sealing.seal("here", b"secret").unwrap(), sealed);
        assert!(sealing.open("there", &sealed).is_err());
        assert!(Sealing::new(Some(&SealingKey::new([8; 32]))).open("here", &sealed).is_err());
        for place in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[place] ^= 1;
            assert!(sealing.open("here", &damaged).is_err());
        }
        assert!(sealing.open("here", b"").is_err());
        assert!(matches!(Sealing::new(None).seal("here", b"secret"), Err(Error::Forbidden(Some(NO_KEY)))));
    }
}
