//! The steps of a fit, on numpy arrays, for workers of any engine.

use evmachine::steps::{self, Found, StepError, Vectors};
use evmachine::{PsiModel, Run};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::Matrix;
use crate::{failure, watch};

type Classes<'py> = PyReadonlyArray1<'py, u32>;
type Distances<'py> = PyReadonlyArray1<'py, f32>;
/// Vectors, the class of each, and where the tail of each ends.
type BlockOf<'py> = (Matrix<'py>, Classes<'py>, Option<Distances<'py>>);
/// By row how many distances, and all of them.
type FoundIn<'py> = (Classes<'py>, Distances<'py>);
type FoundOut<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f32>>);
/// Shape, scale, shift and status of each row.
type Fits<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u8>>,
);

/// The status of a row without a tail.
pub(crate) const NO_TAIL: u8 = u8::MAX;

/// What all steps of one fit share.
#[pyclass(frozen, module = "evmachine._native")]
pub(crate) struct Task {
    task: steps::Task,
}

impl Task {
    pub(crate) fn new(task: steps::Task) -> Self {
        Self { task }
    }

    /// Does a step on so many threads, which Ctrl-C ends.
    fn step<T: Send>(
        &self,
        py: Python<'_>,
        threads: usize,
        step: impl FnOnce(&steps::Task, &Run<'_>) -> Result<T, StepError> + Send,
    ) -> PyResult<T> {
        watch::step(py, threads, |run| step(&self.task, run))?.map_err(failure::value)
    }
}

fn vectors<'a>(values: &'a Matrix<'_>, classes: &'a Classes<'_>) -> PyResult<Vectors<'a>> {
    Ok(Vectors {
        values: values.as_slice().map_err(failure::value)?,
        classes: classes.as_slice().map_err(failure::value)?,
    })
}

fn block<'a>((values, classes, bounds): &'a BlockOf<'_>) -> PyResult<steps::Block<'a>> {
    let bounds = bounds.as_ref().map(|bounds| bounds.as_slice().map_err(failure::value)).transpose()?;
    Ok((vectors(values, classes)?, bounds))
}

fn found<'a>((counts, values): &'a FoundIn<'_>) -> PyResult<Found<&'a [u32], &'a [f32]>> {
    let counts = counts.as_slice().map_err(failure::value)?;
    Ok(Found { counts, values: values.as_slice().map_err(failure::value)? })
}

fn arrays(py: Python<'_>, found: Found) -> FoundOut<'_> {
    (found.counts.into_pyarray(py), found.values.into_pyarray(py))
}

#[pymethods]
impl Task {
    #[staticmethod]
    fn from_bytes(content: &[u8]) -> PyResult<Self> {
        Ok(Self { task: steps::Task::from_bytes(content).map_err(failure::value)? })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.task.to_bytes())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py),)))
    }

    /// For all steps but that of bounds.
    fn without_sample(&self) -> Self {
        Self { task: self.task.without_sample() }
    }

    /// By row, the distance at which its tail ends, most likely.
    fn bounds<'py>(
        &self,
        py: Python<'py>,
        values: Matrix<'py>,
        classes: Classes<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let rows = vectors(&values, &classes)?;
        Ok(self.step(py, threads, |task, _| task.bounds(rows))?.into_pyarray(py))
    }

    /// What two blocks find in each other, or one in itself.
    fn meet<'py>(
        &self,
        py: Python<'py>,
        first: BlockOf<'py>,
        second: Option<BlockOf<'py>>,
        threads: usize,
    ) -> PyResult<(FoundOut<'py>, Option<FoundOut<'py>>)> {
        let one = block(&first)?;
        let other = second.as_ref().map(block).transpose()?;
        let (first, second) = self.step(py, threads, |task, run| task.meet(run, one, other))?;
        Ok((arrays(py, first), second.map(|second| arrays(py, second))))
    }

    /// What rows find among columns that are not theirs.
    fn gather<'py>(
        &self,
        py: Python<'py>,
        rows: BlockOf<'py>,
        values: Matrix<'py>,
        classes: Classes<'py>,
        threads: usize,
    ) -> PyResult<FoundOut<'py>> {
        let (rows, columns) = (block(&rows)?, vectors(&values, &classes)?);
        Ok(arrays(py, self.step(py, threads, |task, run| task.gather(run, rows, columns))?))
    }

    /// The smallest of what several parts have found for rows of these classes.
    fn merge<'py>(
        &self,
        py: Python<'py>,
        classes: Classes<'py>,
        parts: Vec<FoundIn<'py>>,
        threads: usize,
    ) -> PyResult<FoundOut<'py>> {
        let classes = classes.as_slice().map_err(failure::value)?;
        let parts = parts.iter().map(found).collect::<PyResult<Vec<_>>>()?;
        let merged =
            self.step(py, threads, |task, _| task.merge(classes, &parts.iter().collect::<Vec<_>>()))?;
        Ok(arrays(py, merged))
    }

    /// Positions of rows whose tails lack values.
    fn short<'py>(
        &self,
        py: Python<'py>,
        classes: Classes<'py>,
        found: FoundIn<'py>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let classes = classes.as_slice().map_err(failure::value)?;
        let short = self.task.short(classes, &self::found(&found)?).map_err(failure::value)?;
        Ok(short.into_iter().map(|row| row as u64).collect::<Vec<u64>>().into_pyarray(py))
    }

    /// Shape, scale, shift and status of the fit of each row; the status is 255 where there is no tail.
    fn fit<'py>(&self, py: Python<'py>, found: FoundIn<'py>, threads: usize) -> PyResult<Fits<'py>> {
        let found = self::found(&found)?;
        let fits = self.step(py, threads, |task, _| task.fit(&found))?;
        let column = |value: fn(&PsiModel) -> f64| -> Vec<f64> {
            fits.iter().map(|psi| psi.as_ref().map_or(0.0, value)).collect()
        };
        let statuses = fits.iter().map(|psi| psi.as_ref().map_or(NO_TAIL, |psi| psi.status as u8));
        Ok((
            column(|psi| psi.shape).into_pyarray(py),
            column(|psi| psi.scale).into_pyarray(py),
            column(|psi| psi.shift).into_pyarray(py),
            statuses.collect::<Vec<u8>>().into_pyarray(py),
        ))
    }
}
