//! Tails that an engine has its workers find: the library's road leads through here, so that a fit on a cluster differs from any other in
//! nothing else.
//!
//! What drives the engine is written in Python, `evmachine.steps.Driver`. It gets blocks one by one, as arrays of its own, says from time to
//! time how far its workers are, and hands over what they found.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use evmachine::device::{Device, DeviceError, TailWork, Tails, Vectors, WorkKind};
use evmachine::{FitStatus, PsiModel, steps};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::failure;
use crate::steps::{NO_TAIL, Task};

/// A driver of workers, as a device.
pub(crate) struct Cluster {
    driver: Py<PyAny>,
    name: String,
    /// What the driver raised, for whoever called the fit.
    raised: Mutex<Option<PyErr>>,
}

/// What a block of rows has: counts, the largest distances, all distances where they are kept, and shapes, scales, shifts and statuses
/// where they are fitted.
type BlockTails<'py> = (
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, f32>,
    Option<PyReadonlyArray1<'py, f32>>,
    Option<BlockFits<'py>>,
);
type BlockFits<'py> = (
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, u8>,
);

impl Cluster {
    pub(crate) fn new(py: Python<'_>, driver: Py<PyAny>) -> PyResult<Self> {
        let name = driver.getattr(py, "name")?.extract(py)?;
        Ok(Self { driver, name, raised: Mutex::new(None) })
    }

    /// What the driver raised, if that is why a fit failed.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What the workers found; `None` where whoever watches ended it.
    fn find(&self, py: Python<'_>, work: &TailWork<'_>) -> PyResult<Option<Tails>> {
        let task = Py::new(py, Task::new(steps::Task::new(work)))?;
        let rows = work.rows.classes.len();
        let (same, fit) = (work.among_themselves, work.fit.is_some());
        let driver = self.driver.bind(py);
        let job = driver.call_method1("begin", (task, rows, work.dimensions, same, fit, work.keep))?;
        let size: usize = job.getattr("block_rows")?.extract()?;
        for block in cut(rows, size) {
            let bounds = work.bounds.map(|bounds| PyArray1::from_slice(py, &bounds[block.clone()]));
            let (values, classes) = arrays(py, work.rows, work.dimensions, block)?;
            job.call_method1("add_rows", (values, classes, bounds))?;
        }
        for part in work.columns {
            for block in cut(part.classes.len(), size) {
                job.call_method1("add_columns", arrays(py, *part, work.dimensions, block)?)?;
            }
        }
        for finished in job.call_method0("progress")?.try_iter()? {
            if (work.watch)(finished?.extract()?).is_break() {
                job.call_method0("cancel")?;
                return Ok(None);
            }
        }
        let mut tails = Tails::default();
        for block in job.call_method0("tails")?.try_iter()? {
            append(&mut tails, &block?.extract()?)?;
        }
        Ok(Some(tails))
    }
}

impl Device for Cluster {
    fn name(&self) -> &str {
        &self.name
    }

    fn does(&self, kind: WorkKind) -> bool {
        kind == WorkKind::Tails
    }

    fn takes(&self, _: u64) -> bool {
        true
    }

    fn tails(&self, work: &TailWork<'_>) -> Result<Tails, DeviceError> {
        Python::attach(|py| match self.find(py, work) {
            Ok(Some(tails)) => Ok(tails),
            Ok(None) => Err(DeviceError::Stopped),
            Err(error) => {
                let reason = error.value(py).to_string();
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Err(DeviceError::Failed { device: self.name.clone(), reason })
            }
        })
    }
}

/// Blocks of so many rows, all of about one size.
fn cut(rows: usize, size: usize) -> Vec<Range<usize>> {
    steps::blocks(rows, rows.div_ceil(size.max(1)))
}

/// A block as arrays that Python owns: one block is copied at a time.
fn arrays<'py>(
    py: Python<'py>,
    vectors: Vectors<'_>,
    dimensions: usize,
    block: Range<usize>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let mut values = vec![0.0; block.len() * dimensions];
    vectors.values.write(block.start, &mut values);
    let values = values.into_pyarray(py).reshape([block.len(), dimensions])?;
    Ok((values.into_any(), PyArray1::from_slice(py, &vectors.classes[block]).into_any()))
}

fn append(tails: &mut Tails, (counts, largest, values, fits): &BlockTails<'_>) -> PyResult<()> {
    tails.counts.extend(counts.as_slice().map_err(failure::value)?);
    tails.largest.extend(largest.as_slice().map_err(failure::value)?);
    if let Some(values) = values {
        tails.values.extend(values.as_slice().map_err(failure::value)?);
    }
    let Some((shapes, scales, shifts, statuses)) = fits else { return Ok(()) };
    let shapes = shapes.as_slice().map_err(failure::value)?;
    let scales = scales.as_slice().map_err(failure::value)?;
    let shifts = shifts.as_slice().map_err(failure::value)?;
    for (row, &status) in statuses.as_slice().map_err(failure::value)?.iter().enumerate() {
        let fitted = FitStatus::ALL.get(status as usize).map(|&status| PsiModel {
            shape: shapes[row],
            scale: scales[row],
            shift: shifts[row],
            status,
        });
        if fitted.is_none() && status != NO_TAIL {
            return Err(failure::value(format!("there is no status {status}")));
        }
        tails.psi.push(fitted);
    }
    Ok(())
}
