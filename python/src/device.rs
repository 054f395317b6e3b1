//! What does the work: so many threads, and a device, which is opened once for a process.

use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

use evmachine::device::{
    CoverWork, Deliver, DeliverMoved, Device, DeviceError, Loss, LossWork, ScatterWork, SmoothingWork,
    SupportWork, TailWork, Tails, TransformWork, WorkKind,
};
use evmachine_cuda::{Cuda, OpenError};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;

use crate::failure;

/// Threads, of which 0 are all cores, and the name of a device.
#[derive(FromPyObject)]
pub(crate) struct Means(usize, String);

impl Means {
    pub(crate) fn threads(&self) -> usize {
        self.0
    }

    pub(crate) fn device(&self) -> &str {
        &self.1
    }
}

/// By process and number. A device does not live on in a forked process.
type Opened = Vec<((u32, usize), Result<Cuda, OpenError>)>;

static OPENED: Mutex<Opened> = Mutex::new(Vec::new());

/// What was asked for by name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Processor,
    Cuda(usize),
    Auto,
}

fn choice(name: &str) -> PyResult<Choice> {
    match name {
        "cpu" => Ok(Choice::Processor),
        "auto" => Ok(Choice::Auto),
        "cuda" => Ok(Choice::Cuda(0)),
        _ => match name.strip_prefix("cuda:").and_then(|number| number.parse().ok()) {
            Some(number) => Ok(Choice::Cuda(number)),
            None => Err(failure::value(format!(
                "device = {name:?}: must be \"cpu\", \"cuda\", \"cuda:N\" for the device of that number, or \"auto\""
            ))),
        },
    }
}

/// A device for one call.
pub(crate) struct Chosen {
    cuda: Cuda,
    /// Whether the processor goes on where it fails.
    gives_way: bool,
    failed: Mutex<Option<DeviceError>>,
}

/// The device of a name; `None` for the processor, which "auto" may stand for.
pub(crate) fn open(name: &str) -> PyResult<Option<Chosen>> {
    let choice = choice(name)?;
    let chosen = |cuda| Chosen { cuda, gives_way: choice == Choice::Auto, failed: Mutex::default() };
    match choice {
        Choice::Processor => Ok(None),
        Choice::Auto => Ok(opened(0, false).ok().map(|cuda| chosen(cuda.where_it_pays()))),
        Choice::Cuda(number) => match opened(number, true) {
            Ok(cuda) => Ok(Some(chosen(cuda))),
            Err(error) => Err(PyRuntimeError::new_err(format!("device = {name:?}: {error}"))),
        },
    }
}

/// The device of a number, opened unless it is; what failed before is tried again if that is asked for.
fn opened(number: usize, again: bool) -> Result<Cuda, OpenError> {
    let key = (std::process::id(), number);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let at = opened.iter().position(|(other, found)| *other == key && (found.is_ok() || !again));
    let at = at.unwrap_or_else(|| {
        opened.push((key, Cuda::open(number)));
        opened.len() - 1
    });
    match &opened[at].1 {
        Ok(cuda) => Ok(cuda.again()),
        Err(error) => Err(error.clone()),
    }
}

/// What a device is called, and for "auto" without one, why the processor works alone.
#[pyfunction]
pub(crate) fn device_name(py: Python<'_>, device: &str) -> PyResult<(String, Option<String>)> {
    let found = py.detach(|| open(device))?;
    Ok(match found {
        Some(device) => (device.cuda.name().to_owned(), None),
        None if device == "auto" => ("cpu".to_owned(), opened(0, false).err().map(|error| error.to_string())),
        None => ("cpu".to_owned(), None),
    })
}

impl Chosen {
    /// Raises what has ended the work, or warns of it where the processor went on.
    pub(crate) fn report(&self, py: Python<'_>) -> PyResult<()> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        match failed {
            None => Ok(()),
            Some(error) if self.gives_way => {
                let category = py.import("evmachine._warnings")?.getattr("FallbackWarning")?;
                let text = CString::new(format!("{error}; the processor did the rest"))?;
                PyErr::warn(py, &category, &text, 3)
            }
            Some(error @ DeviceError::Memory { .. }) => Err(PyMemoryError::new_err(error.to_string())),
            Some(error) => Err(PyRuntimeError::new_err(error.to_string())),
        }
    }
}

impl Device for Chosen {
    fn name(&self) -> &str {
        self.cuda.name()
    }

    fn does(&self, kind: WorkKind) -> bool {
        self.cuda.does(kind)
    }

    fn takes(&self, multiplications: u64) -> bool {
        self.cuda.takes(multiplications)
    }

    fn gives_way(&self, error: &DeviceError) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.clone());
        self.cuda.gives_way(error)
    }

    fn tails(&self, work: &TailWork<'_>) -> Result<Tails, DeviceError> {
        self.cuda.tails(work)
    }

    fn covers(&self, work: &CoverWork<'_>) -> Result<Vec<Vec<(u32, u32)>>, DeviceError> {
        self.cuda.covers(work)
    }

    fn supports(&self, work: &SupportWork<'_>, deliver: &mut Deliver<'_>) -> Result<(), DeviceError> {
        self.cuda.supports(work, deliver)
    }

    fn scatter(&self, work: &ScatterWork<'_>) -> Result<Vec<f64>, DeviceError> {
        self.cuda.scatter(work)
    }

    fn transform(&self, work: &TransformWork<'_>, out: &mut [f32]) -> Result<(), DeviceError> {
        self.cuda.transform(work, out)
    }

    fn smooth(&self, work: &SmoothingWork<'_>, deliver: &mut DeliverMoved<'_>) -> Result<(), DeviceError> {
        self.cuda.smooth(work, deliver)
    }

    fn loss<'a>(&'a self, work: &LossWork<'_>) -> Result<Box<dyn Loss + 'a>, DeviceError> {
        self.cuda.loss(work)
    }
}
