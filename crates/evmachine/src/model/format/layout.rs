//! The bytes of a model file that is written, made piece by piece: a model may be most of the memory there is, so that none is left for a copy.

use std::collections::HashMap;
use std::io::{self, Write};

use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use xxhash_rust::xxh3::Xxh3;

use super::{CHECKSUM_DIGITS, FormatError, KEY, checksum_position};

/// Bytes that are made at once.
const PIECE: usize = 1 << 16;

/// A tensor, whose bytes are made when they are wanted.
pub(super) struct Column<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    write: Writing<'a>,
}

/// Makes the bytes of a tensor, the same each time.
type Writing<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

impl<'a> Column<'a> {
    fn new<const N: usize, T: 'a>(
        dtype: Dtype,
        shape: Vec<usize>,
        values: impl Iterator<Item = T> + Clone + 'a,
        bytes: fn(T) -> [u8; N],
    ) -> Self {
        let write = move |to: &mut dyn Write| {
            let mut piece = Vec::with_capacity(PIECE);
            for value in values.clone() {
                piece.extend_from_slice(&bytes(value));
                if piece.len() + N > PIECE {
                    to.write_all(&piece)?;
                    piece.clear();
                }
            }
            to.write_all(&piece)
        };
        Self { dtype, shape, write: Box::new(write) }
    }

    fn length(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.bitsize() / 8
    }
}

pub(super) fn f64s<'a>(count: usize, values: impl Iterator<Item = f64> + Clone + 'a) -> Column<'a> {
    Column::new(Dtype::F64, vec![count], values, f64::to_le_bytes)
}

pub(super) fn u64s<'a>(count: usize, values: impl Iterator<Item = u64> + Clone + 'a) -> Column<'a> {
    Column::new(Dtype::U64, vec![count], values, u64::to_le_bytes)
}

pub(super) fn f32s<'a>(shape: Vec<usize>, values: impl Iterator<Item = f32> + Clone + 'a) -> Column<'a> {
    Column::new(Dtype::F32, shape, values, f32::to_le_bytes)
}

/// As [`f32s`], of values that lie in slices, which are copied at the speed of memory.
pub(super) fn f32_slices<'a>(
    shape: Vec<usize>,
    slices: impl Iterator<Item = &'a [f32]> + Clone + 'a,
) -> Column<'a> {
    let write = move |to: &mut dyn Write| {
        let mut piece = vec![[0; 4]; PIECE / 4];
        let mut filled = 0;
        for mut slice in slices.clone() {
            while !slice.is_empty() {
                let (now, later) = slice.split_at(slice.len().min(piece.len() - filled));
                for (bytes, value) in piece[filled..].iter_mut().zip(now) {
                    *bytes = value.to_le_bytes();
                }
                (filled, slice) = (filled + now.len(), later);
                if filled == piece.len() {
                    to.write_all(piece.as_flattened())?;
                    filled = 0;
                }
            }
        }
        to.write_all(piece[..filled].as_flattened())
    };
    Column { dtype: Dtype::F32, shape, write: Box::new(write) }
}

pub(super) fn u32s<'a>(count: usize, values: impl Iterator<Item = u32> + Clone + 'a) -> Column<'a> {
    Column::new(Dtype::U32, vec![count], values, u32::to_le_bytes)
}

pub(super) fn u8s<'a>(count: usize, values: impl Iterator<Item = u8> + Clone + 'a) -> Column<'a> {
    Column::new(Dtype::U8, vec![count], values, |value| [value])
}

/// A file, of which the header alone is there.
pub(super) struct Layout<'a> {
    header: Vec<u8>,
    columns: Vec<Column<'a>>,
}

impl<'a> Layout<'a> {
    /// Lays tensors out by descending alignment, then by name, after the metadata, whose checksum is filled in. Makes all bytes once.
    pub(super) fn new(metadata: String, mut tensors: Vec<(&str, Column<'a>)>) -> Result<Self, FormatError> {
        let container = |error: safetensors::SafeTensorError| FormatError::Container { source: error.into() };
        tensors.sort_by(|(a, left), (b, right)| right.dtype.cmp(&left.dtype).then(a.cmp(b)));
        let mut end = 0;
        let infos = tensors.iter().map(|(name, column)| {
            let start = end;
            end += column.length();
            let (dtype, shape) = (column.dtype, column.shape.clone());
            ((*name).to_owned(), TensorInfo { dtype, shape, data_offsets: (start, end) })
        });
        // One entry: several would be written in no fixed order.
        let entry = HashMap::from([(KEY.to_owned(), metadata)]);
        let infos = Metadata::new(Some(entry), infos.collect()).map_err(container)?;
        let text = serde_json::to_string(&infos).map_err(|error| container(error.into()))?;
        let length = text.len().next_multiple_of(8);
        let mut header = Vec::with_capacity(8 + length);
        header.extend((length as u64).to_le_bytes());
        header.extend(text.into_bytes());
        header.resize(8 + length, b' ');
        let columns = tensors.into_iter().map(|(_, column)| column).collect();
        let mut layout = Self { header, columns };
        let digits = checksum_position(&layout.header)?;
        let checksum = format!("{:016x}", layout.hash());
        layout.header[digits..digits + CHECKSUM_DIGITS].copy_from_slice(checksum.as_bytes());
        Ok(layout)
    }

    /// Bytes of the file.
    pub(super) fn length(&self) -> usize {
        self.header.len() + self.columns.iter().map(Column::length).sum::<usize>()
    }

    /// XXH3 of all bytes as they are.
    pub(super) fn hash(&self) -> u64 {
        let mut hash = Hash(Xxh3::new());
        // Hashing does not fail.
        let _ = self.write(&mut hash);
        hash.0.digest()
    }

    pub(super) fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(&self.header)?;
        self.columns.iter().try_for_each(|column| (column.write)(to))
    }
}

struct Hash(Xxh3);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use std::borrow::Cow;

    use super::*;

    /// A tensor as the crate that reads it would write it.
    struct Whole(Dtype, Vec<usize>, Vec<u8>);

    impl safetensors::View for Whole {
        fn dtype(&self) -> Dtype {
            self.0
        }
        fn shape(&self) -> &[usize] {
            &self.1
        }
        fn data(&self) -> Cow<'_, [u8]> {
            Cow::Borrowed(&self.2)
        }
        fn data_len(&self) -> usize {
            self.2.len()
        }
    }

    #[test]
    fn it_is_the_file_of_the_crate_that_reads_it() {
        // More than a piece, and pieces that values do not fill.
        let long: Vec<f64> = (0..3 * PIECE / 8 + 5).map(|value| value as f64 / 7.0).collect();
        let short = [1.5f32, -2.0, 0.0, 9.0, 3.0, 1.0];
        let text = r#"{"checksum":"0000000000000000","name":"\u00e9"}"#;
        let tail: Vec<f32> = (0..2 * PIECE / 4 + 3).map(|value| value as f32).collect();
        let columns = vec![
            ("slices", f32_slices(vec![tail.len()], tail.chunks(PIECE / 4 - 1))),
            ("short", f32s(vec![2, 3], short.iter().copied())),
            ("bytes", u8s(3, b"abc".iter().copied())),
            ("nothing", u64s(0, std::iter::empty())),
            ("long", f64s(long.len(), long.iter().copied())),
        ];
        let layout = Layout::new(text.to_owned(), columns).unwrap();
        let mut bytes = Vec::new();
        layout.write(&mut bytes).unwrap();
        assert_eq!(bytes.len(), layout.length());

        let tensors = [
            (
                "slices",
                Whole(Dtype::F32, vec![tail.len()], tail.iter().flat_map(|v| v.to_le_bytes()).collect()),
            ),
            ("short", Whole(Dtype::F32, vec![2, 3], short.iter().flat_map(|v| v.to_le_bytes()).collect())),
            ("bytes", Whole(Dtype::U8, vec![3], b"abc".to_vec())),
            ("nothing", Whole(Dtype::U64, vec![0], Vec::new())),
            (
                "long",
                Whole(Dtype::F64, vec![long.len()], long.iter().flat_map(|v| v.to_le_bytes()).collect()),
            ),
        ];
        let metadata = HashMap::from([(KEY.to_owned(), text.to_owned())]);
        let mut expected = safetensors::serialize(tensors, Some(metadata)).unwrap();
        let digits = checksum_position(&expected).unwrap();
        let checksum = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&expected));
        expected[digits..digits + CHECKSUM_DIGITS].copy_from_slice(checksum.as_bytes());
        assert!(bytes == expected);
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let text = r#"{"checksum":"0000000000000000"}"#.to_owned();
        let layout = Layout::new(text, vec![("one", u8s(1, [1].into_iter()))]).unwrap();
        assert_eq!(layout.write(&mut Full).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
