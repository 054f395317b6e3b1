//! Tensors that others hold, by `DLPack`: on a device or in memory, in any layout.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use evmachine_cuda::Reader;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::{failure, threads};

/// The name of a capsule that nobody has taken.
const NAME: &CStr = c"dltensor";
/// Numbers of devices: memory of the processor, that of CUDA, that which CUDA has pinned, that which CUDA moves.
const PROCESSOR: [i32; 2] = [1, 3];
const CUDA: [i32; 2] = [2, 13];

/// `DLTensor` of `DLPack`, the first member of what a capsule holds.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_number: i32,
    dimensions: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// Bytes, shape, strides and offset in bytes, code and bits of a number.
type ReadTensor<'py> = (Bound<'py, PyArray1<u8>>, Vec<i64>, Vec<i64>, i64, u8, u8);

/// By process and number.
type Readers = Vec<((u32, usize), Arc<Reader>)>;

static READERS: Mutex<Readers> = Mutex::new(Vec::new());

/// The reader of a device, opened once for a process.
fn reader(number: usize) -> PyResult<Arc<Reader>> {
    let key = (std::process::id(), number);
    let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, reader)) = readers.iter().find(|(other, _)| *other == key) {
        return Ok(reader.clone());
    }
    let reader = Arc::new(Reader::open(number).map_err(|error| PyRuntimeError::new_err(error.to_string()))?);
    readers.push((key, reader.clone()));
    Ok(reader)
}

/// The stream that reads from a device, which a tensor is made ready for.
#[pyfunction]
pub(crate) fn reading_stream(py: Python<'_>, number: usize) -> PyResult<u64> {
    Ok(py.detach(|| reader(number))?.stream())
}

/// Copies what a capsule of `DLPack` holds, from the first byte of it to the last, whatever lies in between.
#[pyfunction]
pub(crate) fn read_tensor<'py>(
    py: Python<'py>,
    capsule: &Bound<'py, PyCapsule>,
) -> PyResult<ReadTensor<'py>> {
    // SAFETY: a capsule of that name holds such a tensor, which lives as long as the capsule, and its owner takes it back.
    let tensor = unsafe {
        let pointer = ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr());
        if pointer.is_null() {
            return Err(PyErr::fetch(py));
        }
        &*pointer.cast::<Tensor>()
    };
    let count = usize::try_from(tensor.dimensions).unwrap_or(0);
    let list = |values: *const i64| -> Vec<i64> {
        if values.is_null() || count == 0 {
            return Vec::new();
        }
        // SAFETY: shape and strides have a value for each dimension.
        unsafe { std::slice::from_raw_parts(values, count) }.to_vec()
    };
    let shape = list(tensor.shape);
    if tensor.lanes != 1 || tensor.bits % 8 != 0 || shape.len() != count {
        return Err(failure::value("a tensor of something else than numbers"));
    }
    let size = i64::from(tensor.bits / 8);
    let strides: Vec<i64> = match list(tensor.strides) {
        given if given.len() == count => given.into_iter().map(|stride| stride * size).collect(),
        _ => {
            let mut strides = vec![size; count];
            for at in (1..count).rev() {
                strides[at - 1] = strides[at] * shape[at];
            }
            strides
        }
    };
    let (mut before, mut behind) = (0, size);
    if shape.contains(&0) {
        behind = 0;
    } else {
        for (length, stride) in shape.iter().zip(&strides) {
            let reach = (length - 1) * stride;
            if reach < 0 { before -= reach } else { behind += reach }
        }
    }
    let length = usize::try_from(before + behind).map_err(failure::value)?;
    let start = (tensor.data as u64).wrapping_add(tensor.byte_offset).wrapping_sub(before as u64);
    let bytes = copied(py, tensor, start, length)?;
    Ok((bytes.into_pyarray(py), shape, strides, before, tensor.code, tensor.bits))
}

/// So many bytes from an address of the memory that the tensor lies in.
fn copied(py: Python<'_>, tensor: &Tensor, start: u64, length: usize) -> PyResult<Vec<u8>> {
    let mut bytes = vec![0; length];
    if length == 0 {
        return Ok(bytes);
    }
    if PROCESSOR.contains(&tensor.device_type) {
        // SAFETY: the tensor reaches from there so far.
        unsafe { std::ptr::copy_nonoverlapping(start as *const u8, bytes.as_mut_ptr(), length) };
        return Ok(bytes);
    }
    if !CUDA.contains(&tensor.device_type) {
        return Err(failure::value(format!(
            "a tensor on a device of kind {} of DLPack; copy it to the memory of the processor first",
            tensor.device_type
        )));
    }
    let number = usize::try_from(tensor.device_number).map_err(failure::value)?;
    let reader = py.detach(|| reader(number))?;
    let pool = threads::pool(0, threads::Use::Calls)?;
    // SAFETY: the tensor reaches from there so far, and its owner has made the stream of the reader wait for it.
    let read = py.detach(|| pool.install(|| unsafe { reader.read(start, &mut bytes) }));
    read.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok(bytes)
}
