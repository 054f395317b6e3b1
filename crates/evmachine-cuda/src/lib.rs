//! The Extreme Value Machine on NVIDIA devices.
//!
//! [`Cuda`] is a [`Device`]: whitening, smoothing, tails with their fits, covers, linear probes and supports are found on the
//! device, and only vectors and models cross the bus. Nothing of CUDA is needed to build this, and nothing to run without it: the driver, cuBLAS and NVRTC are looked
//! for when a device is [opened](Cuda::open), and what is missing is named.
//!
//! ```no_run
//! use evmachine::{Evm, Features, Labels, Params, Run};
//! use evmachine_cuda::Cuda;
//!
//! # let (features, labels) = (Features::new(vec![0.0, 1.0], 1)?, Labels::new(["a", "b"])?);
//! let device = Cuda::open(0)?;
//! let (model, report) = Evm::fit_with(&Run::new().device(&device), &Params::paper(), &features, &labels)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | what | how | file |
//! |---|---|---|
//! | distances | products by cuBLAS, finished to ranks; differences where they are no products | `ranks.rs` |
//! | tails | all ranks at once, stripes of them, or rough products that leave few pairs to measure | `tails.rs`, `screen.rs` |
//! | fits | Newton steps in `f64`, a block a tail | `panel.rs` |
//! | covers | bits, and a greedy choice that looks at each pair once | `covers.rs` |
//! | whitening | products in `f64` | `whitening.rs` |
//! | smoothing | the nearest of each row by selection, and their means | `smoothing.rs` |
//! | probes | logits and slopes by products; rows stay on the device during a fit | `probe.rs` |
//! | supports | in `f32`, and in `f64` where it may matter | `supports.rs` |
//! | models | extreme vectors stay on the device while their model lives | `models.rs` |
//!
//! Every sum and every choice has one order, so that a call gives the same bytes whenever it is repeated on one device.

mod address;
mod covers;
mod engine;
mod engines;
mod error;
mod kernels;
mod library;
mod memory;
mod models;
mod panel;
mod probe;
mod ranks;
mod reading;
mod screen;
mod smoothing;
mod staging;
mod supports;
mod tails;
mod whitening;

use std::sync::{Arc, Mutex, PoisonError};

use evmachine_engine::device::{
    CoverWork, Deliver, DeliverMoved, Device, DeviceError, Loss, LossWork, ScatterWork, SmoothingWork,
    SupportWork, TailWork, Tails, TransformWork, WorkKind,
};

use self::engine::Engine;
use self::engines::Engines;
use self::error::Failure;
pub use self::error::OpenError;
use self::probe::ProbeLoss;
pub use self::reading::Reader;

/// An NVIDIA device.
///
/// Calls from several threads run at once, and share the memory of the device. What a call has given back is kept for the next
/// one, until the process ends or [`release`](Cuda::release) is called, and the extreme vectors of the models asked last stay
/// there while these live.
pub struct Cuda {
    name: String,
    /// Multiplications from which on work is taken.
    least: u64,
    gives_way: bool,
    /// Why it gave way.
    failed: Mutex<Option<DeviceError>>,
    engines: Arc<Engines>,
}

/// From so many multiplications on, sending the work pays, vectors being in the memory of the processor.
const PAYS: u64 = 1 << 33;

impl Cuda {
    /// Opens the device of that number, for all work that is asked of it.
    pub fn open(number: usize) -> Result<Self, OpenError> {
        let engines = Arc::new(Engines::open(number)?);
        let name = engines.opened().name.clone();
        Ok(Self { name, least: 0, gives_way: false, failed: Mutex::default(), engines })
    }

    /// The same device, opened once, without what [`where_it_pays`](Self::where_it_pays) says and what has failed.
    pub fn again(&self) -> Self {
        let engines = self.engines.clone();
        Self { name: self.name.clone(), least: 0, gives_way: false, failed: Mutex::default(), engines }
    }

    /// Leaves work to the processor that is done sooner there, and all of it once the device has failed.
    pub fn where_it_pays(self) -> Self {
        Self { least: PAYS, gives_way: true, ..self }
    }

    /// Why the processor took over, if it did.
    pub fn failed(&self) -> Option<DeviceError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives the memory that is kept between calls, that of models too, back to the system.
    pub fn release(&self) -> Result<(), DeviceError> {
        let opened = self.engines.opened();
        opened.models.clear();
        opened.release().map_err(|error| opened.explain(error))
    }

    /// How many devices there are; 0 where there is no driver.
    pub fn count() -> usize {
        library::count()
    }

    fn with_engine<T>(&self, work: impl FnOnce(&Engine) -> Result<T, Failure>) -> Result<T, DeviceError> {
        let done = self.engines.take().and_then(|engine| work(&engine));
        done.map_err(|error| self.engines.opened().explain(error))
    }

    /// Does what needs no model. Where memory is short, models that are kept make room.
    fn without_models<T>(&self, work: impl Fn(&Engine) -> Result<T, Failure>) -> Result<T, DeviceError> {
        self.with_engine(|engine| {
            engine.models.tidy();
            match work(engine) {
                Err(Failure::Memory { .. }) if engine.models.clear() => work(engine),
                done => done,
            }
        })
    }
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cuda").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Device for Cuda {
    fn name(&self) -> &str {
        &self.name
    }

    fn does(&self, _: WorkKind) -> bool {
        true
    }

    fn takes(&self, multiplications: u64) -> bool {
        multiplications >= self.least && self.failed().is_none()
    }

    fn gives_way(&self, error: &DeviceError) -> bool {
        if self.gives_way {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.clone());
        }
        self.gives_way
    }

    fn tails(&self, work: &TailWork<'_>) -> Result<Tails, DeviceError> {
        self.without_models(|engine| tails::tails(engine, work))
    }

    fn covers(&self, work: &CoverWork<'_>) -> Result<Vec<Vec<(u32, u32)>>, DeviceError> {
        self.without_models(|engine| covers::covers(engine, work))
    }

    fn scatter(&self, work: &ScatterWork<'_>) -> Result<Vec<f64>, DeviceError> {
        self.without_models(|engine| whitening::scatter(engine, work))
    }

    fn transform(&self, work: &TransformWork<'_>, out: &mut [f32]) -> Result<(), DeviceError> {
        self.with_engine(|engine| whitening::transform(engine, work, out))
    }

    fn smooth(&self, work: &SmoothingWork<'_>, deliver: &mut DeliverMoved<'_>) -> Result<(), DeviceError> {
        self.with_engine(|engine| {
            engine.models.tidy();
            smoothing::smooth(engine, work, deliver)
        })
    }

    fn loss<'a>(&'a self, work: &LossWork<'_>) -> Result<Box<dyn Loss + 'a>, DeviceError> {
        let opened = || self.engines.take().and_then(|engine| ProbeLoss::new(engine, work));
        let loss = match opened() {
            Err(Failure::Memory { .. }) if self.engines.opened().models.clear() => opened(),
            done => done,
        };
        let loss = loss.map_err(|error| self.engines.opened().explain(error))?;
        Ok(Box::new(loss))
    }

    fn supports(&self, work: &SupportWork<'_>, deliver: &mut Deliver<'_>) -> Result<(), DeviceError> {
        self.with_engine(|engine| supports::supports(engine, work, deliver))
    }
}
