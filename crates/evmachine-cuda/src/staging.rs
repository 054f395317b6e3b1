//! The way of large arrays to and from the device: through two buffers that the device can reach by itself, one being filled or
//! emptied by all threads while the other is under way.
#![allow(unsafe_code)]

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, PinnedHostSlice, result};
use evmachine_engine::device::Source;
use rayon::prelude::*;

use crate::address::Address;
use crate::error::Failure;

/// Values, or bytes on the way back, that a thread copies at a time.
const SHARE: usize = 1 << 18;

pub(crate) struct Staging {
    buffers: [(PinnedHostSlice<f32>, CudaEvent); 2],
    /// Which of them is next.
    turn: usize,
}

impl Staging {
    /// From so many bytes on it pays: a plain copy waits for whatever is under way.
    pub(crate) const LEAST: usize = 1 << 20;
    /// Values of a buffer.
    pub(crate) const BUFFER: usize = 8 << 20;

    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self, Failure> {
        let buffer = || -> Result<_, Failure> {
            // SAFETY: values are written before they are read.
            let room = unsafe { context.alloc_pinned_with_flags::<f32>(Self::BUFFER, 0) }?;
            Ok((room, context.new_event(None)?))
        };
        Ok(Self { buffers: [buffer()?, buffer()?], turn: 0 })
    }

    /// Writes the vectors, ready for the metric, to the address, which has room for them, on the stream. A vector fits a buffer.
    pub(crate) fn upload(
        &mut self,
        stream: &CudaStream,
        source: &dyn Source,
        dimensions: usize,
        to: Address<f32>,
    ) -> Result<(), Failure> {
        let (height, share) = (Self::BUFFER / dimensions, (SHARE / dimensions).max(1));
        for first in (0..source.count()).step_by(height) {
            let rows = height.min(source.count() - first);
            let (buffer, event) = &mut self.buffers[self.turn];
            self.turn = 1 - self.turn;
            event.synchronize()?;
            let staged = &mut buffer.as_mut_slice()?[..rows * dimensions];
            let parts = staged.par_chunks_mut(share * dimensions).enumerate();
            parts.for_each(|(part, out)| source.write(first + part * share, out));
            let address = to.after(first * dimensions).number();
            // SAFETY: the address has room for all vectors, and the buffer is not written again before the event.
            unsafe { result::memcpy_htod_async(address, staged, stream.cu_stream()) }?;
            event.record(stream)?;
        }
        Ok(())
    }

    /// Reads what lies at the address, as many bytes as `out` has, on the stream.
    ///
    /// # Safety
    ///
    /// So many bytes can be read there.
    pub(crate) unsafe fn download(
        &mut self,
        stream: &CudaStream,
        from: u64,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let mut waiting: Option<(usize, &mut [u8])> = None;
        let mut address = from;
        for part in out.chunks_mut(Self::BUFFER * size_of::<f32>()) {
            let turn = self.turn;
            self.turn = 1 - turn;
            let (buffer, event) = &mut self.buffers[turn];
            event.synchronize()?;
            // SAFETY: the buffer is as long as a part at least, numbers are bytes, and nobody touches it before the event; the bytes
            // are there, as the caller promises.
            unsafe {
                let staged = std::slice::from_raw_parts_mut(buffer.as_mut_ptr()?.cast::<u8>(), part.len());
                result::memcpy_dtoh_async(staged, address, stream.cu_stream())
            }?;
            event.record(stream)?;
            address += part.len() as u64;
            if let Some((turn, part)) = waiting.replace((turn, part)) {
                self.empty(turn, part)?;
            }
        }
        waiting.map_or(Ok(()), |(turn, part)| self.empty(turn, part))
    }

    /// Takes what has come into a buffer.
    fn empty(&self, turn: usize, out: &mut [u8]) -> Result<(), Failure> {
        let (buffer, event) = &self.buffers[turn];
        event.synchronize()?;
        // SAFETY: numbers are bytes, and the buffer is as long as a part at least.
        let staged = unsafe { std::slice::from_raw_parts(buffer.as_ptr()?.cast::<u8>(), out.len()) };
        let parts = out.par_chunks_mut(SHARE).zip(staged.par_chunks(SHARE));
        parts.for_each(|(to, from)| to.copy_from_slice(from));
        Ok(())
    }
}
