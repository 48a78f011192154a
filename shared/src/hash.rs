//! One hash for what is kept on disk or must be the same in every pass: the hashers of `std` may change with the compiler.

/// FNV-1a with 64 bits. Not for secrets.
pub(crate) fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    bytes.into_iter().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_values() {
        // From the reference vectors of the FNV draft (Fowler, Noll, Vo).
        assert_eq!(super::fnv([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::fnv(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(super::fnv(*b"foobar"), 0x8594_4171_f739_67e8);
    }
}
