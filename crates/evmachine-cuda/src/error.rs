//! Why a device cannot be used, or stopped being of use.

use std::ffi::c_int;

use cudarc::cublas::result::CublasError;
use cudarc::driver::DriverError;
use evmachine_engine::device::DeviceError;
use thiserror::Error;

/// A device that cannot be opened.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A library is not where the system looks for libraries.
    #[error("{library} was not found; {remedy}")]
    NoLibrary {
        /// Its name.
        library: &'static str,
        /// What brings it.
        remedy: &'static str,
    },
    /// There is no device of that number.
    #[error("there is no cuda:{number}; the driver knows {count} devices")]
    NoDevice {
        /// The number asked for.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// The driver refuses.
    #[error("cuda:{number} cannot be used: {reason}")]
    Refused {
        /// The number asked for.
        number: usize,
        /// What the driver, cuBLAS or the compiler says.
        reason: String,
    },
}

/// What ends a call.
#[derive(Debug)]
pub(crate) enum Failure {
    Driver(DriverError),
    Products(CublasError),
    Memory {
        wanted: u64,
    },
    /// A size of a product that cuBLAS cannot count.
    TooLarge {
        what: &'static str,
        size: usize,
    },
    Device(DeviceError),
}

impl Failure {
    /// As others see it.
    pub(crate) fn of(self, device: &str) -> DeviceError {
        let failed = |reason| DeviceError::Failed { device: device.to_owned(), reason };
        match self {
            Self::Device(error) => error,
            Self::Memory { wanted } => DeviceError::Memory { device: device.to_owned(), wanted, free: 0 },
            Self::Driver(error) => failed(error.to_string()),
            Self::Products(error) => failed(error.to_string()),
            Self::TooLarge { what, size } => failed(format!(
                "a product of {size} {what} is too large for cuBLAS, which counts to {}; use the processor (device cpu)",
                c_int::MAX
            )),
        }
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

impl From<CublasError> for Failure {
    fn from(error: CublasError) -> Self {
        Self::Products(error)
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}
