//! Training rows whose label is in doubt, by models that have not learned from them.
//!
//! Every row is held out once, with a third of its class, and the model of the rest says how much its own class supports it
//! and how much any other does. What was tried and how it compares with other ways stands in `docs/decisions/0022`.

use serde::Serialize;

use crate::error::{FitError, LabelError, ReduceError, RunError};
use crate::heldout::calibration::class_probabilities;
use crate::input::labels::Labels;
use crate::learn::training;
use crate::machine::score::ClassScore;
use crate::params::rejection::Rejection;
use crate::params::{Params, Reduction, TailMemory};
use evmachine_engine::features::Features;
use evmachine_engine::math::spread;
use evmachine_engine::psi::FitStatus;
use evmachine_engine::run::Run;

/// Parts that each class is held out in.
const PARTS: usize = 3;
/// The share of rows that may be less like any class than what counts as a claim.
const UNCLAIMED: f64 = 0.05;
/// Supports beyond this are alike: a row that lies on another has an infinite one.
const MOST_SUPPORT: f64 = 1e6;
/// A margin of less than this, by the median of the class, is worth a word.
const NARROW: f64 = 0.5;

/// A training row whose label is in doubt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Suspect {
    /// The row, from 0.
    pub row: usize,
    /// The class that its label says, by position in [`Labels::names`].
    pub class: usize,
    /// P(class | known) of that class, in the eyes of a model that has not learned from the row.
    pub probability: f64,
    /// The class that claims it instead. `None`: no class does, and the row is a stranger to all of them.
    pub claim: Option<Claim>,
    /// By how much support the claim, or the least support that counts as one, leads the class of the label. Above 0.
    pub lead: f64,
    /// Scale of its Psi-model by the median of its class: how much room other classes leave it.
    pub margin: f64,
    /// How that Psi-model was fitted.
    pub status: FitStatus,
    /// Its place in the cover of its class; `None` where other rows of the class cover it.
    pub cover: Option<CoverPlace>,
}

/// Another class that supports a row better than its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Claim {
    /// The class, by position in [`Labels::names`].
    pub class: usize,
    /// P(class | known).
    pub probability: f64,
}

/// Where a row stands in the greedy cover of its class, at the paper's threshold of 0.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CoverPlace {
    /// From 1, in order of choice.
    pub position: usize,
    /// Rows in the cover.
    pub of: usize,
    /// Rows that it was the first to cover, itself included.
    pub covers: usize,
}

impl Suspect {
    /// What speaks against the label, in words; `labels` are those that it was found among.
    ///
    /// # Panics
    ///
    /// If these have fewer classes.
    pub fn reason(&self, labels: &Labels) -> String {
        let own = &labels.names()[self.class];
        let mut reasons = vec![match self.claim {
            Some(claim) => {
                let other = &labels.names()[claim.class];
                format!("{other:?} claims it, {:.3} against {:.3}", claim.probability, self.probability)
            }
            None => "it is a stranger to every class".to_owned(),
        }];
        if let Some(CoverPlace { position, of, covers: 1 }) = self.cover {
            reasons.push(format!("in the cover of {own:?}, number {position} of {of}, for itself alone"));
        }
        if self.margin < NARROW {
            reasons.push(format!("its margin is {:.2} of what is usual in {own:?}", self.margin));
        }
        match self.status {
            FitStatus::Converged | FitStatus::FixedShape | FitStatus::WithinClass => {}
            FitStatus::ZeroMargins | FitStatus::ZeroTail => {
                reasons.push("rows of other classes lie on it".to_owned());
            }
            odd => reasons.push(format!("its fit: {}", odd.describe())),
        }
        reasons.join("; ")
    }
}

/// The rows whose labels are in doubt, the most doubtful first.
///
/// A row is listed where another class supports it better than its own, or where its own supports it less than the best
/// class supports all but one in twenty rows; clean data has such rows too, so it is the order that counts. Rows that are
/// alone in their class are never held out, and never listed.
///
/// [`Params::robust_for`] finds most; the paper's parameters let one mislabelled neighbour decide. The rejection threshold of
/// `params` does not matter. Costs three fits to two thirds of the rows, and one of the paper's to all of them.
///
/// ```
/// use evmachine::{Features, Labels, Params, suspects};
///
/// let values: Vec<f32> = (0..40).map(|i| (i % 20) as f32 * 0.1 + if i < 20 { 0.0 } else { 9.0 }).collect();
/// let mut names = vec!["low"; 20];
/// names.extend(["high"; 20]);
/// names[7] = "high";
/// let (features, labels) = (Features::new(values, 1)?, Labels::new(names)?);
///
/// let first = suspects(&Params::robust(), &features, &labels)?.remove(0);
/// assert_eq!((first.row, first.claim.map(|claim| claim.class)), (7, Some(0)));
/// assert!(first.reason(&labels).starts_with("\"low\" claims it, "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn suspects(params: &Params, features: &Features<'_>, labels: &Labels) -> Result<Vec<Suspect>, FitError> {
    suspects_with(&Run::new(), params, features, labels)
}

/// As [`suspects`](suspects()), watched and sized by `run`.
pub fn suspects_with(
    run: &Run<'_>,
    params: &Params,
    features: &Features<'_>,
    labels: &Labels,
) -> Result<Vec<Suspect>, FitError> {
    if features.rows() != labels.len() {
        return Err(LabelError::Count { rows: features.rows(), labels: labels.len() }.into());
    }
    let params = Params { rejection_threshold: Rejection::FalseUnknown(UNCLAIMED), ..params.clone() };
    params.check()?;
    let places = Places::find(run, &params, features, labels)?;
    let mut opinions = Vec::with_capacity(features.rows());
    let parts = parts(labels);
    for part in 0..PARTS {
        let (held, rest): (Vec<usize>, Vec<usize>) =
            (0..features.rows()).partition(|&row| parts[row] == Some(part));
        if !held.is_empty() {
            opinions.extend(ask(run, &params, features, labels, &held, &rest)?);
        }
    }
    let least = least_claim(&opinions);
    let mut found: Vec<Suspect> =
        opinions.iter().filter_map(|opinion| opinion.suspect(least, labels, &places)).collect();
    found.sort_by(|a, b| b.lead.total_cmp(&a.lead).then(a.row.cmp(&b.row)));
    Ok(found)
}

/// By row, the part that it is held out in: each class is spread over all of them. None for the only row of a class.
fn parts(labels: &Labels) -> Vec<Option<usize>> {
    let mut classes: Vec<Vec<usize>> = vec![Vec::new(); labels.names().len()];
    for (row, &class) in labels.ids().iter().enumerate() {
        classes[class as usize].push(row);
    }
    let mut parts = vec![None; labels.len()];
    for rows in classes.iter_mut().filter(|rows| rows.len() > 1) {
        rows.sort_unstable_by_key(|&row| (spread(row as u64), row));
        for (position, &row) in rows.iter().enumerate() {
            parts[row] = Some(position % PARTS);
        }
    }
    parts
}

/// What a model that has not learned from a row thinks of it.
struct Opinion {
    row: usize,
    /// Support of the class of its label.
    own: f64,
    probability: f64,
    /// The best other class, its support and its probability.
    other: Option<(usize, f64, f64)>,
}

/// Has a model of the rest judge what was held out.
fn ask(
    run: &Run<'_>,
    params: &Params,
    features: &Features<'_>,
    labels: &Labels,
    held: &[usize],
    rest: &[usize],
) -> Result<Vec<Opinion>, FitError> {
    let ids = rest.iter().map(|&row| labels.ids()[row]).collect();
    let known = Labels::with_names(labels.names().to_vec(), ids);
    let (evm, _) = training::fit(run, params.check()?, &features.select(rest), &known, None)
        .map_err(|error| of_rows(error, rest))?;
    let sharpness = evm.held.calibration.as_ref().map_or(1.0, |calibration| calibration.sharpness);
    let judge = |position: usize, scores: &[ClassScore]| {
        let row = held[position];
        let own = labels.ids()[row] as usize;
        let support = |class: usize| scores[class].support.clamp(-MOST_SUPPORT, MOST_SUPPORT);
        let others = (0..scores.len()).filter(|&class| class != own);
        let best = others.max_by(|&a, &b| support(a).total_cmp(&support(b)).then(b.cmp(&a)));
        let probabilities = class_probabilities(scores, sharpness);
        Opinion {
            row,
            own: support(own),
            probability: probabilities[own],
            other: best.map(|class| (class, support(class), probabilities[class])),
        }
    };
    evm.map_queries_with(run, &features.select(held), judge).map_err(|error| of_rows(error.into(), held))
}

/// An error of some rows, which names a row among all.
fn of_rows(error: FitError, rows: &[usize]) -> FitError {
    match error {
        FitError::Run(RunError::Features(error)) => {
            FitError::Run(RunError::Features(error.map_row(|row| rows[row])))
        }
        other => other,
    }
}

/// The support of the best class that one row in twenty does not reach.
fn least_claim(opinions: &[Opinion]) -> f64 {
    let best =
        |opinion: &Opinion| opinion.other.map_or(opinion.own, |(_, support, _)| support.max(opinion.own));
    let mut best: Vec<f64> = opinions.iter().map(best).collect();
    best.sort_unstable_by(f64::total_cmp);
    best.get((UNCLAIMED * best.len() as f64) as usize).copied().unwrap_or(f64::NEG_INFINITY)
}

impl Opinion {
    fn suspect(&self, least: f64, labels: &Labels, places: &Places) -> Option<Suspect> {
        let claim = self.other.filter(|&(_, support, _)| support >= least);
        let lead = claim.map_or(least, |(_, support, _)| support) - self.own;
        (lead > 0.0).then(|| Suspect {
            row: self.row,
            class: labels.ids()[self.row] as usize,
            probability: self.probability,
            claim: claim.map(|(class, _, probability)| Claim { class, probability }),
            lead,
            margin: places.margins[self.row],
            status: places.statuses[self.row],
            cover: places.covers[self.row],
        })
    }
}

/// What a model of all rows, by the paper, has made of each.
struct Places {
    margins: Vec<f64>,
    statuses: Vec<FitStatus>,
    covers: Vec<Option<CoverPlace>>,
}

impl Places {
    fn find(
        run: &Run<'_>,
        params: &Params,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<Self, FitError> {
        let paper = Params {
            metric: params.metric.clone(),
            standardize: params.standardize,
            tail_memory: TailMemory::None,
            ..Params::paper()
        };
        let all = Params { cover_threshold: 1.0, ..paper.clone() };
        let (mut evm, _) = training::fit(run, all.check()?, features, labels, None)?;
        let mut margins = vec![1.0; labels.len()];
        let mut statuses = vec![FitStatus::Converged; labels.len()];
        for class in &evm.machine.classes {
            let mut scales: Vec<f64> = class.psi.iter().map(|psi| psi.scale).collect();
            scales.sort_unstable_by(f64::total_cmp);
            let median = scales[scales.len() / 2];
            for (psi, &source) in class.psi.iter().zip(&class.sources) {
                statuses[source as usize] = psi.status;
                if median > 0.0 {
                    margins[source as usize] = psi.scale / median;
                }
            }
        }
        evm.reduce_with(run, &Params { reduction: Reduction::SetCover, ..paper }.cover()).map_err(reduced)?;
        let mut covers = vec![None; labels.len()];
        for class in &evm.machine.classes {
            let chosen = class.sources.iter().zip(&class.gains).zip(1..);
            for ((&source, &gain), position) in chosen {
                covers[source as usize] =
                    Some(CoverPlace { position, of: class.sources.len(), covers: gain as usize });
            }
        }
        Ok(Self { margins, statuses, covers })
    }
}

fn reduced(error: ReduceError) -> FitError {
    match error {
        ReduceError::Params(error) => error.into(),
        ReduceError::Run(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::error::FeatureError;
    use evmachine_engine::metric::Metric;
    use evmachine_engine::run::{Observer, Stage};

    /// Two clumps of so many rows each.
    fn clumps(count: usize) -> (Vec<f32>, Vec<&'static str>) {
        let jitter = |i: usize| (spread(i as u64) % 1_000) as f32 / 1_000.0;
        let rows = (0..2 * count).flat_map(|i| {
            let x = if i < count { 0.0 } else { 6.0 };
            [x + jitter(i), jitter(i + 7_919)]
        });
        (rows.collect(), (0..2 * count).map(|i| if i < count { "left" } else { "right" }).collect())
    }

    fn found(values: Vec<f32>, names: &[&str]) -> (Vec<Suspect>, Labels) {
        let (features, labels) = (Features::new(values, 2).unwrap(), Labels::new(names).unwrap());
        (suspects_with(&Run::new(), &Params::robust(), &features, &labels).unwrap(), labels)
    }

    #[test]
    fn flipped_labels_lead_and_say_who_claims_them() {
        let (values, mut names) = clumps(60);
        for row in [3, 31, 100] {
            names[row] = if names[row] == "left" { "right" } else { "left" };
        }
        let (found, labels) = found(values, &names);
        let mut first: Vec<usize> = found[..3].iter().map(|suspect| suspect.row).collect();
        first.sort_unstable();
        assert_eq!(first, [3, 31, 100]);
        for suspect in &found[..3] {
            let claim = suspect.claim.unwrap();
            assert_ne!(claim.class, suspect.class);
            assert!(claim.probability > suspect.probability, "{suspect:?}");
            assert_eq!(suspect.cover.unwrap().covers, 1);
            assert!(suspect.margin < NARROW);
        }
        assert!(
            found.is_sorted_by(|a, b| a.lead >= b.lead) && found.iter().all(|suspect| suspect.lead > 0.0)
        );
        let of = found.iter().find(|suspect| suspect.row == 3).unwrap().reason(&labels);
        assert!(of.contains("\"left\" claims it") && of.contains("for itself alone"), "{of}");
    }

    #[test]
    fn a_row_far_from_all_is_a_stranger() {
        let (mut values, names) = clumps(60);
        values[2 * 17..][..2].copy_from_slice(&[3.0, 80.0]);
        let (found, labels) = found(values, &names);
        assert_eq!((found[0].row, found[0].claim), (17, None));
        assert!(found[0].reason(&labels).starts_with("it is a stranger to every class"));
    }

    #[test]
    fn the_only_row_of_a_class_is_never_judged_and_one_class_has_strangers_alone() {
        let (values, mut names) = clumps(30);
        names[4] = "alone";
        let (rare, _) = found(values.clone(), &names);
        assert!(rare.iter().all(|suspect| suspect.row != 4));
        let (values, names) = (values[..60].to_vec(), ["one"; 30]);
        let (alone, _) = found(values, &names);
        assert!(alone.iter().all(|suspect| suspect.claim.is_none()));
        let (nobody, _) = found(vec![0.0, 0.0, 1.0, 1.0], &["a", "b"]);
        assert_eq!(nobody, []);
    }

    #[test]
    fn rows_that_lie_on_each_other_have_an_order_too() {
        let values = [[0.0, 0.0], [5.0, 5.0]].repeat(12).concat();
        let mut names = ["a", "b"].repeat(12);
        names[2] = "b";
        let features = Features::new(values, 2).unwrap();
        let labels = Labels::new(names).unwrap();
        for params in [Params::robust(), Params::plain()] {
            let found = suspects_with(&Run::new(), &params, &features, &labels).unwrap();
            assert!(found.iter().all(|suspect| suspect.lead.is_finite()));
            assert!(found.iter().any(|suspect| suspect.row == 2), "{found:?}");
        }
    }

    struct Stop;

    impl Observer for Stop {
        fn progress(&self, _: Stage, _: u64, _: u64) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }

    #[test]
    fn errors_name_rows_of_the_whole() {
        let features = Features::new(vec![1.0, 1.0, 1.0, 0.0, 0.0, 0.0], 2).unwrap();
        let labels = Labels::new(["a", "b", "a"]).unwrap();
        let cosine = Params::robust_for(Metric::Cosine);
        let error = suspects_with(&Run::new(), &cosine, &features, &labels).unwrap_err();
        assert_eq!(error, FeatureError::ZeroVector { row: 2 }.into());
        let few = Labels::new(["a"]).unwrap();
        let error = suspects_with(&Run::new(), &cosine, &features, &few).unwrap_err();
        assert_eq!(error, LabelError::Count { rows: 3, labels: 1 }.into());
        let run = Run::new().observer(&Stop);
        assert_eq!(
            suspects_with(&run, &Params::robust(), &features, &labels).unwrap_err(),
            FitError::Run(RunError::Stopped)
        );
    }
}
