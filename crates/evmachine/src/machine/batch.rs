//! The rows of a batch on their way into a model: in order of class, made ready for the metric, with a tail size for each class.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{FeatureError, FitError, LabelError, RunError};
use crate::input::labels::{self, Labels};
use crate::input::standard::Standard;
use crate::machine::Machine;
use crate::machine::class::ClassModel;
use crate::machine::smoothing::{self, ClassRows, Smoothing};
use crate::machine::whitening::{self, Whitening};
use evmachine_engine::distance::{self, Columns};
use evmachine_engine::features::Features;
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::run::Run;
use evmachine_engine::tail::Rows;

/// The rows of a batch, grouped by class.
pub(crate) struct Batch<'a> {
    pub(crate) points: Points<'a>,
    /// Rows in order of class.
    pub(crate) order: Vec<usize>,
    /// Class of each of `order`.
    pub(crate) classes: Vec<u32>,
    /// By class, its part of `order`.
    pub(crate) ranges: Vec<Range<usize>>,
}

/// What tails meet instead of the batch where rows that are not learned stand in them: all rows.
pub(crate) struct Bystanders {
    pub(crate) columns: Box<dyn Columns>,
    /// By class, its own among the columns.
    pub(crate) own: Vec<Range<usize>>,
}

/// Refuses what cannot be learned by a model of so many dimensions.
pub(crate) fn check(
    dimensions: usize,
    metric: &Metric,
    features: &Features<'_>,
    labels: &Labels,
) -> Result<(), FitError> {
    if features.rows() != labels.len() {
        return Err(LabelError::Count { rows: features.rows(), labels: labels.len() }.into());
    }
    if features.rows() == 0 {
        return Err(FitError::NoRows);
    }
    if features.columns() != dimensions {
        return Err(FeatureError::Dimensions { expected: dimensions, found: features.columns() }.into());
    }
    if *metric == Metric::Euclidean {
        features.check_squares()?;
    }
    Ok(())
}

/// Class numbers of the labels in the model, which gets the new ones appended.
pub(crate) fn class_ids(model: &mut Machine, labels: &Labels) -> (Vec<u32>, Vec<String>) {
    let mut new = Vec::new();
    let known: HashMap<String, usize> = model
        .classes
        .iter()
        .enumerate()
        .map(|(number, class)| (labels::key(&class.name).into_owned(), number))
        .collect();
    let numbers: Vec<u32> = labels
        .names()
        .iter()
        .map(|name| {
            known.get(labels::key(name).as_ref()).copied().unwrap_or_else(|| {
                new.push(name.clone());
                model.classes.push(ClassModel { name: name.clone(), ..ClassModel::default() });
                model.classes.len() - 1
            }) as u32
        })
        .collect();
    (labels.ids().iter().map(|&id| numbers[id as usize]).collect(), new)
}

impl<'a> Batch<'a> {
    /// Of the `learned` rows among `points`; `ids` has the class of every row.
    pub(crate) fn new(points: Points<'a>, ids: &[u32], learned: &[usize], classes: usize) -> Self {
        let mut order = learned.to_vec();
        order.sort_by_key(|&row| ids[row]);
        let sorted: Vec<u32> = order.iter().map(|&row| ids[row]).collect();
        let start = |class: u32| sorted.partition_point(|&id| id < class);
        let ranges = (0..classes as u32).map(|class| start(class)..start(class + 1)).collect();
        Self { points, order, classes: sorted, ranges }
    }

    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows::new(&self.points, &self.order, &self.classes)
    }

    /// Whitens the rows, with the matrix of the first batch, which this may be.
    pub(crate) fn whiten(self, run: &Run<'_>, model: &mut Machine, is_first: bool) -> Result<Self, FitError> {
        let amount = model.params.whitening;
        if amount == 0.0 {
            return Ok(self);
        }
        if is_first {
            let rows =
                whitening::Grouped { points: &self.points, order: &self.order, classes: &self.classes };
            model.whitening = Some(Arc::new(Whitening::estimate(run, amount, &rows)?));
        }
        Ok(Self { points: model.whitened_in(run, self.points)?, ..self })
    }

    /// The rows of the batch and others that are not learned, as negatives: where they would be had all been learned.
    pub(crate) fn bystanders(
        &self,
        run: &Run<'_>,
        model: &Machine,
        ids: &[u32],
        others: &[usize],
    ) -> Result<Option<Bystanders>, RunError> {
        if others.is_empty() {
            return Ok(None);
        }
        let metric = &model.params.metric;
        let mut all = [&self.order[..], others].concat();
        all.sort_by_key(|&row| (ids[row], row));
        let start = |class: usize| all.partition_point(|&row| (ids[row] as usize) < class);
        let own: Vec<Range<usize>> =
            (0..model.classes.len()).map(|class| start(class)..start(class + 1)).collect();
        let columns = match smoothing_of(model) {
            None => distance::columns(metric, &self.points, &all),
            Some(smoothing) => {
                let classes: Vec<ClassRows<'_>> =
                    own.iter().map(|range| ClassRows { new: &all[range.clone()], old: &[] }).collect();
                let moved = smoothing::smooth(run, metric, smoothing, &self.points, &classes)?;
                distance::columns(metric, &moved, &all)
            }
        };
        Ok(Some(Bystanders { columns, own }))
    }

    /// Moves the rows towards their neighbours; where they were before, if they moved.
    pub(crate) fn smooth(&mut self, run: &Run<'_>, model: &Machine) -> Result<Option<Points<'a>>, RunError> {
        let Some(smoothing) = smoothing_of(model) else { return Ok(None) };
        let rows: Vec<ClassRows<'_>> = model
            .classes
            .iter()
            .zip(&self.ranges)
            .map(|(class, range)| ClassRows { new: &self.order[range.clone()], old: &class.vectors })
            .collect();
        let (metric, points) = (&model.params.metric, &self.points);
        let smoothed = smoothing::smooth_in(run, metric, smoothing, points, &rows)?;
        Ok(Some(std::mem::replace(&mut self.points, smoothed)))
    }
}

fn smoothing_of(model: &Machine) -> Option<Smoothing> {
    let (fraction, neighbors) = (model.params.smoothing, model.params.smoothing_neighbors);
    (fraction > 0.0 && neighbors > 1).then_some(Smoothing { fraction, neighbors })
}

/// Standardises by the columns of the first batch, which this may be, and groups the rows that are learned.
pub(crate) fn group<'a>(
    run: &Run<'_>,
    model: &mut Machine,
    features: &'a Features<'_>,
    (ids, learned): (&[u32], &[usize]),
    is_first: bool,
) -> Result<Batch<'a>, FitError> {
    if model.params.standardize && is_first {
        let raw = Points::ready(features.values(), features.columns());
        model.standard = Some(Arc::new(Standard::estimate(&raw, learned)));
    }
    let points = model.standardized_in(run, features)?;
    Ok(Batch::new(points, ids, learned, model.classes.len()))
}

/// Resolves the tail size of new classes; returns the classes with data whose size exceeds their negatives.
pub(crate) fn set_tail_sizes(
    model: &mut Machine,
    old_vectors: usize,
    batch: &Batch<'_>,
    bystanders: Option<&Bystanders>,
) -> Vec<String> {
    let met = |class: usize, own: &Range<usize>| match bystanders {
        None => batch.order.len() - own.len(),
        Some(bystanders) => bystanders.columns.len() - bystanders.own[class].len(),
    };
    let (ignored, guessed) = (model.ignored.len(), model.is_guessed());
    let held = model.points_held() as usize;
    let new_size = model.tail_size_of_new();
    let mut clipped = Vec::new();
    for (number, (class, range)) in model.classes.iter_mut().zip(&batch.ranges).enumerate() {
        let others = met(number, range) + ignored;
        // A class that was alone had no negatives to take a share of.
        let was_alone = guessed && number == 0;
        if class.points_seen == 0 || was_alone {
            let held = if was_alone { 0 } else { held };
            // A share is one of the rows learned from, of which a reduced model holds few.
            class.tail_size = new_size(held + others);
        }
        let negatives = old_vectors - class.len() + others;
        if !range.is_empty() && negatives > 0 && class.tail_size > negatives {
            clipped.push(class.name.clone());
        }
    }
    clipped
}
