//! Learning from a batch (Alg. 1), stage after stage.
//!
//! A fit learns from nothing, an update from a machine; both take this road. What is held out, weighed and calibrated around it stands in
//! `learn/`.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::clock::Clock;
use crate::error::FitError;
use crate::input::labels::Labels;
use crate::machine::Machine;
use crate::machine::batch::{self, Batch, Bystanders};
use crate::machine::choose::{self, Originals};
use crate::machine::class::ClassModel;
use crate::machine::exchange::{self, Exchanged};
use crate::machine::lookup::Cache;
use crate::machine::measured::{MeasuredRows, Measuring};
use crate::machine::refit;
use crate::machine::report::{Report, StageTimes};
use crate::machine::tail_memory::{NewTails, forget_tails, keeps_tails, remember_tails};
use crate::params::TailMemory;
use evmachine_engine::TailError;
use evmachine_engine::distance::Columns;
use evmachine_engine::features::Features;
use evmachine_engine::psi::{FitStatus, PsiModel};
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::tail::fitted::{Fit, Fitted, Whole, Wish};
use evmachine_engine::tail::{self, Against, Problem, Rows};

/// What a model learns from.
#[derive(Clone, Copy)]
pub(crate) struct Lesson<'a> {
    pub(crate) features: &'a Features<'a>,
    pub(crate) labels: &'a Labels,
    /// The rows to learn, in rising order. The others get their number in the model and leave no other trace.
    pub(crate) learned: &'a [usize],
    /// Rows that stand in the tails of other classes and are not learned otherwise, in rising order. With them, tails meet all rows where
    /// they would be had all been learned. For a model of few rows, that is fitted from nothing and thrown away.
    pub(crate) negatives: &'a [usize],
    /// Samples that are no class, in the first lesson of a model.
    pub(crate) ignored: Option<&'a Features<'a>>,
    /// The numbers of the rows in the model, in rising order, if the machine counts its rows otherwise.
    pub(crate) numbers: Option<&'a [u64]>,
}

impl Lesson<'_> {
    /// The number of a row in the model, where the machine has been given so many rows before.
    fn number(&self, before: u64, row: usize) -> u64 {
        self.numbers.map_or(before + row as u64, |numbers| numbers[row])
    }

    /// Rows ever given to the model once the lesson is learned.
    fn rows_after(&self, before: u64) -> u64 {
        match self.numbers {
            None => before + self.features.rows() as u64,
            Some(numbers) => numbers.last().map_or(before, |last| before.max(last + 1)),
        }
    }
}

/// `old` with the lesson learned, as a model of its own.
pub(crate) fn learn(
    run: &Run<'_>,
    old: &Machine,
    lesson: &Lesson<'_>,
) -> Result<(Machine, Report), FitError> {
    // On a thread of the pool from start to end: between its stages nobody has to be woken.
    rayon::scope(|_| learn_here(run, old, lesson))
}

fn learn_here(run: &Run<'_>, old: &Machine, lesson: &Lesson<'_>) -> Result<(Machine, Report), FitError> {
    let &Lesson { features, labels, learned, negatives, ignored, .. } = lesson;
    let metric = &old.params.metric;
    batch::check(old.dimensions, metric, features, labels)?;
    let is_first = old.classes.is_empty();
    let mut model = old.clone();
    model.cache = Cache::default();
    let (ids, new_classes) = batch::class_ids(&mut model, labels);
    let batch = batch::group(run, &mut model, features, (&ids, learned), is_first)?;
    let mut times = StageTimes::default();

    let clock = Clock::start();
    let mut batch = batch.whiten(run, &mut model, is_first)?;
    times.whitening = clock.elapsed();

    let clock = Clock::start();
    let bystanders = batch.bystanders(run, &model, &ids, negatives)?;
    let originals = batch.smooth(run, &model)?.map(|points| Originals { points, first: old.points_seen });
    times.smoothing = clock.elapsed();

    if let Some(ignored) = ignored {
        let first = old.points_seen + features.rows() as u64;
        model.take_ignored(ignored, first).map_err(|error| FitError::Ignored { error })?;
    }
    let clipped = batch::set_tail_sizes(&mut model, old.extreme_vector_count(), &batch, bystanders.as_ref());
    let sizes: Vec<usize> = model.classes.iter().map(|class| class.tail_size).collect();

    let clock = Clock::start();
    let columns = tail::columns(run, metric, &batch.points, &batch.order);
    let old_ranges = model.ranges();
    let strangers = Strangers::new(&model);
    let mut met = against(old, columns.as_ref(), &batch, &old_ranges, &strangers);
    let rows = meet_bystanders(&batch, bystanders.as_ref(), &mut met);
    let measuring = Measuring::of(&model, lesson.rows_after(old.points_seen));
    let measured = measuring
        .filter(|_| bystanders.is_none())
        .map(|measuring| measuring.of_batch(&batch, |row| lesson.number(old.points_seen, row)));
    let keep_tails = keeps_tails(&model, old.extreme_vector_count(), &batch, measured.as_ref());
    let mut plans = Vec::new();
    let mut recall = None;
    let alone = model.is_alone();
    let mut tails = Whole::Kept;
    let (fits, refitted) = if alone {
        (vec![(UNFITTED, Arc::default()); batch.order.len()], 0)
    } else {
        let exchanged = match measured {
            Some(_) => None,
            None => exchange::exchange(run, &model, &batch, &met, &sizes, &mut plans)?,
        };
        let wish = wish(&model, keep_tails, exchanged.as_ref());
        let problem =
            Problem::new((run, Stage::Tails), metric, rows, &met, &sizes).searched(model.params.search);
        let fitted = match &measured {
            Some(measured) => fitted_by_sample(&problem, &wish, measured, &batch, &model)?,
            None => problem.fitted(&wish)?,
        };
        plans.push(fitted.plan);
        (recall, tails) = (fitted.recall, fitted.tails);
        times.tails = clock.elapsed();

        let clock = Clock::start();
        let found = exchanged.map(|exchanged| exchanged.old);
        let refitted = refit::refit(run, &mut model, &met, &sizes, found.as_deref())?;
        times.refit = clock.elapsed();
        if recall.is_some() && !keep_tails && model.tail_memory == TailMemory::Full {
            // Measuring the tails of extreme vectors again would take all pairs.
            forget_tails(&mut model);
        }
        if let Some(measuring) = measuring {
            model.measure_fewer(measuring);
        }
        (fitted.fits, refitted)
    };

    let clock = Clock::start();
    // Packed rows are let go before the model takes in its own copy of them, unless tails are measured once more.
    let stored = match &tails {
        Whole::Stored(stored) => Some(stored),
        _ => None,
    };
    let again = model.tail_memory == TailMemory::Full && matches!(tails, Whole::Measure);
    let columns = again.then_some(columns);
    let mut report_fits = fits.iter().map(|(psi, _)| psi).collect();
    // Rows in a scratch come class by class, so that vectors that the cover drops are never all in memory.
    let by_class = stored.is_some() || (run.store().is_some() && !alone);
    append(&mut model, &batch, fits, old.points_seen, !by_class);
    if alone {
        model.be_alone(run)?;
        report_fits = model.classes[0].psi.iter().rev().take(learned.len()).collect();
    }
    let counts: Vec<usize> = old_ranges.iter().map(Range::len).collect();
    let covers = choose::reduce_after(run, &mut model, &batch, originals.as_ref(), by_class)?;
    let (added, dropped) = choose::count_changes(covers.as_deref(), &counts, &batch);
    let again = columns.as_deref().map(|columns| against(old, columns, &batch, &old_ranges, &strangers));
    let new = NewTails::new(again.as_deref(), stored, keep_tails);
    remember_tails(run, &mut model, &batch, &new, (&sizes, old.points_seen))?;
    times.cover = clock.elapsed();
    let given = features.rows() + ignored.map_or(0, Features::rows);
    model.points_seen = old.points_seen + given as u64;

    let counts = Counts { sizes: &sizes, refitted, added, dropped };
    let report = Report {
        new_classes,
        clipped,
        fits: report_fits,
        plans,
        recall,
        times,
        ..counts.report(&model, &batch)
    };
    Ok((model, report))
}

/// What a lesson changed.
struct Counts<'a> {
    /// Tail sizes of the classes.
    sizes: &'a [usize],
    refitted: usize,
    added: usize,
    dropped: usize,
}

impl Counts<'_> {
    /// As far as the model as it is now tells it.
    fn report(&self, model: &Machine, batch: &Batch<'_>) -> Report {
        let with_data = || {
            let given = self.sizes.iter().zip(&batch.ranges).filter(|(_, range)| !range.is_empty());
            given.map(|(size, _)| *size)
        };
        Report {
            rows: batch.order.len(),
            new_classes: Vec::new(),
            classes: model.classes.len(),
            tail_sizes: (with_data().min().unwrap_or(0), with_data().max().unwrap_or(0)),
            clipped: Vec::new(),
            fits: [].into_iter().collect(),
            refitted: self.refitted,
            added: self.added,
            dropped: self.dropped,
            extreme_vectors: model.extreme_vector_count(),
            vector_ratio: model.vector_ratio(),
            tail_memory: model.tail_memory,
            alone: model.is_alone().then(|| model.class_name(0).to_owned()),
            held_out: 0,
            probe_penalty: None,
            shares: None,
            tune_again: None,
            plans: Vec::new(),
            recall: None,
            times: StageTimes::default(),
        }
    }
}

/// The fits of a batch of which some rows are measured: of all rows if these have no estimate, for then there is no mean to take.
fn fitted_by_sample(
    problem: &Problem<'_>,
    wish: &Wish<'_>,
    measured: &MeasuredRows,
    batch: &Batch<'_>,
    model: &Machine,
) -> Result<Fitted, TailError> {
    let fitted = problem.for_rows(measured.rows(batch)).fitted(wish)?;
    let fits = measured.among_all(fitted.fits, batch.order.len());
    if model.has_estimates(&fits) { Ok(Fitted { fits, ..fitted }) } else { problem.fitted(wish) }
}

/// Ignored samples, laid out; they are negatives of all classes.
struct Strangers {
    columns: Option<Arc<dyn Columns>>,
    own: Vec<Range<usize>>,
}

impl Strangers {
    fn new(model: &Machine) -> Self {
        let columns = model.ignored.columns(&model.params.metric, model.dimensions);
        Self { columns, own: vec![0..0; model.classes.len()] }
    }
}

/// The old extreme vectors and the ignored samples, if any, and the batch.
fn against<'a>(
    old: &'a Machine,
    columns: &'a dyn Columns,
    batch: &'a Batch<'_>,
    old_ranges: &'a [Range<usize>],
    strangers: &'a Strangers,
) -> Vec<Against<'a>> {
    let old = (!old.classes.is_empty()).then(|| Against { columns: old.columns(), own: old_ranges });
    let ignored = strangers.columns.as_deref().map(|columns| Against { columns, own: &strangers.own });
    let batch = Against { columns, own: &batch.ranges };
    old.into_iter().chain(ignored).chain([batch]).collect()
}

/// The rows of the batch, which meet themselves at last, or the bystanders in their place.
fn meet_bystanders<'a>(
    batch: &'a Batch<'_>,
    bystanders: Option<&'a Bystanders>,
    met: &mut [Against<'a>],
) -> Rows<'a> {
    match (bystanders, met.last_mut()) {
        (Some(bystanders), Some(last)) => {
            *last = Against { columns: bystanders.columns.as_ref(), own: &bystanders.own };
            batch.rows()
        }
        _ => batch.rows().among_themselves(),
    }
}

fn wish<'a>(model: &Machine, keep_tails: bool, exchanged: Option<&'a Exchanged>) -> Wish<'a> {
    Wish {
        rule: model.params.fit_rule(),
        memory: model.tail_memory,
        may_keep: keep_tails,
        exchanged: exchanged.map(|exchanged| &exchanged.new[..]),
    }
}

/// Stands in for the fit of a class that is alone.
const UNFITTED: PsiModel = PsiModel { shape: 1.0, scale: 0.0, shift: 0.0, status: FitStatus::WithinClass };

/// Adds the new points to their classes, behind the extreme vectors, with their vectors or without.
fn append(model: &mut Machine, batch: &Batch<'_>, fits: Vec<Fit>, points_before: u64, with_vectors: bool) {
    for ((position, &row), (psi, tail)) in batch.order.iter().enumerate().zip(fits) {
        let class = &mut model.classes[batch.classes[position] as usize];
        class.psi.push(psi);
        class.tails.push(tail);
        class.sources.push(points_before + row as u64);
        class.gains.push(1.0);
        class.points_seen += 1;
    }
    if with_vectors {
        let everything: Vec<usize> = (0..model.classes.len()).collect();
        take_vectors(model, batch, &everything);
    }
}

/// Gives some classes, in order, the vectors of their new points.
pub(crate) fn take_vectors(model: &mut Machine, batch: &Batch<'_>, classes: &[usize]) {
    let wanted = |(number, _): &(usize, &mut ClassModel)| {
        !batch.ranges[*number].is_empty() && classes.binary_search(number).is_ok()
    };
    model.classes.par_iter_mut().enumerate().filter(wanted).for_each(|(number, class)| {
        let new = batch.points.gather(&batch.order[batch.ranges[number].clone()]);
        class.vectors = if class.vectors.is_empty() {
            Arc::new(new)
        } else {
            Arc::new([&class.vectors[..], &new].concat())
        };
    });
}
