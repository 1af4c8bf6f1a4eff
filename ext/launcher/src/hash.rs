//! Computes the two checksums of our formats. Names of stores, slots and the log's records depend on them: never change one.

/// 64-bit FNV-1a.
pub fn fnv1a64(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// CRC-32 (IEEE, reflected, as in zlib).
pub fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0u32, |crc, byte| {
        let index = (crc ^ u32::from(*byte)) & 0xff;
        // index < 256, the table's length: the default is never taken.
        (crc >> 8) ^ TABLE.get(index as usize).copied().unwrap_or(0)
    })
}

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0u32; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        #[allow(clippy::indexing_slicing)] // evaluated by the compiler, which would stop at an error
        {
            table[index] = crc;
        }
        index += 1;
    }
    table
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Lower-case hexadecimal digits of `bytes`.
pub fn hex<const IN: usize, const OUT: usize>(bytes: [u8; IN]) -> [u8; OUT] {
    let mut out = [b'0'; OUT];
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    out.iter_mut().zip(digits).for_each(|(to, digit)| *to = HEX.get(usize::from(digit)).copied().unwrap_or(b'0'));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksums_give_their_published_check_values() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        assert_eq!(fnv1a64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a64(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn hex_keeps_leading_zeros() {
        assert_eq!(&hex::<4, 8>(0x00ab_cdefu32.to_be_bytes()), b"00abcdef");
    }
}
