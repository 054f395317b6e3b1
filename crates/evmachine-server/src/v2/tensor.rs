//! Tensors, as JSON has them and as bytes.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Numbers in lists of any depth, one after the other.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Flat(pub(crate) Vec<f32>);

impl<'de> Deserialize<'de> for Flat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut flat = Self::default();
        deserializer.deserialize_seq(NestedNumbers(&mut flat.0))?;
        Ok(flat)
    }
}

/// A number, or a list of such parts.
struct NestedNumbers<'a>(&'a mut Vec<f32>);

impl<'de> serde::de::DeserializeSeed<'de> for NestedNumbers<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NestedNumbers<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("numbers, or lists of numbers")
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.0.push(value as f32);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.0.push(value as f32);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.0.push(value as f32);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.push(f32::NAN);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<(), A::Error> {
        while parts.next_element_seed(NestedNumbers(&mut *self.0))?.is_some() {}
        Ok(())
    }
}

/// Little-endian numbers of a datatype of the protocol; what is wrong, where that cannot be.
pub(crate) fn from_bytes(datatype: &str, bytes: &[u8]) -> Result<Vec<f32>, String> {
    macro_rules! read {
        ($type:ty, $to:expr) => {{
            const SIZE: usize = size_of::<$type>();
            let chunks = bytes.chunks_exact(SIZE);
            if !chunks.remainder().is_empty() {
                return Err(format!("{} bytes are no whole number of {datatype}", bytes.len()));
            }
            let numbers = chunks.map(|chunk| {
                let mut number = [0; SIZE];
                number.copy_from_slice(chunk);
                $to(<$type>::from_le_bytes(number))
            });
            Ok(numbers.collect())
        }};
    }
    match datatype {
        "FP16" => read!(half::f16, half::f16::to_f32),
        "FP32" => read!(f32, std::convert::identity),
        "FP64" => read!(f64, |value| value as f32),
        "INT8" => read!(i8, f32::from),
        "INT16" => read!(i16, f32::from),
        "INT32" => read!(i32, |value| value as f32),
        "INT64" => read!(i64, |value| value as f32),
        "UINT8" => read!(u8, f32::from),
        "UINT16" => read!(u16, f32::from),
        "UINT32" => read!(u32, |value| value as f32),
        "UINT64" => read!(u64, |value| value as f32),
        other => Err(format!("{other} is no datatype of numbers")),
    }
}

/// Whether JSON may carry numbers of a datatype.
pub(crate) fn is_numeric(datatype: &str) -> bool {
    from_bytes(datatype, &[]).is_ok()
}

/// An output.
#[derive(Debug, Clone)]
pub(crate) enum Column {
    Text(Vec<String>),
    Truth(Vec<bool>),
    Float(Vec<f32>),
    Integer(Vec<i64>),
}

impl Column {
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text(values) => values.as_slice().into(),
            Self::Truth(values) => values.as_slice().into(),
            Self::Float(values) => values.as_slice().into(),
            Self::Integer(values) => values.as_slice().into(),
        }
    }

    /// Text is each its length as four bytes and then itself.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(values) => values
                .iter()
                .flat_map(|text| (text.len() as u32).to_le_bytes().into_iter().chain(text.bytes()))
                .collect(),
            Self::Truth(values) => values.iter().map(|&value| u8::from(value)).collect(),
            Self::Float(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Integer(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_lists_and_bytes() {
        let flat: Flat = serde_json::from_str("[[1, 2.5], [-3, [4]]]").unwrap();
        assert_eq!(flat.0, [1.0, 2.5, -3.0, 4.0]);
        assert!(serde_json::from_str::<Flat>("[\"1\"]").is_err());
        assert_eq!(from_bytes("FP32", &1.5f32.to_le_bytes()).unwrap(), [1.5]);
        assert_eq!(from_bytes("FP64", &(-2.0f64).to_le_bytes()).unwrap(), [-2.0]);
        assert_eq!(from_bytes("FP16", &[0x00, 0x3e]).unwrap(), [1.5]);
        assert_eq!(from_bytes("INT16", &[0xff, 0xff]).unwrap(), [-1.0]);
        assert!(from_bytes("FP32", &[0; 6]).unwrap_err().contains("6 bytes"));
        assert!(from_bytes("BYTES", &[]).is_err());
    }

    #[test]
    fn text_is_preceded_by_its_length() {
        let column = Column::Text(vec!["ab".to_owned(), String::new()]);
        assert_eq!(column.to_bytes(), [2, 0, 0, 0, b'a', b'b', 0, 0, 0, 0]);
        assert_eq!(Column::Truth(vec![true, false]).to_bytes(), [1, 0]);
    }
}
