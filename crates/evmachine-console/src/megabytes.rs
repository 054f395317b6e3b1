//! Amounts of memory on the command line.

use std::str::FromStr;

/// Bytes, typed as a whole number of megabytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Megabytes {
    /// As many, not megabytes.
    pub bytes: usize,
}

impl FromStr for Megabytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count: u64 = text.parse().map_err(|_| "it is not a whole number of megabytes".to_owned())?;
        let bytes = count.checked_mul(1 << 20).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| "it is more than can be addressed".to_owned())?;
        Ok(Self { bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn megabytes_are_bytes_and_never_wrap_around() {
        let bytes = |text: &str| text.parse::<Megabytes>().map(|megabytes| megabytes.bytes);
        assert_eq!(bytes("3"), Ok(3 << 20));
        // 2^44 megabytes are 2^64 bytes: one more than fits, and 0 if high bits were dropped.
        assert_eq!(bytes("17592186044416"), Err("it is more than can be addressed".to_owned()));
        assert!(bytes("-1").is_err() && bytes("1.5").is_err());
    }
}
