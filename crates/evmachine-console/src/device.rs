//! What does the heavy work: the processor, or a device.

use std::str::FromStr;
#[cfg(feature = "cuda")]
use std::sync::Arc;

#[cfg(feature = "cuda")]
use evmachine::device::Device as _;
#[cfg(feature = "cuda")]
use evmachine_cuda::Cuda;

use crate::console::Console;
use crate::failure::{Failure, Kind};

/// A device as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeviceName {
    Processor,
    Cuda(usize),
    /// A device where there is one and it pays.
    Auto,
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "cpu" => Ok(Self::Processor),
            "auto" => Ok(Self::Auto),
            "cuda" => Ok(Self::Cuda(0)),
            _ => {
                name.strip_prefix("cuda:").and_then(|number| number.parse().ok()).map(Self::Cuda).ok_or_else(
                    || "it is cpu, cuda, cuda:N for the device of that number, or auto".to_owned(),
                )
            }
        }
    }
}

/// What was opened, to be asked at the end how it went.
#[cfg(feature = "cuda")]
pub(crate) type Opened = Arc<Cuda>;
#[cfg(not(feature = "cuda"))]
pub(crate) type Opened = std::convert::Infallible;

/// Without devices, the processor is all there is.
#[cfg(not(feature = "cuda"))]
pub(crate) fn open(name: DeviceName, console: &mut Console) -> Result<Option<Opened>, Failure> {
    match name {
        DeviceName::Processor => Ok(None),
        DeviceName::Auto => {
            console.say("on the processor: this program was built without the feature cuda");
            Ok(None)
        }
        DeviceName::Cuda(number) => {
            let message = format!("--device cuda:{number}: this program was built without the feature cuda");
            Err(Failure::new(Kind::Usage, message).hint("build it with the feature, or leave out --device"))
        }
    }
}

#[cfg(not(feature = "cuda"))]
pub(crate) fn close(_: &Console, _: Option<&Opened>) {}

#[cfg(feature = "cuda")]
/// Opens the device that was asked for, and has the console use it. What was named and cannot be used is an error; `auto` says what it took.
pub(crate) fn open(name: DeviceName, console: &mut Console) -> Result<Option<Opened>, Failure> {
    let device = match name {
        DeviceName::Processor => return Ok(None),
        DeviceName::Cuda(number) => {
            let device = Cuda::open(number)
                .map_err(|error| Failure::new(Kind::Usage, format!("--device cuda:{number}: {error}")))?;
            console.detail(format!("on {}", device.name()));
            device
        }
        DeviceName::Auto => match Cuda::open(0) {
            Ok(device) => {
                let device = device.where_it_pays();
                console.say(format!("{} does what is worth sending, the processor the rest", device.name()));
                device
            }
            Err(reason) => {
                console.say(format!("on the processor: {reason}"));
                return Ok(None);
            }
        },
    };
    let device = Arc::new(device);
    console.use_device(device.clone());
    Ok(Some(device))
}

#[cfg(feature = "cuda")]
/// Says that the processor had to take over, if it had to.
pub(crate) fn close(console: &Console, device: Option<&Opened>) {
    if let Some(error) = device.and_then(|device| device.failed()) {
        console.warn(format!("{error}; the processor did the rest"));
    }
}
