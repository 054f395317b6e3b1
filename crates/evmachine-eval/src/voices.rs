//! What the witnesses of a fold say of its queries: the supports in feature space that a trial gives, beside the logits of a
//! probe, a machine over them, and a forest, which all trials share.

use evmachine::tuning::{ForestWitness, Weights as Numbers, weigh};
use evmachine::{Evm, Features, Labels, Params, Probe, Run, Weight};
use rayon::prelude::*;

use crate::answers::Answers;
use crate::rivals::Linear;
use crate::tune::TuneError;

/// The machine over logits needs three classes: of two, logits have but two directions.
const LEAST_LOGITS: usize = 3;

/// Weights of the witnesses beside the features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Of the machine over logits.
    pub logits: Weight,
    /// Of the probe.
    pub probe: Weight,
    /// Of the forest.
    pub forest: Weight,
}

impl Weights {
    /// The features alone.
    pub const NONE: Self = Self::fixed(0.0, 0.0, 0.0);
    /// All as a fit would choose them.
    pub const AUTO: Self = Self { logits: Weight::Auto, probe: Weight::Auto, forest: Weight::Auto };

    /// Given numbers.
    pub const fn fixed(logits: f64, probe: f64, forest: f64) -> Self {
        Self { logits: Weight::Fixed(logits), probe: Weight::Fixed(probe), forest: Weight::Fixed(forest) }
    }

    /// Those of the parameters.
    pub fn of(params: &Params) -> Self {
        Self { logits: params.logit_weight, probe: params.probe_weight, forest: params.forest_weight }
    }

    /// The parameters with these.
    pub(crate) fn into_params(self, params: &Params) -> Params {
        Params {
            logit_weight: self.logits,
            probe_weight: self.probe,
            forest_weight: self.forest,
            ..params.clone()
        }
    }
}

/// A witness, in units of its spread around its typical best.
#[derive(Clone)]
struct Voice {
    /// Queries x classes.
    values: Vec<f64>,
}

/// The probe of a fold, and what it, the machine over its logits and the forest say.
pub(crate) struct Voices {
    pub(crate) probe: Probe,
    /// The weights that a fit to the fold would choose.
    auto: Numbers,
    weights: Vec<f64>,
    intercepts: Vec<f64>,
    logits: Option<Voice>,
    linear: Voice,
    forest: Option<Voice>,
}

/// Best class, its score, the second's and the median's.
type Vote = (usize, f64, f64, f64);

/// How much a lead and the median class count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Raise {
    pub(crate) contrast: f64,
    pub(crate) background: f64,
}

impl Raise {
    pub(crate) fn of(params: &Params) -> Self {
        Self { contrast: params.contrast, background: params.background }
    }

    fn raise(self, &(_, first, second, median): &Vote) -> f64 {
        let part = |weight: f64, value: f64| {
            if weight == 0.0 || !value.is_finite() { 0.0 } else { weight * value }
        };
        part(self.contrast, first - second) + part(self.background, median)
    }
}

/// What a fold votes at each of some weights.
pub(crate) struct Votes {
    /// By query, then by weights.
    queries: Vec<Vec<Vote>>,
    truth: Vec<Option<usize>>,
}

impl Votes {
    /// The answers at the weights in a position.
    pub(crate) fn answers(&self, position: usize, raise: Raise) -> Answers {
        let mut answers = Answers::default();
        for (votes, &truth) in self.queries.iter().zip(&self.truth) {
            let vote = votes[position];
            answers.push(truth, vote.0, vote.1 + raise.raise(&vote), true);
        }
        answers
    }
}

impl Voices {
    /// Fits probe and forest, unless they are given, and a machine over logits of the size that the parameters say, and asks them.
    /// The first `known` queries are of known classes.
    pub(crate) fn new(
        run: &Run<'_>,
        params: &Params,
        given: Option<&Self>,
        (features, labels): (&Features<'_>, &Labels),
        queries: &Features<'_>,
        known: usize,
    ) -> Result<Self, TuneError> {
        let probe = match given {
            Some(given) => given.probe.clone(),
            None => Probe::fit_with(run, &params.metric, features, labels)?,
        };
        let classes = probe.classes();
        let linear = Voice::new(probe.logits_with(run, queries)?, classes, known);
        let logits = if classes < LEAST_LOGITS {
            None
        } else {
            let (machine, _) = Evm::fit_with(run, &params.over_logits(), &probe.features(features)?, labels)?;
            let supports = machine.map_queries_with(run, &probe.features(queries)?, |_, scores| {
                scores.iter().map(|score| score.support).collect::<Vec<f64>>()
            })?;
            Some(Voice::new(supports.concat(), classes, known))
        };
        let (weights, intercepts) = (probe.weights(), probe.intercepts());
        let (auto, forest) = if let Some(given) = given {
            (given.auto, given.forest.clone())
        } else {
            let mut forest = None;
            if is_heard(features) {
                let grown = ForestWitness::fit(run, &params.metric, features, labels)?;
                forest = Some(Voice::new(grown.ask(&params.metric, queries)?, classes, known));
            }
            (weigh(run, params, features, labels)?, forest)
        };
        Ok(Self { probe, auto, weights, intercepts, logits, linear, forest })
    }

    /// For the rivals.
    pub(crate) fn linear(&self) -> Linear<'_> {
        Linear { weights: &self.weights, intercepts: &self.intercepts }
    }

    /// The votes at each of the weights. `supports` are those of the features, queries x classes, the first `known` queries
    /// being of known classes.
    pub(crate) fn votes(
        &self,
        supports: &[f64],
        truth: &[Option<usize>],
        known: usize,
        weights: &[Weights],
    ) -> Votes {
        let classes = self.probe.classes();
        let features = Voice::new(supports.to_vec(), classes, known);
        let numbers: Vec<Numbers> = weights.iter().map(|weights| self.numbers(*weights)).collect();
        let none = vec![0.0; classes];
        let queries = (0..truth.len()).into_par_iter().map_init(Vec::new, |scratch, query| {
            let own = query * classes..(query + 1) * classes;
            let (g, z) = (&features.values[own.clone()], &self.linear.values[own.clone()]);
            let l = self.logits.as_ref().map_or(&none[..], |voice| &voice.values[own.clone()]);
            let t = self.forest.as_ref().map_or(&none[..], |voice| &voice.values[own.clone()]);
            let at = |weights: &Numbers| {
                scratch.clear();
                if *weights == Numbers::default() {
                    // As the model has it, infinities included.
                    scratch.extend_from_slice(&supports[own.clone()]);
                } else {
                    let said = |class: usize| {
                        let sum = g[class]
                            + weights.logits * l[class]
                            + weights.probe * z[class]
                            + weights.forest * t[class];
                        sum / weights.total()
                    };
                    scratch.extend((0..classes).map(said));
                }
                vote(scratch)
            };
            numbers.iter().map(at).collect()
        });
        Votes { queries: queries.collect(), truth: truth.to_vec() }
    }

    /// Weights as numbers; a witness that is not there counts nothing.
    fn numbers(&self, weights: Weights) -> Numbers {
        let found = Numbers::of(&weights.into_params(&Params::plain()), self.auto);
        Numbers {
            logits: if self.logits.is_some() { found.logits } else { 0.0 },
            forest: if self.forest.is_some() { found.forest } else { 0.0 },
            ..found
        }
    }
}

/// Rows x the square root of their columns above which no forest is tried unless a fit chooses it itself: it would grow from a part of
/// the rows alone.
const MOST_WORK: f64 = 200_000.0;

fn is_heard(features: &Features<'_>) -> bool {
    features.rows() as f64 * (features.columns() as f64).sqrt() <= MOST_WORK
}

impl Voice {
    fn new(mut values: Vec<f64>, classes: usize, known: usize) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let (low, high) =
            (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        let best = |row: &[f64]| row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for value in &mut values {
            *value = if low > high { 0.0 } else { value.clamp(low, high) };
        }
        let rows = || values[..known * classes].chunks_exact(classes);
        let bests: Vec<f64> = rows().map(best).collect();
        let leads: Vec<f64> = rows().map(|row| best(row) - median(row.to_vec())).collect();
        let cap = best(&bests);
        let (centre, spread) = (median(bests), median(leads));
        let spread = if spread > 0.0 { spread } else { 1.0 };
        for value in &mut values {
            *value = (value.min(cap) - centre) / spread;
        }
        Self { values }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

/// Ties go to the first. Puts the values in another order.
fn vote(values: &mut [f64]) -> Vote {
    let mut best = (0, values[0]);
    let mut second = f64::NEG_INFINITY;
    for (class, &value) in values.iter().enumerate().skip(1) {
        if value > best.1 {
            second = best.1;
            best = (class, value);
        } else {
            second = second.max(value);
        }
    }
    let middle = values.len() / 2;
    let median = *values.select_nth_unstable_by(middle, f64::total_cmp).1;
    (best.0, best.1, second, median)
}
