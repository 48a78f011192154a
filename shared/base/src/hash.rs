//! One hash for what is kept on disk or must be the same in every pass: the hashers of `std` may change with the compiler.

/// FNV-1a with 64 bits. Not for secrets.
pub fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(START, step)
}

/// What the hash of nothing is.
const START: u64 = 0xcbf2_9ce4_8422_2325;

fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// The same hash of what comes in pieces.
#[derive(Debug, Clone, Copy)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(START)
    }
}

impl Fnv {
    /// A hash of nothing yet.
    pub fn new() -> Fnv {
        Fnv::default()
    }

    /// Takes in more bytes; where one piece ends does not matter.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| step(hash, *byte));
    }

    /// Takes in a part with its length before it, so that no two lists of parts are taken for one another.
    pub fn part(&mut self, bytes: &[u8]) {
        self.add(&bytes.len().to_le_bytes());
        self.add(bytes);
    }

    /// The hash of all bytes so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

/// What derives `Hash` can be taken in, too.
impl std::hash::Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        self.add(bytes);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_values() {
        // From the reference vectors of the FNV draft (Fowler, Noll, Vo).
        assert_eq!(super::fnv([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::fnv(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(super::fnv(*b"foobar"), 0x8594_4171_f739_67e8);
        let mut pieces = super::Fnv::new();
        pieces.add(b"foo");
        pieces.add(b"bar");
        assert_eq!(pieces.value(), super::fnv(*b"foobar"));
    }

    #[test]
    fn parts_have_ends() {
        let of = |parts: &[&[u8]]| {
            let mut hash = super::Fnv::new();
            parts.iter().for_each(|p| hash.part(p));
            hash.value()
        };
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
        assert_ne!(of(&[b""]), of(&[]));
    }
}
