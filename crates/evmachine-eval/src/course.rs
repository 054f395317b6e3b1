//! Where a Bayesian search goes next.

use std::collections::HashSet;

use evmachine::Params;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tpe::{TpeOptimizer, histogram_estimator, parzen_estimator};

use crate::space::{MEASURED, PARAMETERS, Position, Space, TAIL_MODEL, WHITENING};
use crate::tune::TuneError;

/// Trials that share whitening and smoothing, because distances are measured once for each.
const ROUND: usize = 4;

/// The presets first; then rounds that ask the estimators, and rounds beside the best position so far, in turn.
///
/// Two thirds of the trials have no whitening, unless a preset has it. Then the best of them is tried with each other
/// whitening, a round each, and the rest goes on beside what is best now. Whitening depends little on the other parameters,
/// and its values multiply the distances to be measured: a search over all at once finds less in as many trials.
pub(crate) struct Course<'a> {
    space: &'a Space,
    presets: Vec<Position>,
    search: Bayesian,
    random: StdRng,
    tried: HashSet<Position>,
    best: (f64, Position),
    measured: [usize; MEASURED],
    /// The whitening closest to none.
    plain: usize,
    /// The first trial that may change whitening.
    sweep_from: usize,
    /// The values that the best is tried with from there on, a round each.
    sweep: Vec<usize>,
}

impl<'a> Course<'a> {
    pub(crate) fn new(space: &'a Space, base: &Params, trials: usize, seed: u64) -> Result<Self, TuneError> {
        let robust = Params { whitening: 0.0, ..Params::robust_for(base.metric.clone()) };
        let presets = [robust, Params::plain(), base.clone()];
        Ok(Self {
            space,
            presets: presets.iter().map(|preset| space.near(preset)).collect(),
            search: Bayesian::new(space).ok_or(TuneError::EmptySpace)?,
            random: StdRng::seed_from_u64(seed),
            tried: HashSet::new(),
            best: (f64::NEG_INFINITY, Position::default()),
            measured: [0; MEASURED],
            sweep_from: (trials * 2 / 3 / ROUND * ROUND).max(ROUND),
            plain: space.near(&Params::plain())[WHITENING],
            sweep: Vec::new(),
        })
    }

    /// A position that was not tried before; the first of the grid where chance finds none.
    pub(crate) fn next(&mut self, trial: usize) -> Position {
        const PATIENCE: usize = 50;
        let at = (0..PATIENCE).find_map(|attempt| {
            let at = self.ask(trial, attempt);
            (!self.tried.contains(&at)).then_some(at)
        });
        let at = at.or_else(|| self.space.grid().find(|at| !self.tried.contains(at))).unwrap_or_default();
        self.tried.insert(at);
        self.measured.copy_from_slice(&at[..MEASURED]);
        at
    }

    fn ask(&mut self, trial: usize, attempt: usize) -> Position {
        if let Some(&preset) = self.presets.get(trial)
            && attempt == 0
        {
            return preset;
        }
        let starts = trial.is_multiple_of(ROUND);
        if trial == self.sweep_from {
            let own = self.best.1[WHITENING];
            self.sweep = (0..self.space.whitening.len()).filter(|&whitening| whitening != own).collect();
        }
        let swept = trial.checked_sub(self.sweep_from).map(|trial| trial / ROUND);
        let mut at = if let Some(&whitening) = swept.and_then(|round| self.sweep.get(round)) {
            self.sweep_round(whitening, starts && attempt == 0)
        } else if (trial / ROUND).is_multiple_of(2) {
            let whitening = if swept.is_some() { self.best.1[WHITENING] } else { self.plain };
            self.search.ask(whitening, &mut self.random)
        } else {
            let first = match (starts, swept) {
                (false, _) => MEASURED,
                (true, None) => WHITENING + 1,
                (true, Some(_)) => WHITENING,
            };
            self.space.beside(self.best.1, first, &mut self.random)
        };
        if !starts {
            at[..MEASURED].copy_from_slice(&self.measured);
        }
        at
    }

    /// The best with another whitening, as it is or beside it.
    fn sweep_round(&mut self, whitening: usize, as_it_is: bool) -> Position {
        let mut at = self.best.1;
        if !as_it_is {
            at = self.space.beside(at, MEASURED, &mut self.random);
        }
        at[WHITENING] = whitening;
        at
    }

    /// Higher values are better.
    pub(crate) fn tell(&mut self, at: Position, value: f64) {
        self.search.tell(at, value);
        if value > self.best.0 {
            self.best = (value, at);
        }
    }
}

/// A Bayesian search (tree-structured Parzen estimators), one estimator for each parameter but whitening.
struct Bayesian {
    estimators: Vec<TpeOptimizer>,
    sizes: [usize; PARAMETERS],
}

impl Bayesian {
    /// `None` for an empty space.
    fn new(space: &Space) -> Option<Self> {
        let sizes = space.sizes();
        let estimators = sizes.iter().enumerate().skip(WHITENING + 1).map(|(parameter, &size)| {
            let estimator = if parameter == TAIL_MODEL { histogram_estimator() } else { parzen_estimator() };
            tpe::categorical_range(size).ok().map(|range| TpeOptimizer::new(estimator, range))
        });
        Some(Self { estimators: estimators.collect::<Option<_>>()?, sizes })
    }

    fn ask(&mut self, whitening: usize, random: &mut StdRng) -> Position {
        let mut at = [whitening; PARAMETERS];
        let others = at.iter_mut().zip(self.sizes).skip(WHITENING + 1);
        for ((at, size), estimator) in others.zip(&mut self.estimators) {
            // An estimator that finds no density has no opinion; the first value is as good as any.
            *at = estimator.ask(random).map_or(0, |value| (value as usize).min(size - 1));
        }
        at
    }

    /// Higher values are better.
    fn tell(&mut self, at: Position, value: f64) {
        for (estimator, at) in self.estimators.iter_mut().zip(&at[WHITENING + 1..]) {
            // The middle of the cell. A value that is no number teaches nothing.
            let _ = estimator.tell(*at as f64 + 0.5, -value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_finds_the_best_corner_more_often_than_chance() {
        let space = Space::full();
        let mut search = Bayesian::new(&space).unwrap();
        let mut random = StdRng::seed_from_u64(1);
        let mut late = 0.0;
        for trial in 0..150 {
            let at = search.ask(0, &mut random);
            let value = -(at[3] as f64 - 6.0).powi(2) - (at[5] as f64 - 5.0).powi(2);
            search.tell(at, value);
            if trial >= 100 {
                late += value / 50.0;
            }
        }
        // Uniform choices average below -16.
        assert!(late > -6.0, "{late}");
    }

    #[test]
    fn the_presets_come_first_and_nothing_comes_twice() {
        let space = Space::full();
        let mut course = Course::new(&space, &Params::plain(), 100, 1).unwrap();
        let first = space.params(&Params::plain(), course.next(0));
        assert_eq!((first.smoothing, first.smoothing_neighbors, first.pooling), (0.5, 4, 1.0));
        let second = space.params(&Params::plain(), course.next(1));
        assert_eq!((second.smoothing, second.distance_multiplier, second.pooling), (0.0, 0.5, 0.0));
        let tiny = Space { tail_fraction: vec![0.1, 0.2], ..Space::paper() };
        let mut course = Course::new(&tiny, &Params::plain(), tiny.len(), 1).unwrap();
        let all: HashSet<Position> = (0..tiny.len()).map(|trial| course.next(trial)).collect();
        assert_eq!(all.len(), tiny.len());
    }

    #[test]
    fn it_climbs_where_parameters_work_together() {
        let space = Space::full();
        let mut course = Course::new(&space, &Params::plain(), 100, 1).unwrap();
        // A ridge that single parameters do not show.
        let value =
            |at: Position| -((at[4] + at[5]) as f64 - 9.0).abs() - 0.5 * (at[3] as f64 - at[5] as f64).abs();
        for trial in 0..100 {
            let at = course.next(trial);
            course.tell(at, value(at));
        }
        assert!(course.best.0 >= -0.5, "{:?}", course.best);
    }
    #[test]
    fn whitening_is_tried_on_the_best_of_the_rest() {
        let space = Space::full();
        let mut course = Course::new(&space, &Params::plain(), 60, 1).unwrap();
        let value = |at: Position| at[WHITENING] as f64 - (at[3] as f64 - 6.0).abs();
        let mut before = f64::NEG_INFINITY;
        for trial in 0..60 {
            let (best, at) = (course.best, course.next(trial));
            assert!(trial >= 40 || at[WHITENING] == 0, "{trial}: {at:?}");
            if trial == 40 || trial == 44 {
                let expected = if trial == 40 { 1 } else { 2 };
                assert_eq!((at[WHITENING], &at[1..]), (expected, &best.1[1..]));
                before = before.max(best.0);
            }
            course.tell(at, value(at));
        }
        assert_eq!(course.best.1[WHITENING], 2);
        assert!(course.best.0 > before);
    }
}
