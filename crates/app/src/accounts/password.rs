//! Keeping and checking passwords: argon2id, a bounded number at a time, off the request threads.

use std::sync::{Arc, LazyLock};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

use crate::{App, Error, Result};

/// Each hash takes 19 MiB and a core for some tens of milliseconds.
const AT_ONCE: usize = 4;

/// Checked when there is no such account, so that the answer takes as long as for a wrong password.
static NOBODY: LazyLock<String> = LazyLock::new(|| hash(b"nobody", b"no salt at all!!").expect("a valid salt"));

pub struct Passwords {
    permits: Arc<Semaphore>,
}

impl Passwords {
    pub(crate) fn new() -> Self {
        Self { permits: Arc::new(Semaphore::new(AT_ONCE)) }
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
        let password = password.to_owned();
        self.passwords
            .run(move || {
                let known = hash.is_some();
                let hash = hash.unwrap_or_else(|| NOBODY.clone());
                let matches = PasswordHash::new(&hash)
                    .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
                known && matches
            })
            .await
    }
}

fn hash(password: &[u8], salt: &[u8]) -> std::result::Result<String, argon2::password_hash::Error> {
    let hash: PasswordHash = Argon2::default().hash_password_with_salt(password, salt)?;
    Ok(hash.to_string())
}
