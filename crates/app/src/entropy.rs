//! Random numbers, injected so that tests are reproducible.

use std::sync::Mutex;

use rand::rngs::{StdRng, SysRng};
use rand::{Rng, SeedableRng};

pub struct Entropy(Mutex<StdRng>);

impl Entropy {
    /// Creates a cryptographically secure generator, seeded by the operating system.
    pub fn system() -> Self {
        Self(Mutex::new(
            StdRng::try_from_rng(&mut SysRng)
                .expect("the random number generator of the operating system does not fail"),
        ))
    }

    /// Creates a generator for tests, which returns the same bytes in every run.
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.lock().expect("mutex is never poisoned: no code panics while holding it").fill_bytes(&mut bytes);
        bytes
    }

    /// Returns `N` random bytes as hexadecimal digits.
    pub fn hex<const N: usize>(&self) -> String {
        hex::encode(self.bytes::<N>())
    }
}
