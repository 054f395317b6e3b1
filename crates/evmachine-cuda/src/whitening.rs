//! Whitening: the scatter within classes, and the product of vectors with its inverse root. Both in `f64`, as on the processor.
#![allow(unsafe_code)]

use std::ops::ControlFlow;

use cudarc::driver::CudaSlice;
use evmachine_engine::device::{DeviceError, Part, ScatterWork, Source, TransformWork};

use crate::engine::{Digits, Engine, Extent, Matrix};
use crate::error::Failure;
use crate::kernels::{Centre, ToDouble, ToFloat};

/// Bytes of vectors in `f64` that are on the device at once.
const HELD: usize = 1 << 30;
/// Blocks of a kernel that goes over all values.
const BLOCKS: u32 = 4096;

/// Vectors on their way, so many at a time.
struct Stretch {
    height: usize,
    values: CudaSlice<f32>,
    wide: CudaSlice<f64>,
}

impl Stretch {
    fn new(engine: &Engine, count: usize, dimensions: usize) -> Result<Self, Failure> {
        let height = (HELD / (size_of::<f64>() * dimensions)).clamp(1, count.max(1));
        Ok(Self {
            height,
            values: engine.room(height * dimensions)?,
            wide: engine.room(height * dimensions)?,
        })
    }

    /// The vectors from `first` on, on the device; how many there are.
    fn take(
        &mut self,
        engine: &Engine,
        source: &dyn Source,
        first: usize,
        dimensions: usize,
    ) -> Result<usize, Failure> {
        let range = first..(first + self.height).min(source.count());
        let part = Part { source, range };
        engine.upload_to(&part, dimensions, &mut self.values, 0)?;
        Ok(part.count())
    }
}

pub(crate) fn scatter(engine: &Engine, work: &ScatterWork<'_>) -> Result<Vec<f64>, Failure> {
    let (d, count) = (work.dimensions, work.vectors.values.count());
    let mut sums = engine.room::<f64>(d * d)?;
    engine.clear(&mut sums)?;
    let classes = engine.upload(&[work.vectors.classes])?;
    let means = engine.upload(&[work.means])?;
    let mut stretch = Stretch::new(engine, count, d)?;
    for first in (0..count).step_by(stretch.height) {
        let rows = stretch.take(engine, work.vectors.values, first, d)?;
        let centre = Centre {
            rows: engine.address(&stretch.values, 0),
            classes: engine.address(&classes, first),
            means: engine.address(&means, 0),
            count: rows as u32,
            dimensions: d as u32,
            out: engine.address(&stretch.wide, 0),
        };
        // SAFETY: there are `rows` vectors and as many classes, each class has a mean, and there is room for as many values.
        unsafe { engine.launch(((BLOCKS, 1), (256, 1), 0), &centre) }?;
        let wide = Matrix { at: engine.address(&stretch.wide, 0), stride: d, is_transposed: false };
        let across = Matrix { is_transposed: true, ..wide };
        let (side, rows_of) = (Extent::new("dimensions", d), Extent::new("rows", rows));
        let out = (engine.address(&sums, 0), d);
        // SAFETY: a vector is a column of `d` values, `rows` of them; the sums are `d x d`.
        unsafe { engine.multiply((side, side, rows_of), wide, across, out, (true, Digits::All)) }?;
        if (work.watch)(rows) == ControlFlow::Break(()) {
            return Err(DeviceError::Stopped.into());
        }
    }
    engine.download(&sums, d * d)
}

pub(crate) fn transform(engine: &Engine, work: &TransformWork<'_>, out: &mut [f32]) -> Result<(), Failure> {
    let (d, count) = (work.dimensions, work.vectors.count());
    let matrix = engine.upload(&[work.matrix])?;
    let mut stretch = Stretch::new(engine, count, d)?;
    let products = engine.room::<f64>(stretch.height * d)?;
    for first in (0..count).step_by(stretch.height) {
        let rows = stretch.take(engine, work.vectors, first, d)?;
        let values = (rows * d) as u64;
        let (narrow, wide) = (engine.address(&stretch.values, 0), engine.address(&stretch.wide, 0));
        // SAFETY: so many values lie at the one address, and there is room for them at the other.
        unsafe {
            let to_double = ToDouble { values: narrow, count: values, out: wide };
            engine.launch(((BLOCKS, 1), (256, 1), 0), &to_double)
        }?;
        let left = Matrix { at: engine.address(&matrix, 0), stride: work.stride, is_transposed: false };
        let right = Matrix { at: wide, stride: d, is_transposed: false };
        let (side, rows_of) = (Extent::new("dimensions", d), Extent::new("rows", rows));
        let product = (engine.address(&products, 0), d);
        // SAFETY: W has `d` columns, a vector is a column of `d` values, and there is room for as many.
        unsafe { engine.multiply((side, rows_of, side), left, right, product, (false, Digits::All)) }?;
        // SAFETY: as many values as were products lie there.
        unsafe {
            let to_float = ToFloat { values: product.0, count: values, out: narrow };
            engine.launch(((BLOCKS, 1), (256, 1), 0), &to_float)
        }?;
        engine.download_to(&stretch.values, 0, &mut out[first * d..(first + rows) * d])?;
    }
    Ok(())
}
