//! The memory that the driver keeps for the process between calls: mapping it anew takes longer than most calls.
#![allow(unsafe_code)]

use std::ptr::null_mut;

use cudarc::driver::sys::{self, CUmemPool_attribute as Attribute, CUmemoryPool};
use cudarc::driver::{CudaContext, DriverError};

pub(crate) struct Pool<'a> {
    context: &'a CudaContext,
}

impl<'a> Pool<'a> {
    pub(crate) fn of(context: &'a CudaContext) -> Self {
        Self { context }
    }

    /// Has memory that was given back kept for the next call.
    pub(crate) fn keep(&self) -> Result<(), DriverError> {
        let Some(pool) = self.handle()? else { return Ok(()) };
        let mut most = u64::MAX;
        // SAFETY: the attribute is a 64-bit number.
        unsafe {
            sys::cuMemPoolSetAttribute(
                pool,
                Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                (&raw mut most).cast(),
            )
            .result()
        }
    }

    /// Bytes that are kept and not in use.
    pub(crate) fn spare(&self) -> Result<usize, DriverError> {
        let Some(pool) = self.handle()? else { return Ok(0) };
        let read = |attribute| {
            let mut bytes = 0u64;
            // SAFETY: the attribute is a 64-bit number.
            unsafe { sys::cuMemPoolGetAttribute(pool, attribute, (&raw mut bytes).cast()).result() }?;
            Ok::<_, DriverError>(bytes)
        };
        let reserved = read(Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        Ok(reserved.saturating_sub(read(Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?) as usize)
    }

    /// Gives what is not in use back to the system.
    pub(crate) fn release(&self) -> Result<(), DriverError> {
        let Some(pool) = self.handle()? else { return Ok(()) };
        self.context.synchronize()?;
        // SAFETY: the pool is that of the device.
        unsafe { sys::cuMemPoolTrimTo(pool, 0).result() }
    }

    /// `None` where the device has no pools.
    fn handle(&self) -> Result<Option<CUmemoryPool>, DriverError> {
        if !self.context.has_async_alloc() {
            return Ok(None);
        }
        let mut pool: CUmemoryPool = null_mut();
        // SAFETY: the device is that of the context.
        unsafe { sys::cuDeviceGetDefaultMemPool(&raw mut pool, self.context.cu_device()).result() }?;
        Ok(Some(pool))
    }
}
