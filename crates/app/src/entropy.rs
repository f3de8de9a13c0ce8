//! Randomness, injected.

use std::sync::Mutex;

use rand::rngs::{StdRng, SysRng};
use rand::{Rng, SeedableRng};

pub struct Entropy(Mutex<StdRng>);

impl Entropy {
    /// A cryptographically secure generator, seeded by the operating system.
    pub fn system() -> Self {
        Self(Mutex::new(StdRng::try_from_rng(&mut SysRng).expect("the operating system has randomness")))
    }

    /// For tests: the same bytes in every run.
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.lock().expect("nothing panics while holding it").fill_bytes(&mut bytes);
        bytes
    }

    /// So many random bytes as hexadecimal digits.
    pub fn hex<const N: usize>(&self) -> String {
        hex::encode(self.bytes::<N>())
    }
}
