//! How much each witness counts: what tells known rows from strangers best if classes are left out in turn.
//!
//! Likelihood on known rows is no guide here: a linear probe that names every known row right may still give strangers the largest
//! logits of all. So some rows of some classes are dealt to folds; in each, some classes act as strangers, the witnesses learn from
//! three quarters of the other rows, and the rest are known queries. A set of weights is worth its OSCR, the area under correctly named
//! known queries against accepted strangers. Few classes tell little: weights are taken instead of those that serve most data
//! ([`Weights::usual`]) only if they are better by twice the standard error over folds.

use rayon::prelude::*;

use super::{Data, cover};
use crate::error::FitError;
use crate::input::labels::Labels;
use crate::machine::Machine;
use crate::params::Params;
use crate::witness::mixture::{Heard, Mixture, Weights};
use crate::witness::probe::Probe;
use evmachine_engine::features::Features;
use evmachine_engine::math::spread;
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::run::Run;
use evmachine_engine::search::Search;

/// Rows that weights are chosen on, at most.
const MOST_ROWS: usize = 3_000;
/// Classes of them, at most.
const MOST_CLASSES: usize = 60;
/// Rows of a class, at most, unless there are too few classes to come to [`MOST_ROWS`].
const ROWS_A_CLASS: usize = 100;
/// Folds, each of which lacks some classes.
const FOLDS: usize = 6;
/// One row in so many of the known classes is a query.
const ONE_IN: u64 = 4;
/// A fold that lacks a class must have two others.
const LEAST_CLASSES: usize = 3;
/// Folds after which forests may be left out.
const FIRST_FOLDS: usize = 2;
/// By how many standard errors weights must be better than the usual ones.
const ERRORS: f64 = 2.0;

/// Weights of the machine over logits and the probe that are compared, each with and without a forest.
const LINEAR: [(f64, f64); 15] = [
    (0.0, 0.0),
    (0.0, 0.15),
    (0.0, 0.3),
    (0.0, 0.6),
    (0.0, 1.0),
    (0.0, 2.0),
    (0.0, 4.0),
    (0.5, 0.0),
    (0.5, 0.5),
    (0.5, 1.0),
    (0.5, 2.0),
    (1.0, 1.0),
    (1.0, 2.0),
    (1.0, 4.0),
    (2.0, 4.0),
];
const FOREST: [f64; 3] = [0.0, 1.0, 2.0];

/// The weights that a fit of these parameters would choose. For tuners.
pub fn weigh(
    run: &Run<'_>,
    params: &Params,
    features: &Features<'_>,
    labels: &Labels,
) -> Result<Weights, FitError> {
    let data = Data { run, features, labels, ignored: None, is_heard: true };
    let all: Vec<usize> = (0..labels.len()).collect();
    Ok(data.weigh(params, &all, false)?.weights)
}

impl Weights {
    /// What serves most data: embeddings, which are compared by cosine, are told apart by a linear probe; tables by a forest.
    fn usual(metric: &Metric) -> Self {
        if *metric == Metric::Cosine {
            Self { logits: 0.5, probe: 1.0, forest: 0.0 }
        } else {
            Self { logits: 0.0, probe: 0.15, forest: 1.0 }
        }
    }

    /// All that are compared under the parameters, the usual ones first.
    fn candidates(params: &Params) -> Vec<Self> {
        let mut all = vec![Self::of(params, Self::usual(&params.metric))];
        for forest in FOREST {
            for (logits, probe) in LINEAR {
                let weights = Self::of(params, Self { logits, probe, forest });
                if !all.contains(&weights) {
                    all.push(weights);
                }
            }
        }
        all
    }
}

/// What was chosen with classes left out in turn.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Chosen {
    pub(super) weights: Weights,
    /// The threshold of the cover, if it was chosen too.
    pub(super) cover: Option<f64>,
}

impl Data<'_> {
    /// The weights of the witnesses, where those of the parameters are not fixed, and the cover if `covers` asks for it, chosen on some
    /// of the rows.
    pub(super) fn weigh(&self, params: &Params, rows: &[usize], covers: bool) -> Result<Chosen, FitError> {
        let candidates = Weights::candidates(params);
        let covers = covers && params.chooses_cover();
        if candidates.len() == 1 && !covers {
            return Ok(Chosen { weights: candidates[0], cover: None });
        }
        let some = self.some_classes(rows);
        let mut present: Vec<u32> = some.iter().map(|&row| self.labels.ids()[row]).collect();
        present.sort_unstable();
        present.dedup();
        let mut worth: Vec<Vec<f64>> = Vec::new();
        let mut asked_folds = Vec::new();
        if present.len() >= LEAST_CLASSES {
            let folds = FOLDS.min(present.len());
            let group = |row: usize| present.binary_search(&self.labels.ids()[row]).unwrap_or(0) % folds;
            let mut penalty = None;
            for fold in 0..folds {
                let (out, others): (Vec<usize>, Vec<usize>) =
                    some.iter().partition(|&&row| group(row) == fold);
                let is_asked = |row: &usize| spread(*row as u64) % ONE_IN == fold as u64 % ONE_IN;
                let (asked, learned): (Vec<usize>, Vec<usize>) = others.into_iter().partition(is_asked);
                let heard = if forest_lost(&candidates, &worth) {
                    candidates.iter().copied().filter(|weights| weights.forest == 0.0).collect()
                } else {
                    candidates.clone()
                };
                let parts = (&learned[..], &asked[..], &out[..]);
                let Some(fold) = self.fold(params, &heard, &mut penalty, parts, covers)? else { continue };
                let of = |weights: &Weights| {
                    if heard.contains(weights) { fold.worth(params, *weights, 0) } else { f64::NAN }
                };
                worth.push(candidates.iter().map(of).collect());
                asked_folds.push(fold);
            }
        }
        let weights = candidates[best(&worth)];
        let cover = if covers { cover::smallest(params, weights, &asked_folds) } else { None };
        Ok(Chosen { weights, cover })
    }

    /// Rows of some classes, as many of each as the data has up to a limit: how well a probe does depends on that.
    fn some_classes(&self, rows: &[usize]) -> Vec<usize> {
        let mut by_class: Vec<Vec<usize>> = vec![Vec::new(); self.class_count()];
        for &row in rows {
            by_class[self.labels.ids()[row] as usize].push(row);
        }
        let mut order: Vec<usize> = (0..by_class.len()).filter(|&class| by_class[class].len() > 1).collect();
        order.sort_unstable_by_key(|&class| (spread(class as u64), class));
        order.truncate(MOST_CLASSES);
        let most = ROWS_A_CLASS.max(MOST_ROWS / order.len().max(1));
        let mut some = Vec::new();
        for class in order {
            let own = &mut by_class[class];
            own.sort_unstable_by_key(|&row| (spread(!(row as u64)), row));
            some.extend(own.iter().take(most));
            if some.len() >= MOST_ROWS {
                break;
            }
        }
        some.sort_unstable();
        some
    }

    /// What a model says whose classes lack some, or nothing if the fold cannot tell.
    fn fold(
        &self,
        params: &Params,
        candidates: &[Weights],
        penalty: &mut Option<f64>,
        (learned, asked, out): (&[usize], &[usize], &[usize]),
        covers: bool,
    ) -> Result<Option<Fold>, FitError> {
        let run = &self.run.in_memory();
        let (features, labels) = (self.features.select(learned), self.labels.select(learned));
        let number = |row: usize| {
            let name = self.labels.name(row);
            labels.names().iter().position(|other| other == name).map(|class| class as u32)
        };
        let (asked, truth): (Vec<usize>, Vec<u32>) =
            asked.iter().filter_map(|&row| number(row).map(|class| (row, class))).unzip();
        if labels.names().len() < 2 || asked.is_empty() || out.is_empty() {
            return Ok(None);
        }
        let fold = Data { run, features: &features, labels: &labels, ignored: self.ignored, is_heard: true };
        let params = &Params { search: Search::Exact, ..params.clone() };
        // A fit with parameters whose cover was chosen weighs as the fit that chose it.
        let was_chosen = params.cover_loss > 0.0 && params.max_extreme_vectors.is_none();
        let params = if was_chosen { &params.clone().keeping_all() } else { params };
        let all: Vec<usize> = (0..learned.len()).collect();
        let (machine, _) = fold.learn(run, params.without_witnesses().check()?, (&all, &[]))?;
        let machine = Machine { params: params.check()?, ..machine.machine };
        let queries: Features<'_> = self.features.select(&[asked.as_slice(), out].concat());
        let metric = &params.metric;
        let (points, query_points) =
            (Points::prepare(&features, metric)?, Points::prepare(&queries, metric)?);
        let largest = candidates.iter().fold(Weights::default(), |most, weights| Weights {
            logits: most.logits.max(weights.logits),
            probe: most.probe.max(weights.probe),
            forest: most.forest.max(weights.forest),
        });
        if largest.hear_logits() && penalty.is_none() {
            let (held, rest): (Vec<usize>, Vec<usize>) =
                all.iter().partition(|&&row| spread(learned[row] as u64).is_multiple_of(5));
            *penalty = Some(Probe::choose(run, metric, fold.classed(&points), &rest, &held)?.penalty());
        }
        let voices = fold.voices(run, params, largest, &points, (&all, &[]), (None, *penalty))?;
        let numbers: Vec<usize> = (0..query_points.len()).collect();
        let said = voices.say(run, &query_points, &numbers, None)?;
        let mut machines =
            vec![Asked { features: machine.supports(run, &queries, None)?, logits: said.logits }];
        if covers {
            let logits = voices.logits.as_ref().map(|logits| {
                (
                    logits,
                    logits.projection.project(&points, &all),
                    logits.projection.project(&query_points, &numbers),
                )
            });
            for threshold in cover::THRESHOLDS {
                let features = cover::supports(run, &machine, threshold, &features, &queries)?;
                let logits = match &logits {
                    Some((logits, rows, queries)) => {
                        Some(cover::supports(run, &logits.machine, threshold, rows, queries)?)
                    }
                    None => None,
                };
                machines.push(Asked { features, logits });
            }
        }
        let classes = labels.names().len();
        Ok(Some(Fold { machines, probe: said.probe, forest: said.forest, truth, classes }))
    }
}

/// What machines say of the queries of a fold, rows x classes each.
pub(super) struct Asked {
    features: Vec<f64>,
    logits: Option<Vec<f64>>,
}

/// What was said of the queries of a fold: the known ones first, then those of classes that were left out.
pub(super) struct Fold {
    /// With every point kept, then under each of the covers.
    machines: Vec<Asked>,
    probe: Option<Vec<f64>>,
    forest: Option<Vec<f64>>,
    /// Class of each known query.
    truth: Vec<u32>,
    classes: usize,
}

impl Fold {
    /// The OSCR of some weights, with the machines of that position.
    pub(super) fn worth(&self, params: &Params, weights: Weights, position: usize) -> f64 {
        let Asked { features: g, logits: l } = &self.machines[position];
        let (z, t, classes) = (&self.probe, &self.forest, self.classes);
        let known = self.truth.len() * classes;
        let heard = Heard {
            features: &g[..known],
            logits: l.as_ref().map(|values| &values[..known]),
            probe: z.as_ref().map(|values| &values[..known]),
            forest: t.as_ref().map(|values| &values[..known]),
            classes,
        };
        let mixture = Mixture::new(&heard, weights);
        let value = |values: &Option<Vec<f64>>, at: usize| values.as_ref().map_or(0.0, |values| values[at]);
        let answer = |row: usize| {
            let support = |class: usize| {
                let at = row * classes + class;
                mixture.testimony(g[at], value(l, at), value(z, at), value(t, at)).sum()
            };
            let (best, score) = raised(params, (0..classes).map(support));
            let kind = match self.truth.get(row) {
                Some(&class) if class as usize == best => Kind::Right,
                Some(_) => Kind::Wrong,
                None => Kind::Stranger,
            };
            Answer { score, kind }
        };
        let mut answers: Vec<Answer> = (0..g.len() / classes).into_par_iter().map(answer).collect();
        oscr(&mut answers)
    }
}

/// Whether no weights with a forest were better than the usual ones, which have none, in one of the first folds: then the others
/// go without. Growing forests is most of what folds of embeddings cost.
fn forest_lost(candidates: &[Weights], worth: &[Vec<f64>]) -> bool {
    let enough = worth.len() >= FIRST_FOLDS && candidates[0].forest == 0.0;
    let leads = |fold: &Vec<f64>| {
        let with_forest = candidates.iter().zip(fold).filter(|(weights, _)| weights.forest > 0.0);
        with_forest.map(|(_, worth)| worth - fold[0]).fold(f64::NEG_INFINITY, f64::max) > 0.0
    };
    enough && !worth[..FIRST_FOLDS].iter().all(leads)
}

/// The best class and what is compared with the threshold: its support, and what its lead counts.
fn raised(params: &Params, supports: impl Iterator<Item = f64>) -> (usize, f64) {
    let (mut best, mut first, mut second) = (0, f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (class, support) in supports.enumerate() {
        if support > first {
            (best, second, first) = (class, first, support);
        } else {
            second = second.max(support);
        }
    }
    let lead = first - second;
    (best, if lead.is_finite() { first + params.contrast * lead } else { first })
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Known, and named right.
    Right,
    /// Known, and named wrong.
    Wrong,
    Stranger,
}

#[derive(Debug, Clone, Copy)]
struct Answer {
    score: f64,
    kind: Kind,
}

/// The area under the share of known queries that are accepted and named right, against the share of strangers accepted.
fn oscr(answers: &mut [Answer]) -> f64 {
    answers.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
    let strangers = answers.iter().filter(|answer| answer.kind == Kind::Stranger).count();
    let known = answers.len() - strangers;
    let (mut area, mut right) = (0.0, 0.0);
    // Answers of one score come and go together.
    for equal in answers.chunk_by(|a, b| a.score == b.score) {
        let count = |kind: Kind| equal.iter().filter(|answer| answer.kind == kind).count() as f64;
        let came = count(Kind::Right);
        area += count(Kind::Stranger) * (right + came / 2.0);
        right += came;
    }
    area / (known.max(1) as f64 * strangers.max(1) as f64)
}

/// Which candidate to take: the first, unless another is better by [`ERRORS`] standard errors over folds.
fn best(worth: &[Vec<f64>]) -> usize {
    let folds = worth.len() as f64;
    if worth.len() < 2 {
        return 0;
    }
    let lead = |candidate: usize| {
        let differences = || worth.iter().map(|fold| fold[candidate] - fold[0]);
        let mean = differences().sum::<f64>() / folds;
        let variance = differences().map(|value| (value - mean).powi(2)).sum::<f64>() / (folds - 1.0);
        mean - ERRORS * (variance / folds).sqrt()
    };
    let mut found = (0, 0.0);
    for candidate in 1..worth[0].len() {
        let lead = lead(candidate);
        if lead > found.1 {
            found = (candidate, lead);
        }
    }
    found.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Weight;

    #[test]
    fn oscr_counts_right_names_against_strangers() {
        let answer = |score: f64, kind: Kind| Answer { score, kind };
        let mut apart = [answer(3.0, Kind::Right), answer(2.0, Kind::Right), answer(1.0, Kind::Stranger)];
        assert_eq!(oscr(&mut apart), 1.0);
        let mut mixed = [
            answer(4.0, Kind::Right),
            answer(3.0, Kind::Stranger),
            answer(2.0, Kind::Wrong),
            answer(1.0, Kind::Stranger),
        ];
        assert_eq!(oscr(&mut mixed), 0.5);
        let mut tied = [answer(1.0, Kind::Right), answer(1.0, Kind::Stranger)];
        assert_eq!(oscr(&mut tied), 0.5);
    }

    #[test]
    fn the_usual_weights_stay_unless_the_folds_agree() {
        let noise = [vec![0.9, 0.99, 0.91], vec![0.9, 0.85, 0.91], vec![0.9, 0.95, 0.911]];
        assert_eq!(best(&noise), 2, "a small lead in every fold counts, a large one in some does not");
        assert_eq!(best(&noise[..1]), 0);
        assert_eq!(best(&[]), 0);
        assert_eq!(best(&[vec![0.9, 0.8], vec![0.9, 0.8]]), 0);
    }

    #[test]
    fn a_forest_that_loses_a_first_fold_is_not_grown_again() {
        let forest = |forest: f64| Weights { forest, ..Weights::default() };
        let candidates = [forest(0.0), forest(1.0), forest(2.0)];
        assert!(!forest_lost(&candidates, &[vec![0.9, 0.8, 0.8]]), "one fold is not enough");
        assert!(forest_lost(&candidates, &[vec![0.9, 0.91, 0.8], vec![0.9, 0.8, 0.8]]));
        assert!(!forest_lost(&candidates, &[vec![0.9, 0.91, 0.8], vec![0.9, 0.8, 0.92]]));
        assert!(!forest_lost(&[forest(1.0), forest(0.0)], &[vec![0.9, 0.8], vec![0.9, 0.8]]), "it is usual");
        // What was not measured does not win.
        assert_eq!(best(&[vec![0.9, 0.95], vec![0.9, f64::NAN], vec![0.9, f64::NAN]]), 0);
    }

    #[test]
    fn fixed_weights_are_not_compared() {
        let fixed = Params { forest_weight: Weight::Fixed(0.0), ..Params::robust() };
        assert!(Weights::candidates(&fixed).iter().all(|weights| weights.forest == 0.0));
        assert_eq!(Weights::candidates(&Params::plain()), [Weights::default()]);
        assert_eq!(Weights::candidates(&Params::robust())[0].forest, 1.0);
    }
}
