//! Keeping and checking passwords: argon2id, a bounded number at a time, off the request threads.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use crate::{App, Error, Result};

/// Each hash takes 19 MiB and a core for some tens of milliseconds.
const AT_ONCE: usize = 4;

/// Checked when there is no such account, so that the answer takes as long as for a wrong password.
static NOBODY: LazyLock<String> = LazyLock::new(|| hash(b"nobody", b"no salt at all!!").expect("a valid salt"));

pub struct Passwords {
    permits: Arc<Semaphore>,
    /// Which password was found to belong to which hash, for clients that send it with every request. A changed
    /// password has another hash.
    proved: moka::sync::Cache<[u8; 32], ()>,
    salt: [u8; 32],
}

const PROVED_FOR: Duration = Duration::from_secs(300);

impl Passwords {
    pub(crate) fn new(salt: [u8; 32]) -> Self {
        let proved = moka::sync::Cache::builder().max_capacity(10_000).time_to_live(PROVED_FOR).build();
        Self { permits: Arc::new(Semaphore::new(AT_ONCE)), proved, salt }
    }

    fn proof(&self, password: &str, hash: &str) -> [u8; 32] {
        let parts = [&self.salt[..], &(password.len() as u64).to_le_bytes(), password.as_bytes(), hash.as_bytes()];
        parts.iter().fold(Sha256::new(), |proof, part| proof.chain_update(part)).finalize().into()
    }

    /// Whether it was found to match a moment ago, which costs nothing.
    pub(crate) fn are_proved(&self, password: &str, hash: Option<&str>) -> bool {
        hash.is_some_and(|hash| self.proved.contains_key(&self.proof(password, hash)))
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

    /// Without a hash nothing matches, at the same cost.
    pub(crate) async fn password_matches(&self, password: &str, hash: Option<String>) -> Result<bool> {
        let proof = hash.as_deref().map(|hash| self.passwords.proof(password, hash));
        let password = password.to_owned();
        let matches = self
            .passwords
            .run(move || {
                let known = hash.is_some();
                let hash = hash.unwrap_or_else(|| NOBODY.clone());
                let matches = PasswordHash::new(&hash)
                    .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
                known && matches
            })
            .await?;
        if let Some(proof) = proof.filter(|_| matches) {
            self.passwords.proved.insert(proof, ());
        }
        Ok(matches)
    }
}

fn hash(password: &[u8], salt: &[u8]) -> std::result::Result<String, argon2::password_hash::Error> {
    let hash: PasswordHash = Argon2::default().hash_password_with_salt(password, salt)?;
    Ok(hash.to_string())
}
