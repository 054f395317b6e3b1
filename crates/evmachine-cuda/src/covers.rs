//! The greedy set cover of each class.
#![allow(unsafe_code)]

use std::ops::ControlFlow;

use evmachine_engine::device::{CoverClass, CoverWork, DeviceError, Source};

use crate::address::Address;
use crate::engine::Engine;
use crate::error::Failure;
use crate::kernels::{Coverage, Greedy};
use crate::ranks::{Pairs, Points, RankKind};

/// Of the memory, the share that bits may take; half of them transposed.
const SHARE: usize = 2;
/// Bytes of ranks that are held at once.
const RANKS: usize = 4 << 30;

pub(crate) fn covers(engine: &Engine, work: &CoverWork<'_>) -> Result<Vec<Vec<(u32, u32)>>, Failure> {
    let memory = engine.memory()? / SHARE / size_of::<u32>();
    let mut chosen = Vec::with_capacity(work.classes.len());
    let mut rest = work.classes;
    while !rest.is_empty() {
        let mut words = 0;
        let fits = |class: &&CoverClass<'_>| {
            words += 2 * bit_words(class.radii.len());
            words <= memory
        };
        let count = rest.iter().take_while(fits).count();
        if count == 0 {
            return Err(Failure::Memory { wanted: 4 * words as u64 });
        }
        let (now, later) = rest.split_at(count);
        chosen.extend(group(engine, work, now)?);
        rest = later;
        if (work.watch)(count) == ControlFlow::Break(()) {
            return Err(DeviceError::Stopped.into());
        }
    }
    Ok(chosen)
}

/// Words of the bits of a class.
fn bit_words(points: usize) -> usize {
    points * points.div_ceil(32)
}

/// Classes whose bits fit the memory.
fn group(
    engine: &Engine,
    work: &CoverWork<'_>,
    classes: &[CoverClass<'_>],
) -> Result<Vec<Vec<(u32, u32)>>, Failure> {
    let (mut bit_offsets, mut point_offsets) = (vec![0u64], vec![0u32]);
    for class in classes {
        let points = class.radii.len();
        bit_offsets.push(bit_offsets[bit_offsets.len() - 1] + bit_words(points) as u64);
        point_offsets.push(point_offsets[point_offsets.len() - 1] + points as u32);
    }
    let words = bit_offsets[classes.len()] as usize;
    let points = point_offsets[classes.len()] as usize;
    let (covers, covered_by) = (engine.room::<u32>(words)?, engine.room::<u32>(words)?);
    for (class, &offset) in classes.iter().zip(&bit_offsets) {
        let at = (engine.address(&covers, offset as usize), engine.address(&covered_by, offset as usize));
        coverage(engine, work, class, at)?;
    }
    let (open, left, fresh) =
        (engine.room::<u32>(points)?, engine.room::<u32>(points)?, engine.room::<u32>(points)?);
    let (order, gains) = (engine.room::<u32>(points)?, engine.room::<u32>(points)?);
    let counts = engine.room::<u32>(classes.len())?;
    let (bits_at, points_at) = (engine.upload(&[&bit_offsets[..]])?, engine.upload(&[&point_offsets[..]])?);
    let greedy = Greedy {
        bit_offsets: engine.address(&bits_at, 0),
        point_offsets: engine.address(&points_at, 0),
        covers: engine.address(&covers, 0),
        covered_by: engine.address(&covered_by, 0),
        uncovered: engine.address(&open, 0),
        gains_left: engine.address(&left, 0),
        fresh: engine.address(&fresh, 0),
        order: engine.address(&order, 0),
        gains: engine.address(&gains, 0),
        chosen: engine.address(&counts, 0),
    };
    // SAFETY: offsets are those of the classes, and every list has as many places as there are points.
    unsafe { engine.launch(((classes.len() as u32, 1), (1024, 1), 0), &greedy) }?;
    let (order, gains) = (engine.download(&order, points)?, engine.download(&gains, points)?);
    let counts = engine.download(&counts, classes.len())?;
    let chosen = point_offsets.iter().zip(counts).map(|(&first, count)| {
        let range = first as usize..(first + count) as usize;
        order[range.clone()].iter().copied().zip(gains[range].iter().copied()).collect()
    });
    Ok(chosen.collect())
}

/// The bits of a class, and the transposed ones.
fn coverage(
    engine: &Engine,
    work: &CoverWork<'_>,
    class: &CoverClass<'_>,
    (covers, covered_by): (Address<u32>, Address<u32>),
) -> Result<(), Failure> {
    let count = class.radii.len();
    if count == 0 {
        return Ok(());
    }
    let kind = RankKind::new(work.metric, work.dimensions);
    let of = |values: &dyn Source| Points::new(engine, &[values], work.dimensions);
    let rows = of(class.points)?;
    let targets = class.targets.map(of).transpose()?;
    let columns = targets.as_ref().unwrap_or(&rows);
    let radii = engine.upload(&[&class.radii[..]])?;
    let limits = class.limits.as_ref().map(|limits| engine.upload(&[&limits[..]])).transpose()?;
    let words = count.div_ceil(32);
    let pairs =
        Pairs { engine, kind, rows: &rows, columns, row_classes: None, column_classes: None, bounds: None };
    let height = (RANKS / (size_of::<f32>() * count) / 32 * 32).max(32);
    let ranks = engine.room::<f32>(height.min(count) * count)?;
    for first in (0..count).step_by(height) {
        let rows = height.min(count - first);
        pairs.stripe((first, rows), &ranks)?;
        let coverage = Coverage {
            ranks: engine.address(&ranks, 0),
            first_row: first as u32,
            rows: rows as u32,
            count: count as u32,
            ranks_are_squares: u32::from(kind.ranks_are_squares()),
            radii: engine.address(&radii, 0),
            limits: engine.address_of_any(limits.as_ref(), 0),
            covers,
            covered_by,
            words: words as u32,
        };
        let blocks = (words * rows.div_ceil(32)).div_ceil(8) as u32;
        // SAFETY: `rows` rows of `count` ranks; each point has `words` words of bits, both ways.
        unsafe { engine.launch(((blocks, 1), (256, 1), 0), &coverage) }?;
    }
    Ok(())
}
