//! Encryption of secrets at rest, such as CI variables and tokens of hooks (ADR 0023). The database alone does not
//! reveal them.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{Error, Result};

/// The encryption key of the instance, which the operator stores apart from the database.
#[derive(Clone)]
pub struct EncryptionKey([u8; 32]);

impl EncryptionKey {
    pub const fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// Derives a key for another purpose. The derived key reveals nothing about this one.
    pub(crate) fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC accepts keys of any length");
        mac.update(purpose.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey(hidden)")
    }
}

pub(crate) struct Cipher(Option<RandomizedNonceKey>);

/// The first byte of every encrypted value, so that the format can change later.
const VERSION: u8 = 1;

pub(crate) const NO_KEY: &str = "Secrets cannot be stored: an administrator has to set encryption.key";

impl Cipher {
    pub fn new(key: Option<&EncryptionKey>) -> Self {
        // This fails only for keys of the wrong length, and the type guarantees 32 bytes.
        Self(key.and_then(|key| RandomizedNonceKey::new(&AES_256_GCM_SIV, &key.0).ok()))
    }

    /// Returns whether there is a key. Without one nothing can be encrypted or decrypted.
    pub fn has_key(&self) -> bool {
        self.0.is_some()
    }

    fn key(&self) -> Result<&RandomizedNonceKey> {
        self.0.as_ref().ok_or(Error::Forbidden(Some(NO_KEY)))
    }

    /// Encrypts a text. `associated_data` names where the result is stored: copied to another place, it cannot be
    /// decrypted.
    pub fn seal(&self, associated_data: &str, text: &[u8]) -> Result<Vec<u8>> {
        let mut sealed = text.to_vec();
        let nonce = self.key()?.seal_in_place_append_tag(Aad::from(associated_data), &mut sealed);
        let nonce = nonce.map_err(|error| Error::Internal(error.into()))?;
        Ok([&[VERSION], nonce.as_ref().as_slice(), &sealed].concat())
    }

    /// Decrypts a result of [`Self::seal`]. Fails with another key or other associated data.
    pub fn open(&self, associated_data: &str, sealed: &[u8]) -> Result<Vec<u8>> {
        let damaged = || {
            Error::Internal(
                "a stored secret cannot be decrypted: encryption.key is not the key it was encrypted with".into(),
            )
        };
        let (&VERSION, sealed) = sealed.split_first().ok_or_else(damaged)? else { return Err(damaged()) };
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN).ok_or_else(damaged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| damaged())?;
        let mut sealed = sealed.to_vec();
        let text = self.key()?.open_in_place(nonce, Aad::from(associated_data), &mut sealed).map_err(|_| damaged())?;
        Ok(text.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_open_only_with_their_key_and_associated_data() {
        let cipher = Cipher::new(Some(&EncryptionKey::new([7; 32])));
        let sealed = cipher.seal("here", b"secret").unwrap();
        assert_eq!(cipher.open("here", &sealed).unwrap(), b"secret");
        assert_ne!(cipher.seal("here", b"secret").unwrap(), sealed);
        assert!(cipher.open("there", &sealed).is_err());
        assert!(Cipher::new(Some(&EncryptionKey::new([8; 32]))).open("here", &sealed).is_err());
        for index in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[index] ^= 1;
            assert!(cipher.open("here", &damaged).is_err());
        }
        assert!(cipher.open("here", b"").is_err());
        assert!(matches!(Cipher::new(None).seal("here", b"secret"), Err(Error::Forbidden(Some(NO_KEY)))));
    }
}
