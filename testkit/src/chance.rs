//! Chance that repeats: the same seed gives the same numbers on every machine.

/// SplitMix64 (Steele, Lea and Flood, 2014): small, fast, and the same in every version.
#[derive(Debug, Clone)]
pub struct Chance(pub u64);

impl Chance {
    /// A number below `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n.max(1)
    }

    /// A number from `from` on and below `to`.
    pub fn between(&mut self, from: i64, to: i64) -> i64 {
        from + i64::try_from(self.below(u64::try_from(to - from).unwrap_or(0))).unwrap_or(0)
    }

    /// Whether something happens that happens `percent` times in a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(usize::try_from(self.below(all.len() as u64)).ok()?)
    }
}
