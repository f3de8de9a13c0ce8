//! A seeded random number generator, so that failing runs can be repeated.

/// A splitmix64 generator: the same seed gives the same numbers.
#[derive(Clone, Debug)]
pub struct SeededRng(u64);

impl SeededRng {
    /// Creates a generator. The streams of one seed are independent of each other.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        rng.next_u64();
        rng
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn next_below(&mut self, end: usize) -> usize {
        (self.next_u64() % end as u64) as usize
    }

    pub fn next_between(&mut self, first: usize, last: usize) -> usize {
        first + self.next_below(last - first + 1)
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.next_below(count) == 0
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.next_below(items.len())]
    }

    pub fn hex(&mut self, digits: usize) -> String {
        (0..digits).map(|_| char::from_digit(self.next_below(16) as u32, 16).expect("a digit")).collect()
    }
}
