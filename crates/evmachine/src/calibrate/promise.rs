//! What a threshold promises about rows to come, and how sure that is.

use std::fmt;

use serde::Serialize;

use crate::error::percent;
use crate::heldout::beta::Beta;
use crate::heldout::calibration::Calibration;
use crate::heldout::conformal::{FOLDED, mistakes_allowed, rows_needed};
use crate::heldout::quantile;
use crate::heldout::sample::Role;
use crate::model::Evm;
use crate::params::rejection::{DELTA, Rejection};

/// A share of known rows rejected that nobody may overlook.
const MUCH: f64 = 0.2;

/// What a threshold was set on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Basis {
    /// Rows of training that were never learned from. The promise follows from that.
    HeldOut,
    /// Rows that were learned from, by what models without them said: there were too few to hold any out for good. That the
    /// promise is kept is measured, not proved.
    Folds,
    /// Labelled rows that were given to calibrate on.
    Given,
    /// Rows that were given as strangers.
    Strangers,
    /// Classes left out in turn, by models that did not have them: an estimate of what strangers do.
    ClassesLeftOut,
    /// Classes of the model, each hidden from the decision, because the model was not trained for a share of strangers: an estimate that
    /// is too low, since the others were fitted beside them.
    ClassesHidden,
    /// Nothing: the threshold was given as a number, or there was nothing to set it on.
    Nothing,
}

/// What the threshold of a model promises ([`Evm::promise`]).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Promise {
    /// What was asked for.
    pub rule: Rejection,
    /// Of how many trainings in 1 it is to hold; 0 is on average over trainings.
    pub confidence: f64,
    /// What the threshold rests on.
    pub basis: Basis,
    /// Rows that it rests on.
    pub rows: usize,
    /// Rows of equal weight that tell as much: fewer where some stand for more than others.
    pub effective_rows: usize,
    /// The range in which the share of mistakes lies with 95 %: known rows rejected, or strangers accepted. `None` where
    /// there are too few rows, for an estimate, and where the threshold was given.
    pub range: Option<(f64, f64)>,
    /// Where the rows are too few to keep the promise, how many it takes: of each class by the class that is answered, where the rule is
    /// one for each class. The threshold is a guess then.
    pub rows_needed: Option<usize>,
    /// Classes with too few rows for a threshold of their own, where the rule asks for one; they have that of all rows.
    pub classes_without: usize,
    /// For an estimate: the shares of classes left out that are accepted, of the class with the fewest and of that with the most.
    pub spread: Option<(f64, f64)>,
    /// For a rule about strangers: the share of known rows that the threshold rejects, by the rows held out.
    pub known_rejected: Option<f64>,
}

/// # Thresholds
impl Evm {
    /// What the threshold promises, what that rests on, and how sure it is.
    ///
    /// ```
    /// # use evmachine::{Basis, Evm, Features, Labels, Params};
    /// let values: Vec<f32> = (0..200).map(|i| (i % 100) as f32 / 100.0 + (i / 100) as f32 * 5.0).collect();
    /// let labels = Labels::new((0..200).map(|i| if i < 100 { "low" } else { "high" }))?;
    /// let (evm, _) = Evm::fit(&Params::plain(), &Features::new(values, 1)?, &labels)?;
    /// let promise = evm.promise();
    /// assert_eq!((promise.basis, promise.rows, promise.rows_needed), (Basis::Folds, 200, None));
    /// let (low, high) = promise.range.expect("200 rows tell 5 %");
    /// assert!(low > 0.005 && high < 0.13, "{low} {high}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn promise(&self) -> Promise {
        let (rule, confidence) = (self.machine.params.rejection_threshold, self.machine.params.confidence);
        let mut promise = Promise {
            rule,
            confidence,
            basis: Basis::Nothing,
            rows: 0,
            effective_rows: 0,
            range: None,
            rows_needed: None,
            classes_without: 0,
            spread: None,
            known_rejected: None,
        };
        let rate = rule.value();
        let needed = rows_needed(rate, confidence);
        let Some(scores) = self.held.calibration.as_deref().filter(|_| rule.is_calibrated()) else {
            promise.rows_needed = rule.is_calibrated().then_some(needed);
            return promise;
        };
        if let Rejection::FalseKnown(_) = rule {
            promise.known_rejected = Some(scores.known_rejected());
            (promise.rows, promise.basis) = (scores.strangers().len(), Basis::Strangers);
            if promise.rows == 0 {
                (promise.rows, promise.basis) = match scores.apart().len() {
                    0 => (scores.left_out().len(), Basis::ClassesHidden),
                    rows => (rows, Basis::ClassesLeftOut),
                };
                let shares = scores.left_out_accepted(self.threshold(), self.machine.classes.len());
                promise.spread = shares.first().copied().zip(shares.last().copied());
                return promise;
            }
            promise.effective_rows = promise.rows;
        } else {
            promise.basis = self.calibration_basis();
            promise.rows = scores.rows().len();
            promise.effective_rows = self.effective_rows(scores);
        }
        if let Rejection::FalseUnknownPerClass(_) = rule {
            let too_few = |class: &u32| {
                let own = scores.answered(*class);
                let told = if confidence == 0.0 { 1 } else { self.rows_that_tell_as_one() };
                quantile::effective(&own) / told < needed
            };
            promise.classes_without = (0..self.machine.classes.len() as u32).filter(too_few).count();
            promise.rows_needed = (promise.classes_without > 0).then_some(needed);
        }
        // On average folded rows keep the share as others do; how far a training may be off, they tell less well.
        let enough = if confidence == 0.0 { promise.rows } else { promise.effective_rows };
        if enough < needed {
            let told = if confidence == 0.0 { 1 } else { self.rows_that_tell_as_one() };
            promise.rows_needed = Some(needed.saturating_mul(told));
        } else {
            promise.range = Some(Self::range(promise.effective_rows, rate, confidence));
        }
        promise
    }

    /// The range in which the share of mistakes lies with 95 %.
    fn range(rows: usize, rate: f64, confidence: f64) -> (f64, f64) {
        let all = (rows + 1) as f64;
        let mistakes = match confidence {
            0.0 => rate * all,
            _ => mistakes_allowed(rows, rate, confidence).max(1) as f64,
        };
        let share = Beta { a: mistakes, b: all - mistakes };
        (share.quantile(0.025), share.quantile(0.975))
    }

    /// So many rows tell as much that were never learned and stand for equally many queries.
    pub(crate) fn effective_rows(&self, calibration: &Calibration) -> usize {
        calibration.effective_rows() / self.rows_that_tell_as_one()
    }

    pub(crate) fn rows_that_tell_as_one(&self) -> usize {
        if self.calibration_basis() == Basis::Folds { FOLDED } else { 1 }
    }

    pub(crate) fn calibration_basis(&self) -> Basis {
        let has = |role: Role| self.held.sample.as_ref().is_some_and(|sample| sample.roles.contains(&role));
        if has(Role::Folded) {
            Basis::Folds
        } else if has(Role::Fresh) {
            Basis::Given
        } else {
            Basis::HeldOut
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Basis::HeldOut => "rows held out of training",
            Basis::Folds => "training rows, each scored by a model that did not learn it",
            Basis::Given => "rows given to calibrate on",
            Basis::Strangers => "rows given as strangers",
            Basis::ClassesLeftOut => "rows of classes left out in turn",
            Basis::ClassesHidden => "rows of classes that the model has learned, each hidden in turn",
            Basis::Nothing => "nothing",
        })
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.rule)?;
        if self.basis == Basis::Nothing {
            return match self.rows_needed {
                Some(_) => write!(
                    formatter,
                    ": not promised, there are no rows to set it on; psi below {DELTA} is unknown"
                ),
                None => Ok(()),
            };
        }
        if self.is_estimate() && self.rows == 0 {
            return write!(
                formatter,
                ": not promised, there are no strangers and no other class; {} instead",
                Rejection::DEFAULT
            );
        }
        if self.is_estimate() {
            write!(formatter, ", an estimate from {} {}", self.rows, self.basis)?;
            if let Some((low, high)) = self.spread {
                write!(
                    formatter,
                    " ({} to {} % of each class); give strangers to have it measured",
                    tenths(low),
                    tenths(high)
                )?;
            }
            return self.cost(formatter);
        }
        if self.confidence > 0.0 {
            write!(formatter, " in {} of 100 trainings", percent(self.confidence))?;
        }
        write!(formatter, ", set on {} {}", self.rows, self.basis)?;
        if let Some((low, high)) = self.range {
            write!(formatter, "; the true share lies between {} and {} % (95 %)", tenths(low), tenths(high))?;
        }
        self.cost(formatter)
    }
}

impl Promise {
    /// What a person should know who relies on the threshold; `None` where it keeps what was asked for.
    pub fn doubt(&self) -> Option<String> {
        let rate = self.rule.value();
        if rate == 0.0 && self.rule.is_calibrated() && !matches!(self.rule, Rejection::FalseKnown(_)) {
            return Some("nothing known may be rejected, so every query within reach gets a name".to_owned());
        }
        if self.confidence > 0.0 && !self.rule.is_calibrated() {
            return Some(format!(
                "a confidence of {} % goes with a share of known rows or of strangers; {} promises neither, and it is not used",
                percent(self.confidence),
                self.rule
            ));
        }
        let unsure =
            if self.confidence > 0.0 { ". An estimate has no confidence: it takes strangers" } else { "" };
        match self.basis {
            Basis::ClassesHidden if self.rows == 0 => {
                return Some(format!(
                    "{} cannot be promised: no strangers were given, and there is no other class to stand in for them. {} is kept to instead; \
                     give strangers",
                    self.rule,
                    Rejection::DEFAULT
                ));
            }
            Basis::ClassesLeftOut => {
                return Some(format!(
                    "no strangers were given: the threshold for {} is an estimate from classes left out in turn, and strangers of another \
                     kind may do better or worse{unsure}",
                    self.rule
                ));
            }
            Basis::ClassesHidden => {
                return Some(format!(
                    "no strangers were given, and no class was left out in training: the threshold for {} is an estimate from classes that \
                     the model has learned, and several times as many strangers may be accepted. Give strangers, or train with this rule \
                     on three classes or more{unsure}",
                    self.rule
                ));
            }
            Basis::Strangers if self.known_rejected.is_some_and(|share| share > MUCH) => {
                return Some(format!(
                    "the threshold for {} rejects {} % of known rows: such strangers are hard to tell from known rows. Allow a larger share",
                    self.rule,
                    tenths(self.known_rejected.unwrap_or_default())
                ));
            }
            _ => {}
        }
        let needed = self.rows_needed?;
        if self.classes_without > 0 && self.range.is_some() {
            let classes = if self.classes_without == 1 { "class has" } else { "classes have" };
            return Some(format!(
                "{} {classes} fewer than {needed} held-out rows that are answered with it, as {} takes: the threshold of all rows is used \
                 there",
                self.classes_without,
                self.asked()
            ));
        }
        Some(format!(
            "{} cannot be promised: it takes {needed} rows to set the threshold on, and there are {}; the threshold is a guess. Give more \
             rows, or allow a larger share",
            self.asked(),
            if self.confidence == 0.0 || self.basis == Basis::Folds {
                self.rows
            } else {
                self.effective_rows
            }
        ))
    }

    /// What keeping to a share of strangers costs.
    fn cost(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known_rejected {
            Some(share) => write!(formatter, "; about {} % of known rows are rejected", tenths(share)),
            None => Ok(()),
        }
    }

    /// Whether strangers to come may do otherwise: none were given.
    pub fn is_estimate(&self) -> bool {
        matches!(self.basis, Basis::ClassesLeftOut | Basis::ClassesHidden)
    }

    fn asked(&self) -> String {
        let share = percent(self.rule.value());
        match self.confidence {
            0.0 => format!("{share} %"),
            confidence => format!("{share} % with a confidence of {} %", percent(confidence)),
        }
    }
}

/// Per cent with one digit behind the point.
fn tenths(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}
