//! Pictures that are kept with samples.

use xxhash_rust::xxh3::xxh3_128;

/// Bytes of the largest picture that is kept with a sample.
pub const LARGEST_PICTURE: usize = 256 << 10;

/// A small picture, as it will be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Such as `image/png`.
    pub media_type: String,
    /// The file.
    pub bytes: Vec<u8>,
}

impl Picture {
    /// The media type that the first bytes of a file tell, of those that a browser shows and that hold no script.
    ///
    /// ```
    /// use evmachine_openworld::Picture;
    ///
    /// assert_eq!(Picture::kind_of(b"GIF89a..."), Some("image/gif"));
    /// assert_eq!(Picture::kind_of(b"<svg onload='...'"), None);
    /// ```
    pub fn kind_of(bytes: &[u8]) -> Option<&'static str> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
            [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
            _ => None,
        }
    }

    /// XXH3 of the file, in 32 hexadecimal digits.
    pub fn hash(&self) -> String {
        hash(&self.bytes)
    }
}

pub(crate) fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_their_first_bytes() {
        assert_eq!(Picture::kind_of(b"\x89PNG\r\n\x1a\nxx"), Some("image/png"));
        assert_eq!(Picture::kind_of(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(Picture::kind_of(b"RIFF\x01\x02\x03\x04WEBPVP8 "), Some("image/webp"));
        for bytes in [&b""[..], b"GIF", b"RIFF\x01\x02\x03\x04WAVE", b"%PDF", b"<html>"] {
            assert_eq!(Picture::kind_of(bytes), None);
        }
    }
}
