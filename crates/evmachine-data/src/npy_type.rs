//! The element types of `NumPy` arrays.

use evmachine::labels;
use half::f16;

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberKind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// Text of fixed width, four bytes a character, padded by zeros.
    Unicode,
    /// Text of fixed width, one byte a character, padded by zeros.
    Bytes,
}

/// An element type: what it is, how wide, and in which byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementType {
    pub(crate) kind: NumberKind,
    /// Bytes per element.
    pub(crate) size: usize,
    big_endian: bool,
}

impl ElementType {
    /// Reads a description such as `<f4`; `None` for types that are neither numbers nor text.
    pub(crate) fn parse(description: &str) -> Option<Self> {
        let mut characters = description.chars();
        let big_endian = match characters.next()? {
            '>' => true,
            '<' | '|' => false,
            '=' => cfg!(target_endian = "big"),
            _ => return None,
        };
        let letter = characters.next()?;
        let width: usize = characters.as_str().parse().ok()?;
        let (kind, size) = match (letter, width) {
            ('b' | '?', 1) => (NumberKind::Bool, 1),
            ('i', 1 | 2 | 4 | 8) => (NumberKind::Signed, width),
            ('u', 1 | 2 | 4 | 8) => (NumberKind::Unsigned, width),
            ('f', 2 | 4 | 8) => (NumberKind::Float, width),
            ('U', 1..=0xf_ffff) => (NumberKind::Unicode, width * 4),
            ('S' | 'a', 1..=0xf_ffff) => (NumberKind::Bytes, width),
            _ => return None,
        };
        Some(Self { kind, size, big_endian })
    }

    /// Whether elements are numbers or truth values.
    pub(crate) fn is_numeric(self) -> bool {
        !matches!(self.kind, NumberKind::Unicode | NumberKind::Bytes)
    }

    /// Appends every element in `bytes` as a 32-bit float; those out of its range become infinite.
    pub(crate) fn decode(self, bytes: &[u8], output: &mut Vec<f32>) {
        if self.kind == NumberKind::Float && self.size == 4 {
            let (elements, _) = bytes.as_chunks::<4>();
            if self.big_endian {
                output.extend(elements.iter().map(|&element| f32::from_be_bytes(element)));
            } else {
                output.extend(elements.iter().map(|&element| f32::from_le_bytes(element)));
            }
        } else {
            output.extend(bytes.chunks_exact(self.size).map(|element| self.number(element) as f32));
        }
    }

    /// The element in `bytes` as a double; NaN for text.
    pub(crate) fn number(self, bytes: &[u8]) -> f64 {
        match self.kind {
            NumberKind::Bool => f64::from(u8::from(bytes[0] != 0)),
            NumberKind::Signed => self.signed(bytes) as f64,
            NumberKind::Unsigned => self.bits(bytes) as f64,
            NumberKind::Float => self.float(bytes),
            NumberKind::Unicode | NumberKind::Bytes => f64::NAN,
        }
    }

    /// The element in `bytes` as a label: empty when there is none, `None` when it is not valid text.
    pub(crate) fn text(self, bytes: &[u8]) -> Option<String> {
        match self.kind {
            NumberKind::Bool => Some(labels::from_boolean(bytes[0] != 0)),
            NumberKind::Signed => Some(self.signed(bytes).to_string()),
            NumberKind::Unsigned => Some(self.bits(bytes).to_string()),
            NumberKind::Float if self.size <= 4 => Some(labels::from_single(self.float(bytes) as f32)),
            NumberKind::Float => Some(labels::from_double(self.float(bytes))),
            NumberKind::Unicode => {
                let (characters, _) = bytes.as_chunks::<4>();
                let codes = characters.iter().map(|character| self.bits(character) as u32);
                codes.take_while(|&code| code != 0).map(char::from_u32).collect()
            }
            NumberKind::Bytes => {
                let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
                std::str::from_utf8(&bytes[..end]).ok().map(str::to_owned)
            }
        }
    }

    /// The bytes of an element as an unsigned integer.
    fn bits(self, bytes: &[u8]) -> u64 {
        let append = |bits: u64, &byte: &u8| bits << 8 | u64::from(byte);
        if self.big_endian { bytes.iter().fold(0, append) } else { bytes.iter().rev().fold(0, append) }
    }

    fn signed(self, bytes: &[u8]) -> i64 {
        let unused = 64 - 8 * self.size as u32;
        (self.bits(bytes) << unused).cast_signed() >> unused
    }

    fn float(self, bytes: &[u8]) -> f64 {
        let bits = self.bits(bytes);
        match self.size {
            2 => f16::from_bits(bits as u16).to_f64(),
            4 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use super::ElementType;

    fn element(description: &str) -> ElementType {
        ElementType::parse(description).unwrap()
    }

    #[test]
    fn numbers_of_both_byte_orders() {
        assert_eq!(element("<i2").number(&[0xfe, 0xff]), -2.0);
        assert_eq!(element(">i2").number(&[0xff, 0xfe]), -2.0);
        assert_eq!(element(">u4").number(&[0, 0, 1, 0]), 256.0);
        assert_eq!(element("|i1").number(&[0x80]), -128.0);
        assert_eq!(element(">f8").number(&1.5f64.to_be_bytes()), 1.5);
        assert_eq!(element("<f2").number(&f16_bytes(0.5)), 0.5);
    }

    fn f16_bytes(value: f32) -> [u8; 2] {
        half::f16::from_f32(value).to_le_bytes()
    }

    #[test]
    fn integers_keep_all_digits_as_labels() {
        assert_eq!(element("<i8").text(&i64::MIN.to_le_bytes()).unwrap(), i64::MIN.to_string());
        assert_eq!(element(">u8").text(&u64::MAX.to_be_bytes()).unwrap(), u64::MAX.to_string());
        assert_eq!(element("<f8").text(&3.0f64.to_le_bytes()).unwrap(), "3");
    }

    #[test]
    fn other_types_are_refused() {
        for description in ["|O", "<c8", "<M8[ns]", "f4", "<f16", "<U0", ""] {
            assert_eq!(ElementType::parse(description), None, "{description}");
        }
    }
}
