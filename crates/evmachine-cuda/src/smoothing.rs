//! Vectors moved towards their nearest neighbours of the same class.
#![allow(unsafe_code)]

use std::ops::ControlFlow;

use evmachine_engine::Metric;
use evmachine_engine::device::{DeliverMoved, DeviceError, SmoothingClass, SmoothingWork};

use crate::engine::Engine;
use crate::error::Failure;
use crate::kernels::{MoveRows, Nearest};
use crate::ranks::{Pairs, Points, RankKind};

/// Bytes of ranks that are held at once.
const RANKS: usize = 4 << 30;

pub(crate) fn smooth(
    engine: &Engine,
    work: &SmoothingWork<'_>,
    deliver: &mut DeliverMoved<'_>,
) -> Result<(), Failure> {
    for class in work.classes {
        let moved = moved(engine, work, class)?;
        deliver(&moved)?;
        if (work.watch)(moved.len() / work.dimensions) == ControlFlow::Break(()) {
            return Err(DeviceError::Stopped.into());
        }
    }
    Ok(())
}

/// The vectors of a class that move, moved.
fn moved(engine: &Engine, work: &SmoothingWork<'_>, class: &SmoothingClass<'_>) -> Result<Vec<f32>, Failure> {
    let (d, count) = (work.dimensions, class.points.count());
    let moving = count - class.staying;
    if moving == 0 {
        return Ok(Vec::new());
    }
    let kind = RankKind::new(work.metric, d);
    let points = Points::new(engine, &[class.points], d)?;
    let pairs = Pairs {
        engine,
        kind,
        rows: &points,
        columns: &points,
        row_classes: None,
        column_classes: None,
        bounds: None,
    };
    let wanted = work.neighbors.min(count);
    let height = (RANKS / (size_of::<f32>() * count)).clamp(1, moving);
    let ranks = engine.room::<f32>(height * count)?;
    let places = engine.room::<u32>(height * wanted)?;
    let out = engine.room::<f32>(height * d)?;
    let mut moved = vec![0.0; moving * d];
    for first in (0..moving).step_by(height) {
        let rows = height.min(moving - first);
        let place = class.staying + first;
        pairs.stripe((place, rows), &ranks)?;
        let nearest = Nearest {
            ranks: engine.address(&ranks, 0),
            stride: count as u64,
            columns: count as u32,
            first: place as u32,
            wanted: wanted as u32,
            places: engine.address(&places, 0),
        };
        // SAFETY: `rows` rows of `count` ranks, and room for `wanted` places of each, which are not more than there are columns.
        unsafe { engine.launch(((rows as u32, 1), (512, 1), 0), &nearest) }?;
        let move_rows = MoveRows {
            points: engine.address(&points.values, 0),
            dimensions: d as u32,
            first: place as u32,
            places: engine.address(&places, 0),
            count: wanted as u32,
            fraction: work.fraction,
            stays_if_cancelled: u32::from(*work.metric == Metric::Cosine),
            out: engine.address(&out, 0),
        };
        // SAFETY: places are those of columns, and there is room for `rows` vectors.
        unsafe { engine.launch(((rows as u32, 1), (256, 1), 0), &move_rows) }?;
        engine.download_to(&out, 0, &mut moved[first * d..(first + rows) * d])?;
    }
    Ok(moved)
}
