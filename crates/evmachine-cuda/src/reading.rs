//! Values that lie in the memory of a device, brought to that of the processor.
#![allow(unsafe_code)]

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaContext, CudaStream, DriverError};
use evmachine_engine::device::DeviceError;

use crate::error::{Failure, OpenError};
use crate::library;
use crate::staging::Staging;

/// Reads the memory of a device. Needs its driver alone.
pub struct Reader {
    name: String,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    idle: Mutex<Vec<Staging>>,
}

impl Reader {
    /// For the device of that number.
    pub fn open(number: usize) -> Result<Self, OpenError> {
        library::find_driver()?;
        let count = library::count();
        if number >= count {
            return Err(OpenError::NoDevice { number, count });
        }
        let refused = |error: DriverError| OpenError::Refused { number, reason: error.to_string() };
        let context = CudaContext::new(number).map_err(refused)?;
        let stream = context.new_stream().map_err(refused)?;
        let name = format!("{} (cuda:{number})", context.name().map_err(refused)?);
        Ok(Self { name, context, stream, idle: Mutex::default() })
    }

    /// The stream that reads, by its handle: whoever writes the values makes it wait for them.
    pub fn stream(&self) -> u64 {
        self.stream.cu_stream() as u64
    }

    /// Reads so many bytes from an address of the device.
    ///
    /// # Safety
    ///
    /// As many bytes as `out` has can be read at the address, and the [`stream`](Self::stream) waits for whoever writes them.
    pub unsafe fn read(&self, address: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let read = idle.map_or_else(|| Staging::new(&self.context), Ok).and_then(|mut staging| {
            // SAFETY: as the caller promises.
            unsafe { staging.download(&self.stream, address, out) }?;
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(staging);
            Ok(())
        });
        read.map_err(|failure: Failure| failure.of(&self.name))
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").field("name", &self.name).finish_non_exhaustive()
    }
}
