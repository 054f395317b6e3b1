//! The libraries of the device, looked for at run time.

use cudarc::driver::CudaContext;
use cudarc::{cublas, driver, nvrtc};

use crate::error::OpenError;

pub(crate) fn find_driver() -> Result<(), OpenError> {
    if !is_there(driver::sys::is_culib_present) {
        let remedy = "install the driver of the device, or use the processor (device cpu)";
        return Err(OpenError::NoLibrary { library: "the CUDA driver (libcuda)", remedy });
    }
    Ok(())
}

/// Fails for the first library that is missing.
pub(crate) fn find() -> Result<(), OpenError> {
    find_driver()?;
    let remedy = "install the CUDA toolkit, or the Python packages nvidia-cublas and nvidia-cuda-nvrtc with their folders in \
                  LD_LIBRARY_PATH; or use the processor (device cpu)";
    if !is_there(cublas::sys::is_culib_present) {
        return Err(OpenError::NoLibrary { library: "cuBLAS (libcublas)", remedy });
    }
    if !is_there(nvrtc::sys::is_culib_present) {
        return Err(OpenError::NoLibrary { library: "NVRTC (libnvrtc)", remedy });
    }
    Ok(())
}

pub(crate) fn count() -> usize {
    if !is_there(driver::sys::is_culib_present) {
        return 0;
    }
    CudaContext::device_count().map_or(0, |count| usize::try_from(count).unwrap_or(0))
}

#[allow(unsafe_code)]
fn is_there(present: unsafe fn() -> bool) -> bool {
    // SAFETY: it opens a library of that name, whose initialisers are those of the vendor.
    unsafe { present() }
}
