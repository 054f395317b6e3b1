//! Watches a stream of queries for drift.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;

use crate::answer::decision::Decision;
use crate::drift::cause;
use crate::drift::martingale::{Bet, FALLS, MOVES, Martingale};
use crate::drift::rank::Ranks;
use crate::drift::report::{DriftAlarm, DriftBasis, DriftReport, DriftWatch};
use crate::drift::rows::{KeptRows, Seen, most};
use crate::drift::view::{NAMES, NUMBERS, View};
use crate::error::RunError;
use crate::heldout::sample::Role;
use crate::json::finite;
use crate::model::Evm;
use evmachine_engine::features::Features;
use evmachine_engine::math::spread;
use evmachine_engine::run::Run;

/// Reference rows that a class needs for ranks of its own.
const FEWEST_OF_CLASS: f64 = 20.0;
/// Watches over classes that a report shows.
const SHOWN: usize = 10;
/// Rows that are decided between two looks at whether to go on.
const TOGETHER: usize = 4096;

/// A stream that cannot be watched.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum DriftError {
    /// A rate of false alarms that is none.
    #[error("the rate of false alarms is {rate}; it must be above 0 and below 1")]
    Rate {
        /// What was given.
        rate: f64,
    },
    /// The state is that of another model, or damaged.
    #[error(
        "the state of the drift monitor is not one of this model; begin with a new one when the model has changed"
    )]
    OtherModel,
    /// As many decisions as rows are needed.
    #[error("{decisions} decisions for {rows} rows; there must be one for each row")]
    Decisions {
        /// Rows given.
        rows: usize,
        /// Decisions given.
        decisions: usize,
    },
    /// The run ended early: bad features, the metric, a device, a disk, or an observer that asked to stop.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Watches a stream of queries, and says when they do not come as the calibrating rows did any more.
///
/// Its state can be written and read by serde, and goes on where it was: with the same rows in the same order a stream that was
/// interrupted raises the same alarms.
///
/// ```
/// use evmachine::{CauseKind, DriftMonitor, Evm, Features, Labels, Params};
///
/// let wave = |i: usize| (i as f32 * 0.7).sin() + (i as f32 * 0.13).cos();
/// let values: Vec<f32> = (0..4000).flat_map(|i| [wave(i) + (i % 2) as f32 * 9.0, wave(i + 5000)]).collect();
/// let labels = Labels::new((0..4000).map(|i| ["low", "high"][i % 2]))?;
/// let (evm, _) = Evm::fit(&Params::plain(), &Features::new(values, 2)?, &labels)?;
///
/// let mut monitor = DriftMonitor::new(&evm, 0.01)?;
/// let moved: Vec<f32> = (4000..5000).flat_map(|i| [wave(i) + (i % 2) as f32 * 9.0 + 2.0, wave(i + 5000) + 2.0]).collect();
/// monitor.observe(&evm, &Features::new(moved, 2)?)?;
/// let report = monitor.report(&evm)?;
/// assert!(report.alarm.is_some());
/// assert_eq!(report.cause.map(|cause| cause.kind), Some(CauseKind::Moved));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DriftMonitor {
    /// Of the model that it is for.
    model: u64,
    rate: f64,
    seed: u64,
    basis: DriftBasis,
    view: View,
    /// By class, its place among the ranks; the last is that of classes too small for their own.
    places: Vec<u32>,
    /// By place, first by score, then by the numbers of vectors.
    ranks: Vec<[Ranks; 1 + NUMBERS]>,
    /// Over all rows, then by place but the last, then by number.
    martingales: Vec<Martingale>,
    reference_rows: u64,
    rows: u64,
    /// Ties broken so far.
    draws: u64,
    alarm: Option<(DriftAlarm, usize)>,
    before: KeptRows,
    last: KeptRows,
}

impl DriftMonitor {
    /// Compares with the rows that the model holds and never learned, if there are any. `rate` is the chance, at most, that a stream
    /// without drift ever raises an alarm.
    pub fn new(evm: &Evm, rate: f64) -> Result<Self, DriftError> {
        Self::new_with(&Run::new(), evm, rate)
    }

    /// As [`new`](Self::new), watched and sized by `run`.
    pub fn new_with(run: &Run<'_>, evm: &Evm, rate: f64) -> Result<Self, DriftError> {
        let sample = evm.held.sample.as_deref();
        let unseen = sample
            .map_or(Vec::new(), |sample| sample.positions(|role| matches!(role, Role::Held | Role::Fresh)));
        let Some(sample) = sample.filter(|_| !unseen.is_empty()) else {
            return Self::begin(evm, rate, DriftBasis::Stream, 0);
        };
        let mut monitor = Self::begin(evm, rate, DriftBasis::HeldOut, unseen.len())?;
        // Sorted by class in the model; ranks do not depend on the order, which rows are kept does.
        let mut unseen = unseen;
        unseen.sort_by_key(|&row| spread(row as u64));
        monitor.refer_to(run, evm, &sample.features().select(&unseen))?;
        Ok(monitor)
    }

    /// Compares with the given rows, which the model must not have learned and which come as the queries of a quiet stream do.
    pub fn with_reference(evm: &Evm, reference: &Features<'_>, rate: f64) -> Result<Self, DriftError> {
        Self::with_reference_with(&Run::new(), evm, reference, rate)
    }

    /// As [`with_reference`](Self::with_reference), watched and sized by `run`.
    pub fn with_reference_with(
        run: &Run<'_>,
        evm: &Evm,
        reference: &Features<'_>,
        rate: f64,
    ) -> Result<Self, DriftError> {
        let mut monitor = Self::begin(evm, rate, DriftBasis::Given, reference.rows())?;
        monitor.refer_to(run, evm, reference)?;
        Ok(monitor)
    }

    /// Breaks ties by another seed than 0.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    fn begin(evm: &Evm, rate: f64, basis: DriftBasis, reference: usize) -> Result<Self, DriftError> {
        if !(rate > 0.0 && rate < 1.0) {
            return Err(DriftError::Rate { rate });
        }
        let columns = evm.dimensions();
        // By what was learned, so that it does not depend on the rows that are ranked.
        let learned: f64 = evm.classes().map(|class| class.points_seen as f64).sum();
        let reference = if basis == DriftBasis::Stream { 1_000.0 } else { reference as f64 };
        let mut own = 0;
        let places: Vec<Option<u32>> = evm
            .classes()
            .map(|class| {
                let expected = reference * class.points_seen as f64 / learned.max(1.0);
                (expected >= FEWEST_OF_CLASS).then(|| {
                    own += 1;
                    own - 1
                })
            })
            .collect();
        let mut martingales = vec![Martingale::new(FALLS); 1 + own as usize];
        martingales.extend(vec![Martingale::new(MOVES); NUMBERS]);
        Ok(Self {
            model: model_of(evm),
            rate,
            seed: 0,
            basis,
            view: View::of(evm),
            places: places.into_iter().map(|place| place.unwrap_or(own)).collect(),
            ranks: vec![Default::default(); own as usize + 1],
            martingales,
            reference_rows: 0,
            rows: 0,
            draws: 0,
            alarm: None,
            before: KeptRows::new(columns),
            last: KeptRows::new(columns),
        })
    }

    fn refer_to(&mut self, run: &Run<'_>, evm: &Evm, reference: &Features<'_>) -> Result<(), DriftError> {
        let decisions = evm.decide_with(run, reference)?;
        let every = decisions.len().div_ceil(most(evm.dimensions())).max(1);
        for (row, decision) in decisions.iter().enumerate() {
            let seen = seen(0, decision);
            self.ranked(seen, reference.row(row));
            if row % every == 0 {
                self.before.push(seen, reference.row(row));
            }
        }
        self.reference_rows = decisions.len() as u64;
        Ok(())
    }

    /// The p-values of a row: of its score, and of the numbers of its vector.
    fn ranked(&mut self, seen: Seen, values: &[f32]) -> [f64; 1 + NUMBERS] {
        let numbers = self.view.numbers(values);
        let place = self.places[seen.best as usize] as usize;
        std::array::from_fn(|number| {
            self.draws = self.draws.wrapping_add(1);
            let tie = ((spread(self.seed ^ spread(self.draws)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
            let value = if number == 0 { seen.score } else { numbers[number - 1] };
            self.ranks[place][number].p_value(value, tie)
        })
    }

    /// Decides for rows of the stream, in their order, and takes them in.
    pub fn observe(&mut self, evm: &Evm, queries: &Features<'_>) -> Result<(), DriftError> {
        self.observe_with(&Run::new(), evm, queries)
    }

    /// As [`observe`](Self::observe), watched and sized by `run`.
    pub fn observe_with(
        &mut self,
        run: &Run<'_>,
        evm: &Evm,
        queries: &Features<'_>,
    ) -> Result<(), DriftError> {
        for first in (0..queries.rows()).step_by(TOGETHER) {
            let part = queries.part(first..(first + TOGETHER).min(queries.rows()));
            let decisions = evm.decide_with(run, &part).map_err(|error| match error {
                RunError::Features(error) => RunError::Features(error.map_row(|row| first + row)),
                other => other,
            })?;
            self.observe_decided(evm, &part, &decisions)?;
        }
        Ok(())
    }

    /// Takes rows of the stream in that the model has decided on.
    pub fn observe_decided(
        &mut self,
        evm: &Evm,
        queries: &Features<'_>,
        decisions: &[Decision],
    ) -> Result<(), DriftError> {
        self.check(evm)?;
        if queries.rows() != decisions.len() {
            return Err(DriftError::Decisions { rows: queries.rows(), decisions: decisions.len() });
        }
        for (row, decision) in decisions.iter().enumerate() {
            self.take(evm, seen(self.rows.saturating_add(1), decision), queries.row(row));
        }
        Ok(())
    }

    fn take(&mut self, evm: &Evm, seen: Seen, values: &[f32]) {
        self.rows = self.rows.saturating_add(1);
        let p_values = self.ranked(seen, values);
        let (place, small) = (self.places[seen.best as usize] as usize, self.ranks.len() - 1);
        self.bet(evm, 0, p_values[0]);
        if place < small {
            self.bet(evm, 1 + place, p_values[0]);
        }
        for number in 0..NUMBERS {
            self.bet(evm, 1 + small + number, p_values[1 + number]);
        }
        if self.basis == DriftBasis::Stream && !self.before.is_full() {
            self.before.push(seen, values);
        }
        self.last.push(seen, values);
    }

    fn bet(&mut self, evm: &Evm, watch: usize, p_value: f64) {
        let (bets, needed) = (self.bets(watch), self.needed(watch));
        let fortune = self.martingales[watch].take(bets, p_value, self.rows);
        if fortune >= needed && self.alarm.is_none() {
            let since = self.martingales[watch].since();
            let (name, class) = self.name(evm, watch);
            self.alarm = Some((DriftAlarm { row: self.rows, since, watch: name, class }, watch));
        }
    }

    fn bets(&self, watch: usize) -> &'static [Bet] {
        if watch < self.ranks.len() { FALLS } else { MOVES }
    }

    /// A third of the rate is for all rows, one for all classes together, and one for the numbers of vectors.
    fn needed(&self, watch: usize) -> f64 {
        let classes = self.ranks.len() - 1;
        let of_its_kind = match watch {
            0 => 1,
            watch if watch <= classes => classes,
            _ => NUMBERS,
        };
        3.0 * of_its_kind as f64 / self.rate
    }

    fn name(&self, evm: &Evm, watch: usize) -> (String, Option<String>) {
        let classes = self.ranks.len() - 1;
        if watch > classes {
            return (NAMES[watch - classes - 1].to_owned(), None);
        }
        let class = watch.checked_sub(1).and_then(|place| {
            self.places
                .iter()
                .position(|own| *own as usize == place)
                .map(|class| evm.class_name(class).to_owned())
        });
        ("support".to_owned(), class)
    }

    /// Refuses a model that it is not for, and a state that is damaged.
    fn check(&self, evm: &Evm) -> Result<(), DriftError> {
        let (columns, places) = (evm.dimensions(), self.ranks.len());
        let is_whole = self.places.len() == evm.classes().len()
            && self.places.iter().all(|place| (*place as usize) < places)
            && self.martingales.len() == places + NUMBERS
            && self.view.is_whole(columns)
            && [&self.before, &self.last].iter().all(|kept| kept.is_whole(columns, self.places.len()));
        if self.model == model_of(evm) && is_whole { Ok(()) } else { Err(DriftError::OtherModel) }
    }

    /// Rows of the stream so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The first alarm; cheap, unlike [`report`](Self::report), which asks the model about the last rows when there was one.
    pub fn alarm(&self) -> Option<&DriftAlarm> {
        self.alarm.as_ref().map(|(alarm, _)| alarm)
    }

    /// The largest part of what an alarm takes that any watch has reached: 1 and above is an alarm.
    pub fn evidence(&self) -> f64 {
        let part = |(watch, martingale): (usize, &Martingale)| martingale.highest() / self.needed(watch);
        self.martingales.iter().enumerate().map(part).fold(0.0, f64::max)
    }

    /// How it stands, and if there was an alarm, its cause as far as the last rows tell.
    pub fn report(&self, evm: &Evm) -> Result<DriftReport, DriftError> {
        self.report_with(&Run::new(), evm)
    }

    /// As [`report`](Self::report), watched and sized by `run`.
    pub fn report_with(&self, run: &Run<'_>, evm: &Evm) -> Result<DriftReport, DriftError> {
        self.check(evm)?;
        let cause = match &self.alarm {
            // What the watch has seen since tells better when the change began.
            Some((_, watch)) => {
                let since = self.martingales[*watch].since();
                let by_vectors = *watch >= self.ranks.len();
                cause::name(run, evm, (&self.before, self.last.since(since)), &self.places, by_vectors)?
            }
            None => None,
        };
        let classes = self.ranks.len() - 1;
        let mut watches: Vec<(usize, f64)> =
            self.martingales.iter().map(Martingale::highest).enumerate().collect();
        let part = |&(watch, evidence): &(usize, f64)| evidence / self.needed(watch);
        watches.sort_by(|a, b| part(b).total_cmp(&part(a)));
        let mut of_classes = 0;
        watches.retain(|&(watch, _)| {
            of_classes += usize::from((1..=classes).contains(&watch));
            !(1..=classes).contains(&watch) || of_classes <= SHOWN
        });
        let watches = watches.into_iter().map(|(watch, evidence)| {
            let (name, class) = self.name(evm, watch);
            DriftWatch { watch: name, class, evidence, needed: self.needed(watch) }
        });
        Ok(DriftReport {
            rows: self.rows,
            reference_rows: self.reference_rows,
            basis: self.basis,
            rate: self.rate,
            alarm: self.alarm().cloned(),
            cause,
            watches: watches.collect(),
            classes_watched: classes,
        })
    }
}

fn seen(row: u64, decision: &Decision) -> Seen {
    Seen { row, best: decision.best() as u32, score: finite(decision.score().support) }
}

/// A number that changes with what scores depend on. Thresholds are not among it.
fn model_of(evm: &Evm) -> u64 {
    let mut hash = Xxh3::new();
    for number in [evm.dimensions(), evm.extreme_vector_count(), evm.ignored_count()] {
        hash.update(&(number as u64).to_le_bytes());
    }
    hash.update(&evm.points_seen().to_le_bytes());
    for class in evm.classes() {
        hash.update(class.name.as_bytes());
        hash.update(&[0]);
        hash.update(&(class.extreme_vectors as u64).to_le_bytes());
    }
    hash.digest()
}
