//! The loss of a linear probe: rows stay on the device, coefficients and slopes cross the bus.
#![allow(unsafe_code)]

use cudarc::driver::CudaSlice;
use evmachine_engine::device::{DeviceError, Loss, LossWork, Source};

use crate::engine::{Digits, Engine, Extent, Matrix};
use crate::engines::Taken;
use crate::error::Failure;
use crate::kernels::{AddTo, Residuals};

/// Rows whose logits are held at once, and whose slopes are summed in `f32`.
const SPAN: usize = 1 << 14;
/// Blocks of a kernel that goes over all values.
const BLOCKS: u32 = 1024;

/// Rows with a 1 before them, which meets the intercepts.
struct WithOne<'a> {
    rows: &'a dyn Source,
    dimensions: usize,
}

impl Source for WithOne<'_> {
    fn count(&self) -> usize {
        self.rows.count()
    }

    fn write(&self, first: usize, out: &mut [f32]) {
        for (row, out) in (first..).zip(out.chunks_exact_mut(1 + self.dimensions)) {
            out[0] = 1.0;
            self.rows.write(row, &mut out[1..]);
        }
    }
}

pub(crate) struct ProbeLoss<'a> {
    engine: Taken<'a>,
    rows: CudaSlice<f32>,
    classes: CudaSlice<u32>,
    shares: CudaSlice<f64>,
    count: usize,
    /// Values of a row.
    length: usize,
    class_count: usize,
    width: usize,
}

impl<'a> ProbeLoss<'a> {
    pub(crate) fn new(engine: Taken<'a>, work: &LossWork<'_>) -> Result<Self, Failure> {
        let length = 1 + work.dimensions;
        let rows = WithOne { rows: work.rows, dimensions: work.dimensions };
        Ok(Self {
            rows: engine.upload_vectors(&[&rows], length)?,
            classes: engine.upload(&[work.classes])?,
            shares: engine.upload(&[work.shares])?,
            count: rows.count(),
            length,
            class_count: work.class_count,
            width: work.width,
            engine,
        })
    }

    fn found(&self, coefficients: &[f64], slopes: &mut [f64]) -> Result<f64, Failure> {
        let (engine, width, length): (&Engine, _, _) = (&self.engine, self.width, self.length);
        let coefficients: Vec<f32> = coefficients.iter().map(|&value| value as f32).collect();
        let coefficients = engine.upload(&[&coefficients[..]])?;
        let logits = engine.room::<f32>(SPAN.min(self.count) * width)?;
        let losses = engine.room::<f64>(self.count)?;
        let part = engine.room::<f32>(length * width)?;
        let mut sums = engine.room::<f64>(length * width)?;
        engine.clear(&mut sums)?;
        let (classes, dimensions) = (Extent::new("classes", width), Extent::new("dimensions", length));
        for first in (0..self.count).step_by(SPAN) {
            let count = SPAN.min(self.count - first);
            let span = Extent::new("rows", count);
            let matrix = |at, stride| Matrix { at, stride, is_transposed: false };
            let rows = matrix(engine.address(&self.rows, first * length), length);
            let weights = matrix(engine.address(&coefficients, 0), width);
            let out = (engine.address(&logits, 0), width);
            let residuals = Residuals {
                logits: out.0,
                rows: count as u32,
                width: width as u32,
                class_count: self.class_count as u32,
                classes: engine.address(&self.classes, first),
                shares: engine.address(&self.shares, first),
                losses: engine.address(&losses, first),
            };
            let slopes = (engine.address(&part, 0), width);
            let add_to =
                AddTo { values: slopes.0, count: (length * width) as u64, sums: engine.address(&sums, 0) };
            let across = Matrix { is_transposed: true, ..rows };
            let left = matrix(out.0, width);
            // SAFETY: a row is a column of `length` values, `count` of them; coefficients of a dimension are a column of `width`;
            // there is room for as many logits and slopes; classes are below the class count, which is at most the width.
            unsafe {
                engine.multiply((classes, span, dimensions), weights, rows, out, (false, Digits::All))?;
                engine.launch((((count as u32).div_ceil(8), 1), (256, 1), 0), &residuals)?;
                engine.multiply((classes, dimensions, span), left, across, slopes, (false, Digits::All))?;
                engine.launch(((BLOCKS, 1), (256, 1), 0), &add_to)?;
            }
        }
        slopes.copy_from_slice(&engine.download(&sums, length * width)?);
        Ok(engine.download(&losses, self.count)?.iter().sum())
    }
}

impl Loss for ProbeLoss<'_> {
    fn evaluate(&self, coefficients: &[f64], slopes: &mut [f64]) -> Result<f64, DeviceError> {
        self.found(coefficients, slopes).map_err(|failure| self.engine.explain(failure))
    }
}
