//! Learning an increment: new points are fitted against the extreme vectors and the batch, old Psi-models take
//! in the new negatives, and the classes that got data choose their extreme vectors anew.
//!
//! With full tail memory, the merge of an old tail and new distances is the tail over all data that the extreme
//! vector was ever compared with. So with cover threshold 1 and a tail size given as a count, learning in any
//! number of batches gives the very model of learning all at once; with smoothing too, as long as no class is
//! spread over several batches. With whitening it does not hold: its matrix is that of the first batch.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::cover::{Cover, Target};
use crate::distance::{self, Columns};
use crate::error::{FeatureError, FitError, Halt, LabelError};
use crate::features::Features;
use crate::labels::Labels;
use crate::metric::Metric;
use crate::model::{Cache, ClassModel, Evm};
use crate::params::{Budget, Params, ReduceWhen, Refit, TailMemory};
use crate::points::Points;
use crate::progress::{Run, Stage};
use crate::psi::PsiModel;
use crate::reduce::Originals;
use crate::refit::{self, Bench, merge_sorted};
use crate::report::{Report, StageTimes};
use crate::smoothing::{self, ClassRows, Smoothing};
use crate::standard::Standard;
use crate::tail::{self, Against, Exchange, Exchanged, Rows};
use crate::tail_memory::{keeps_tails, remember_tails, remembered};
use crate::weibull::{self, Workspace};
use crate::whitening::{self, Whitening};

impl Evm {
    /// Learns new points, of known classes or new ones. On an error the model is as it was.
    ///
    /// Costs the distances of the new points to the extreme vectors and to each other, not a refit. Where there is a
    /// calibration, the threshold is set anew, at the cost of some thousand queries; a linear probe is fitted again at every
    /// update, from where it was, on the new rows and a sample of fifty rows of each class that the model keeps.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let (mut evm, _) = Evm::fit(&Params::default(), &features, &labels)?;
    /// let new = Features::new(vec![9.0, 9.1], 1)?;
    /// let report = evm.update(&new, &Labels::new(["top", "top"])?)?;
    /// assert_eq!(report.new_classes, ["top"]);
    /// assert_eq!(evm.decide(&new)?[0].class(), evm.class_index("top"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(&mut self, features: &Features<'_>, labels: &Labels) -> Result<Report, FitError> {
        self.update_with(&Run::new(), features, labels)
    }

    /// As [`update`](Self::update), watched and sized by `run`.
    pub fn update_with(
        &mut self,
        run: &Run<'_>,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<Report, FitError> {
        let (model, report) = self.updated(run, features, labels)?;
        *self = model;
        Ok(report)
    }

    /// The model that [`update_with`](Self::update_with) would make of this one, which stays as it is.
    pub fn updated(
        &self,
        run: &Run<'_>,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<(Self, Report), FitError> {
        let (mut model, mut report) = learn(run, self, features, labels)?;
        model.follow(run, features, labels, self.points_seen, &mut report)?;
        Ok((model, report))
    }
}

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

/// `old` with the batch learned, as a model of its own.
pub(crate) fn learn(
    run: &Run<'_>,
    old: &Evm,
    features: &Features<'_>,
    labels: &Labels,
) -> Result<(Evm, Report), FitError> {
    // On a thread of the pool from start to end: between its stages nobody has to be woken.
    rayon::scope(|_| learn_here(run, old, features, labels))
}

fn learn_here(
    run: &Run<'_>,
    old: &Evm,
    features: &Features<'_>,
    labels: &Labels,
) -> Result<(Evm, Report), FitError> {
    if features.rows() != labels.len() {
        return Err(LabelError::Count { rows: features.rows(), labels: labels.len() }.into());
    }
    if features.rows() == 0 {
        return Err(FitError::NoRows);
    }
    if features.columns() != old.dimensions {
        return Err(FeatureError::Dimensions { expected: old.dimensions, found: features.columns() }.into());
    }
    let metric = &old.params.metric;
    if *metric == Metric::Euclidean {
        features.check_squares()?;
    }
    let mut model = old.clone();
    model.cache = Cache::default();
    let (ids, new_classes) = class_ids(&mut model, labels);
    if model.classes.len() < 2 {
        return Err(FitError::OneClass { class: labels.name(0).to_owned() });
    }
    if old.params.standardize && old.classes.is_empty() {
        let rows: Vec<usize> = (0..features.rows()).collect();
        let raw = Points::ready(features.values(), features.columns());
        model.standard = Some(Arc::new(Standard::estimate(&raw, &rows)));
    }
    let mut batch = Batch::new(model.standardized(features)?, &ids, model.classes.len());
    let mut times = StageTimes::default();

    let clock = Instant::now();
    if old.params.whitening > 0.0 {
        if old.classes.is_empty() {
            let rows =
                whitening::Grouped { points: &batch.points, order: &batch.order, classes: &batch.classes };
            let estimated = Whitening::estimate(run, old.params.whitening, &rows)?;
            model.whitening = Some(Arc::new(estimated));
        }
        batch.points = model.whitened(batch.points)?;
    }
    times.whitening = clock.elapsed();

    let clock = Instant::now();
    let mut originals = None;
    if old.params.smoothing > 0.0 && old.params.smoothing_neighbors > 1 {
        let smoothed = smooth(run, &model, &batch)?;
        let points = std::mem::replace(&mut batch.points, smoothed);
        originals = Some(Originals { points, first: old.points_seen });
    }
    times.smoothing = clock.elapsed();

    let clipped = set_tail_sizes(&mut model, old.extreme_vector_count(), &batch);
    let sizes: Vec<usize> = model.classes.iter().map(|class| class.tail_size).collect();

    let clock = Instant::now();
    let columns = distance::columns(metric, &batch.points, &batch.order);
    let old_ranges = model.ranges();
    let met = against(old, columns.as_ref(), &batch, &old_ranges);
    let keep_tails = keeps_tails(&model, old.extreme_vector_count(), &batch);
    let exchanged = exchange(run, &model, &batch, &met, &sizes)?;
    let fits = fit_batch(run, &model, &batch, &met, &sizes, keep_tails, exchanged.as_ref())?;
    times.tails = clock.elapsed();

    let clock = Instant::now();
    let found = exchanged.map(|exchanged| exchanged.old);
    let refitted = refit::refit(run, &mut model, &met, &sizes, found.as_ref())?;
    times.refit = clock.elapsed();

    let clock = Instant::now();
    // Packed rows are let go before the model takes in its own copy of them, unless tails are measured once more.
    let columns = (model.tail_memory == TailMemory::Full && !keep_tails).then_some(columns);
    let report_fits = fits.iter().map(|(psi, _)| psi).collect();
    append(&mut model, &batch, fits, old.points_seen);
    let counts: Vec<usize> = old_ranges.iter().map(Range::len).collect();
    let covers = reduce_after(run, &mut model, &batch, originals.as_ref())?;
    let (added, dropped) = count_changes(covers.as_deref(), &counts, &batch);
    let again = columns.as_deref().map(|columns| against(old, columns, &batch, &old_ranges));
    remember_tails(run, &mut model, &batch, again.as_deref(), &sizes)?;
    times.cover = clock.elapsed();

    let with_data =
        || sizes.iter().zip(&batch.ranges).filter(|(_, range)| !range.is_empty()).map(|(size, _)| *size);
    let report = Report {
        rows: features.rows(),
        new_classes,
        classes: model.classes.len(),
        tail_sizes: (with_data().min().unwrap_or(0), with_data().max().unwrap_or(0)),
        clipped,
        fits: report_fits,
        refitted,
        added,
        dropped,
        extreme_vectors: model.extreme_vector_count(),
        vector_ratio: model.vector_ratio(),
        tail_memory: model.tail_memory,
        held_out: 0,
        probe_penalty: None,
        shares: None,
        tune_again: None,
        times,
    };
    Ok((model, report))
}

/// Class numbers of the labels in the model, which gets the new ones appended.
fn class_ids(model: &mut Evm, labels: &Labels) -> (Vec<u32>, Vec<String>) {
    let mut new = Vec::new();
    let known: HashMap<String, usize> =
        model.classes.iter().enumerate().map(|(number, class)| (class.name.clone(), number)).collect();
    let numbers: Vec<u32> = labels
        .names()
        .iter()
        .map(|name| {
            known.get(name).copied().unwrap_or_else(|| {
                new.push(name.clone());
                model.classes.push(ClassModel { name: name.clone(), ..ClassModel::default() });
                model.classes.len() - 1
            }) as u32
        })
        .collect();
    (labels.ids().iter().map(|&id| numbers[id as usize]).collect(), new)
}

impl<'a> Batch<'a> {
    fn new(points: Points<'a>, ids: &[u32], classes: usize) -> Self {
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|&row| ids[row]);
        let sorted: Vec<u32> = order.iter().map(|&row| ids[row]).collect();
        let start = |class: u32| sorted.partition_point(|&id| id < class);
        let ranges = (0..classes as u32).map(|class| start(class)..start(class + 1)).collect();
        Self { points, order, classes: sorted, ranges }
    }

    fn rows(&self) -> Rows<'_> {
        Rows {
            are_columns: true,
            points: &self.points,
            indices: &self.order,
            classes: &self.classes,
            bounds: None,
        }
    }
}

fn smooth(run: &Run<'_>, model: &Evm, batch: &Batch<'_>) -> Result<Points<'static>, Halt> {
    let smoothing =
        Smoothing { fraction: model.params.smoothing, neighbors: model.params.smoothing_neighbors };
    let rows: Vec<ClassRows<'_>> = model
        .classes
        .iter()
        .zip(&batch.ranges)
        .map(|(class, range)| ClassRows { new: &batch.order[range.clone()], old: &class.vectors })
        .collect();
    smoothing::smooth(run, &model.params.metric, smoothing, &batch.points, &rows)
}

/// Resolves the tail size of new classes; returns the classes with data whose size exceeds their negatives.
fn set_tail_sizes(model: &mut Evm, old_vectors: usize, batch: &Batch<'_>) -> Vec<String> {
    let classes = model.classes.len();
    let held = model.points_held() as usize;
    let mut clipped = Vec::new();
    for (class, range) in model.classes.iter_mut().zip(&batch.ranges) {
        let others = batch.order.len() - range.len();
        if class.points_seen == 0 {
            // A share is one of the rows learned from, of which a reduced model holds few.
            class.tail_size = model.params.tail_size.resolve(model.dimensions, classes, held + others);
        }
        if !range.is_empty() && class.tail_size > old_vectors - class.len() + others {
            clipped.push(class.name.clone());
        }
    }
    clipped
}

/// The old extreme vectors, if any, and the batch.
fn against<'a>(
    old: &'a Evm,
    columns: &'a dyn Columns,
    batch: &'a Batch<'_>,
    old_ranges: &'a [Range<usize>],
) -> Vec<Against<'a>> {
    let batch = Against { columns, own: &batch.ranges };
    if old.classes.is_empty() {
        return vec![batch];
    }
    vec![Against { columns: old.columns(), own: old_ranges }, batch]
}

type Fit = (PsiModel, Arc<[f32]>);

/// Distances between the batch and the extreme vectors, measured once where both sides need them.
fn exchange(
    run: &Run<'_>,
    model: &Evm,
    batch: &Batch<'_>,
    against: &[Against<'_>],
    sizes: &[usize],
) -> Result<Option<Exchanged>, Halt> {
    let [old, _] = against else { return Ok(None) };
    if model.tail_memory != TailMemory::Full || model.params.refit == Refit::New {
        return Ok(None);
    }
    let vectors = refit::Old::new(model, sizes);
    let exchange = Exchange {
        metric: &model.params.metric,
        new: batch.rows(),
        old: *old,
        old_classes: &vectors.classes,
        old_bounds: &vectors.bounds(),
        sizes,
    };
    exchange.measure(run)
}

/// Fits the tails of the batch: those among `against`, or what was exchanged with the first of them and what is found
/// within the batch.
fn fit_batch(
    run: &Run<'_>,
    model: &Evm,
    batch: &Batch<'_>,
    against: &[Against<'_>],
    sizes: &[usize],
    keep_tails: bool,
    exchanged: Option<&Exchanged>,
) -> Result<Vec<Fit>, Halt> {
    let params = &model.params;
    let memory = match model.tail_memory {
        TailMemory::Full if !keep_tails => TailMemory::Max,
        memory => memory,
    };
    let against = if exchanged.is_some() { &against[against.len() - 1..] } else { against };
    tail::stream(
        run,
        Stage::Tails,
        &params.metric,
        &batch.rows(),
        against,
        sizes,
        |row, tail, bench: &mut Bench| {
            let size = sizes[batch.classes[row] as usize];
            let tail = match exchanged.map(|exchanged| &exchanged.new[row][..]) {
                None => tail,
                Some(nearest) if merge_sorted(nearest, tail, size, &mut bench.merged) => &bench.merged,
                Some(nearest) => nearest,
            };
            (fit_tail(tail, params, &mut bench.workspace), remembered(tail, size, memory))
        },
    )
}

/// `tail` is not empty: there are at least two classes.
pub(crate) fn fit_tail(tail: &[f32], params: &Params, workspace: &mut Workspace) -> PsiModel {
    weibull::fit(tail, params.distance_multiplier, params.tail_model, params.fixed_shape, workspace)
}

/// Adds the new points to their classes, behind the extreme vectors.
fn append(model: &mut Evm, batch: &Batch<'_>, fits: Vec<Fit>, points_before: u64) {
    for ((position, &row), (psi, tail)) in batch.order.iter().enumerate().zip(fits) {
        let class = &mut model.classes[batch.classes[position] as usize];
        class.psi.push(psi);
        class.tails.push(tail);
        class.sources.push(points_before + row as u64);
        class.gains.push(1.0);
        class.points_seen += 1;
    }
    for (class, range) in model.classes.iter_mut().zip(&batch.ranges) {
        if !range.is_empty() {
            Arc::make_mut(&mut class.vectors).extend(batch.points.gather(&batch.order[range.clone()]));
        }
    }
    model.points_seen += batch.order.len() as u64;
}

/// Chooses extreme vectors for the classes that got data, or for all under a total budget. `None`: all are kept.
fn reduce_after(
    run: &Run<'_>,
    model: &mut Evm,
    batch: &Batch<'_>,
    originals: Option<&Originals<'_>>,
) -> Result<Option<Vec<(usize, Cover)>>, Halt> {
    let target = Target::new(&model.params, model.points_held());
    let within = target.is_met(model.classes.iter().map(ClassModel::len));
    if model.params.reduce_when == ReduceWhen::OverBudget && within {
        return Ok(None);
    }
    let shared = matches!(model.params.max_extreme_vectors, Some(Budget::Total(_) | Budget::Ratio(_)));
    let classes: Vec<usize> =
        (0..model.classes.len()).filter(|&class| shared || !batch.ranges[class].is_empty()).collect();
    let covers = model.choose(run, &classes, originals)?;
    Ok(Some(classes.into_iter().zip(covers).collect()))
}

/// New rows that became extreme vectors, and extreme vectors that were dropped.
fn count_changes(
    covers: Option<&[(usize, Cover)]>,
    old_counts: &[usize],
    batch: &Batch<'_>,
) -> (usize, usize) {
    let Some(covers) = covers else { return (batch.order.len(), 0) };
    covers.iter().fold((0, 0), |(added, dropped), (class, cover)| {
        let old = old_counts[*class];
        let old_kept = cover.order.iter().filter(|&&position| position < old).count();
        (added + cover.order.len() - old_kept, dropped + old - old_kept)
    })
}
