//! Password hashing and verification with argon2id, on blocking threads and with a bounded concurrency.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use crate::{App, Error, Result};

/// Maximum number of hashes that are computed at once. Each takes 19 MiB and a core for some tens of milliseconds.
const MAX_CONCURRENT_HASHES: usize = 4;

/// Verified if there is no such account, so that the response takes as long as for a wrong password.
static DUMMY_HASH: LazyLock<String> =
    LazyLock::new(|| hash(b"nobody", b"no salt at all!!").expect("the constant salt is valid"));

pub struct Passwords {
    permits: Arc<Semaphore>,
    /// Recently verified pairs of password and hash, for clients that send the password with every request. A changed
    /// password has another hash, so its old entry is never found.
    verified: moka::sync::Cache<[u8; 32], ()>,
    salt: [u8; 32],
}

const VERIFIED_TTL: Duration = Duration::from_secs(300);

impl Passwords {
    pub(crate) fn new(salt: [u8; 32]) -> Self {
        let verified = moka::sync::Cache::builder().max_capacity(10_000).time_to_live(VERIFIED_TTL).build();
        Self { permits: Arc::new(Semaphore::new(MAX_CONCURRENT_HASHES)), verified, salt }
    }

    fn verification_key(&self, password: &str, hash: &str) -> [u8; 32] {
        let parts = [&self.salt[..], &(password.len() as u64).to_le_bytes(), password.as_bytes(), hash.as_bytes()];
        parts.iter().fold(Sha256::new(), |hasher, part| hasher.chain_update(part)).finalize().into()
    }

    /// Returns whether the password matched this hash recently. Computes no argon2 hash.
    pub(crate) fn is_recently_verified(&self, password: &str, hash: Option<&str>) -> bool {
        hash.is_some_and(|hash| self.verified.contains_key(&self.verification_key(password, hash)))
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let permit = self.permits.clone().acquire_owned().await.map_err(|closed| Error::Internal(closed.into()))?;
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        })
        .await
        .map_err(|panicked| Error::Internal(panicked.into()))
    }
}

impl App {
    pub(crate) async fn hash_password(&self, password: &str) -> Result<String> {
        let password = password.to_owned();
        let salt: [u8; 16] = self.entropy.bytes();
        let hashed = self.passwords.run(move || hash(password.as_bytes(), &salt)).await?;
        hashed.map_err(|error| Error::Internal(error.into()))
    }

    /// Verifies a password. Without a hash the result is false, after the same time.
    pub(crate) async fn password_matches(&self, password: &str, hash: Option<String>) -> Result<bool> {
        let key = hash.as_deref().map(|hash| self.passwords.verification_key(password, hash));
        let password = password.to_owned();
        let matches = self
            .passwords
            .run(move || {
                let has_hash = hash.is_some();
                let hash = hash.unwrap_or_else(|| DUMMY_HASH.clone());
                let matches = PasswordHash::new(&hash)
                    .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
                has_hash && matches
            })
            .await?;
        if let Some(key) = key.filter(|_| matches) {
            self.passwords.verified.insert(key, ());
        }
        Ok(matches)
    }
}

fn hash(password: &[u8], salt: &[u8]) -> std::result::Result<String, argon2::password_hash::Error> {
    let hash: PasswordHash = Argon2::default().hash_password_with_salt(password, salt)?;
    Ok(hash.to_string())
}
