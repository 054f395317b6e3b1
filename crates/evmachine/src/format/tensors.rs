//! The tensors of a model file, written and read.

use std::borrow::Cow;

use safetensors::tensor::{Dtype, SafeTensors, View};

use super::{FormatError, inconsistent};

/// A tensor to be written.
pub(super) struct Column {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

impl View for Column {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

pub(super) fn f64s(values: &[f64]) -> Column {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Column { dtype: Dtype::F64, shape: vec![values.len()], bytes }
}

pub(super) fn u64s(values: impl Iterator<Item = u64>) -> Column {
    let bytes: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
    Column { dtype: Dtype::U64, shape: vec![bytes.len() / 8], bytes }
}

pub(super) fn f32s(shape: Vec<usize>, values: impl Iterator<Item = f32>) -> Column {
    Column { dtype: Dtype::F32, shape, bytes: values.flat_map(f32::to_le_bytes).collect() }
}

/// The tensors of a file, by name, with the checks that each must pass.
pub(super) struct Tensors<'a>(pub(super) SafeTensors<'a>);

impl Tensors<'_> {
    pub(super) fn bytes(&self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<&[u8], FormatError> {
        let tensor = self.0.tensor(name).map_err(|_| inconsistent(format!("tensor {name:?} is missing")))?;
        if tensor.dtype() != dtype || tensor.shape() != shape {
            let (found, found_shape) = (tensor.dtype(), tensor.shape());
            let detail =
                format!("tensor {name:?} is {found:?} {found_shape:?}, expected {dtype:?} {shape:?}");
            return Err(inconsistent(detail));
        }
        Ok(tensor.data())
    }

    pub(super) fn u64s(&self, name: &str, count: usize) -> Result<Vec<u64>, FormatError> {
        Ok(numbers(self.bytes(name, Dtype::U64, &[count])?, u64::from_le_bytes))
    }

    pub(super) fn counts(&self, name: &str, count: usize) -> Result<Vec<usize>, FormatError> {
        let values = self.u64s(name, count)?.into_iter().map(usize::try_from).collect::<Result<_, _>>();
        values.map_err(|_| inconsistent(format!("tensor {name:?} has a count beyond this machine")))
    }

    pub(super) fn f64s(
        &self,
        name: &str,
        count: usize,
        valid: fn(f64) -> bool,
    ) -> Result<Vec<f64>, FormatError> {
        let values = numbers(self.bytes(name, Dtype::F64, &[count])?, f64::from_le_bytes);
        match values.iter().position(|&value| !(value.is_finite() && valid(value))) {
            Some(at) => Err(inconsistent(format!("{name}[{at}] = {} is not possible", values[at]))),
            None => Ok(values),
        }
    }

    pub(super) fn f32s(
        &self,
        name: &str,
        shape: &[usize],
        valid: fn(f32) -> bool,
    ) -> Result<Vec<f32>, FormatError> {
        let values = numbers(self.bytes(name, Dtype::F32, shape)?, f32::from_le_bytes);
        match values.iter().position(|&value| !(value.is_finite() && valid(value))) {
            Some(at) => Err(inconsistent(format!("{name}[{at}] = {} is not possible", values[at]))),
            None => Ok(values),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.tensor(name).is_ok()
    }

    pub(super) fn length(&self, name: &str) -> Result<usize, FormatError> {
        let tensor = self.0.tensor(name).map_err(|_| inconsistent(format!("tensor {name:?} is missing")))?;
        Ok(tensor.shape().first().copied().unwrap_or(0))
    }
}

fn numbers<const N: usize, T>(bytes: &[u8], read: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|chunk| read(*chunk)).collect()
}
