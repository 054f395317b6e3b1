//! The way of large arrays to the device: through two buffers that the device can read by itself, one being filled by all threads
//! while the other is under way.
#![allow(unsafe_code)]

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, PinnedHostSlice, result};
use rayon::prelude::*;

use crate::error::Failure;

/// Bytes of a buffer.
const BUFFER: usize = 32 << 20;
/// Bytes that a thread copies at a time.
const SHARE: usize = 1 << 20;

pub(crate) struct Staging {
    buffers: [(PinnedHostSlice<u8>, CudaEvent); 2],
}

impl Staging {
    /// From so many bytes on it is faster than a plain copy.
    pub(crate) const LEAST: usize = 8 << 20;

    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self, Failure> {
        let buffer = || -> Result<_, Failure> {
            // SAFETY: bytes are written before they are read.
            Ok((unsafe { context.alloc_pinned_with_flags::<u8>(BUFFER, 0) }?, context.new_event(None)?))
        };
        Ok(Self { buffers: [buffer()?, buffer()?] })
    }

    /// Copies the bytes to the address, which has room for them, on the stream.
    pub(crate) fn upload(&mut self, stream: &CudaStream, bytes: &[u8], to: u64) -> Result<(), Failure> {
        for (number, part) in bytes.chunks(BUFFER).enumerate() {
            let (buffer, event) = &mut self.buffers[number % 2];
            event.synchronize()?;
            let staged = &mut buffer.as_mut_slice()?[..part.len()];
            staged
                .par_chunks_mut(SHARE)
                .zip(part.par_chunks(SHARE))
                .for_each(|(to, from)| to.copy_from_slice(from));
            // SAFETY: the address has room for all bytes, and the buffer is not written again before the event.
            unsafe { result::memcpy_htod_async(to + (number * BUFFER) as u64, staged, stream.cu_stream()) }?;
            event.record(stream)?;
        }
        for (_, event) in &self.buffers {
            event.synchronize()?;
        }
        Ok(())
    }
}
