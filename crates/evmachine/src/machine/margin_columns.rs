//! What tails are gathered from while rows are on their way.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::RunError;
use crate::machine::Machine;
use crate::machine::margins::Moving;
use crate::machine::refit::Old;
use evmachine_engine::distance::{self, Columns, Tile};
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::tail::{Against, Problem, Rows};

/// With so many rows gone, laying out the rest takes less time than measuring those that are gone as well.
const MANY: usize = 64;

/// The extreme vectors as they were before the edit, and what became of them. Their layout, of which a model has one as soon
/// as it has answered, serves the edit too, so that an edit of a row does not copy all the others.
pub(crate) struct LayoutBefore<'a> {
    before: &'a Machine,
    /// By class of the model, its number before.
    numbers: Vec<Option<usize>>,
    /// Rows that left classes, with the number of their class before.
    gone: Vec<(usize, Vec<f32>)>,
}

impl<'a> LayoutBefore<'a> {
    pub(crate) fn new(before: &'a Machine) -> Self {
        Self { before, numbers: (0..before.classes.len()).map(Some).collect(), gone: Vec::new() }
    }

    /// Notes that a row left a class.
    pub(crate) fn leaves(&mut self, class: usize, vector: &[f32]) {
        if let Some(number) = self.numbers[class] {
            self.gone.push((number, vector.to_vec()));
        }
    }

    /// Notes a class that is new, behind all others.
    pub(crate) fn begins(&mut self) {
        self.numbers.push(None);
    }

    /// Whether the distances of rows to all extreme vectors are had from the layout: it is there, or `wanted` anyway, the rows are
    /// few, and a pair has the same distance from both of its ends.
    pub(crate) fn serves(&self, moving: &Moving<'_>, wanted: bool) -> bool {
        let few = self.gone.len() < MANY && moving.len() < MANY;
        few && (wanted || self.before.has_columns())
            && !matches!(self.before.params.metric, Metric::Custom(_))
    }

    /// For each extreme vector of the model, its distances to moving rows that concern it and lie within its tail, sorted.
    ///
    /// The moving rows are the rows of the tiles here, so that nothing of the model is laid out for them.
    pub(crate) fn distances(
        &self,
        run: &Run<'_>,
        old: &Old<'_>,
        moving: &Moving<'_>,
    ) -> Result<Vec<Vec<f32>>, RunError> {
        let (columns, metric) = (self.before.columns(), &self.before.params.metric);
        let places = self.places(old);
        let bounds = old.bounds_of(&old.all);
        let points = moving.points(self.before.dimensions);
        let block = columns.block(&points, &(0..points.len()).collect::<Vec<_>>());
        let meter = run.meter(Stage::Refit, places.len());
        let parts: Result<Vec<Vec<(usize, f32)>>, RunError> = (0..places.len())
            .into_par_iter()
            .step_by(run.tile_columns())
            .map_init(Tile::default, |tile, start| {
                meter.check()?;
                let range = start..(start + run.tile_columns()).min(places.len());
                columns.ranks(&block, range.clone(), tile)?;
                let mut found = Vec::new();
                for row in 0..points.len() {
                    for (place, &rank) in places[range.clone()].iter().zip(tile.row(row)) {
                        let Some(place) = *place else { continue };
                        if rank < bounds[place] && moving.concerns(row, old.classes[place]) {
                            found.push((place, metric.distance_of_rank(rank)));
                        }
                    }
                }
                meter.advance(range.len())?;
                Ok(found)
            })
            .collect();
        let mut distances = vec![Vec::new(); old.all.len()];
        for (place, distance) in parts?.into_iter().flatten() {
            distances[place].push(distance);
        }
        for found in &mut distances {
            found.sort_unstable_by(f32::total_cmp);
        }
        Ok(distances)
    }

    /// Of each extreme vector before, its place among those of the model; `None` where it is gone. What is left is in the same order.
    fn places(&self, old: &Old<'_>) -> Vec<Option<usize>> {
        let mut places = vec![None; self.before.extreme_vector_count()];
        let before = self.before.ranges();
        let mut place = 0;
        for (sources, number) in old.sources().zip(&self.numbers) {
            let Some(number) = *number else { continue };
            let mut left = sources.iter().peekable();
            for (at, source) in before[number].clone().zip(&self.before.classes[number].sources) {
                if left.next_if_eq(&source).is_some() {
                    places[at] = Some(place);
                    place += 1;
                }
            }
        }
        places
    }

    /// Notes which classes are left.
    pub(crate) fn keeps(&mut self, is_left: impl Fn(usize) -> bool) {
        let mut class = 0;
        self.numbers.retain(|_| {
            class += 1;
            is_left(class - 1)
        });
    }
}

/// What a model measures margins against, its extreme vectors and ignored samples, laid out.
pub(crate) struct MarginColumns<'a> {
    extreme_vectors: &'a dyn Columns,
    /// By class.
    ranges: Vec<Range<usize>>,
    gone: Option<RemovedRows>,
    ignored: Option<Arc<dyn Columns>>,
    nobody: Vec<Range<usize>>,
}

/// Rows among the columns that are not there any more.
struct RemovedRows {
    columns: Box<dyn Columns>,
    /// By class of the model, those that were its own.
    own: Vec<Range<usize>>,
}

impl<'a> MarginColumns<'a> {
    pub(crate) fn new(model: &'a Machine, laid: Option<&LayoutBefore<'a>>) -> Self {
        let nobody = vec![0..0; model.classes.len()];
        let ignored = model.ignored.columns(&model.params.metric, model.dimensions);
        match laid.filter(|laid| laid.gone.len() < MANY) {
            None => {
                Self { extreme_vectors: model.columns(), ranges: model.ranges(), gone: None, ignored, nobody }
            }
            Some(laid) => {
                let ranges = laid.before.ranges();
                let range = |number: &Option<usize>| number.map_or(0..0, |number| ranges[number].clone());
                Self {
                    extreme_vectors: laid.before.columns(),
                    ranges: laid.numbers.iter().map(range).collect(),
                    gone: RemovedRows::new(laid),
                    ignored,
                    nobody,
                }
            }
        }
    }

    pub(crate) fn against(&self) -> Vec<Against<'_>> {
        let extreme_vectors = Against { columns: self.extreme_vectors, own: &self.ranges };
        let ignored = self.ignored.as_deref().map(|columns| Against { columns, own: &self.nobody });
        std::iter::once(extreme_vectors).chain(ignored).collect()
    }

    /// Hands to `finish` the nearest negatives of some extreme vectors, as many as a tail of their class has.
    pub(crate) fn nearest<W: Default, R: Send>(
        &self,
        run: &Run<'_>,
        old: &Old<'_>,
        some: &[usize],
        finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
    ) -> Result<Vec<R>, RunError> {
        let classes: Vec<u32> = some.iter().map(|&row| old.classes[row]).collect();
        let points = old.points();
        let rows = Rows::new(&points, some, &classes);
        let (metric, stage) = (old.metric(), (run, Stage::Refit));
        let against = self.against();
        let Some(gone) = &self.gone else {
            return Problem::new(stage, metric, rows, &against, old.sizes).tails(finish);
        };
        let every = vec![gone.columns.len(); old.sizes.len()];
        let among = [Against { columns: gone.columns.as_ref(), own: &gone.own }];
        let stale: Vec<Vec<f32>> = Problem::new(stage, metric, rows, &among, &every)
            .tails(|_, found, (): &mut ()| found.to_vec())?;
        let sizes: Vec<usize> =
            old.sizes.iter().map(|size| size.saturating_add(gone.columns.len())).collect();
        let problem = Problem::new(stage, metric, rows, &against, &sizes);
        problem.tails(|position, found, (workspace, tail): &mut (W, Vec<f32>)| {
            remove_each(found, &stale[position], tail);
            tail.truncate(old.sizes[classes[position] as usize]);
            finish(position, tail, workspace)
        })
    }
}

impl RemovedRows {
    fn new(laid: &LayoutBefore<'_>) -> Option<Self> {
        if laid.gone.is_empty() {
            return None;
        }
        let mut gone: Vec<&(usize, Vec<f32>)> = laid.gone.iter().collect();
        gone.sort_by_key(|(number, _)| *number);
        let own = laid.numbers.iter().map(|number| {
            let start = |of: usize| gone.partition_point(|(number, _)| *number < of);
            number.map_or(0..0, |number| start(number)..start(number + 1))
        });
        let own = own.collect();
        let points =
            Points::rows(gone.iter().map(|(_, vector)| &vector[..]).collect(), laid.before.dimensions);
        let all: Vec<usize> = (0..points.len()).collect();
        Some(Self { columns: distance::columns(&laid.before.params.metric, &points, &all), own })
    }
}

/// Puts `values` without one entry for each of `gone` into `kept`. Both are sorted.
///
/// A pair has one distance, so what is gone is among the values bit for bit, unless it lies beyond their end.
pub(crate) fn remove_each(values: &[f32], gone: &[f32], kept: &mut Vec<f32>) {
    let mut gone = gone.iter().peekable();
    kept.clear();
    kept.extend(values.iter().copied().filter(|value| gone.next_if(|gone| *gone == value).is_none()));
}
