//! The tensors of a model file that is read.

use rayon::prelude::*;
use safetensors::tensor::{Dtype, SafeTensors};

use super::{FormatError, inconsistent};

/// Numbers that are worth a thread.
const SHARE: usize = 1 << 16;

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

    pub(super) fn u32s(&self, name: &str) -> Result<Vec<u32>, FormatError> {
        let count = self.length(name)?;
        Ok(numbers(self.bytes(name, Dtype::U32, &[count])?, u32::from_le_bytes))
    }

    pub(super) fn counts(&self, name: &str, count: usize) -> Result<Vec<usize>, FormatError> {
        let values = self.u64s(name, count)?.into_iter().map(usize::try_from).collect::<Result<_, _>>();
        values.map_err(|_| inconsistent(format!("tensor {name:?} has a count beyond this machine")))
    }

    pub(super) fn f64s(
        &self,
        name: &str,
        count: usize,
        valid: impl Fn(f64) -> bool + Sync,
    ) -> Result<Vec<f64>, FormatError> {
        let values = numbers(self.bytes(name, Dtype::F64, &[count])?, f64::from_le_bytes);
        match values
            .par_iter()
            .with_min_len(SHARE)
            .position_first(|&value| !(value.is_finite() && valid(value)))
        {
            Some(at) => Err(inconsistent(format!("{name}[{at}] = {} is not possible", values[at]))),
            None => Ok(values),
        }
    }

    pub(super) fn f32s(
        &self,
        name: &str,
        shape: &[usize],
        valid: impl Fn(f32) -> bool + Sync,
    ) -> Result<Vec<f32>, FormatError> {
        let values = numbers(self.bytes(name, Dtype::F32, shape)?, f32::from_le_bytes);
        match values
            .par_iter()
            .with_min_len(SHARE)
            .position_first(|&value| !(value.is_finite() && valid(value)))
        {
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

fn numbers<const N: usize, T: Send>(bytes: &[u8], read: impl Fn([u8; N]) -> T + Sync) -> Vec<T> {
    bytes.as_chunks::<N>().0.par_iter().with_min_len(SHARE).map(|chunk| read(*chunk)).collect()
}
