//! The last decisions, in memory: what people ask "why" about, and what versions are compared on.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use evmachine::Answer;
use evmachine_openworld::{Minute, SampleId};

/// Decisions that are kept, as long as their features take no more than [`BYTES`].
const KEPT: usize = 10_000;
const BYTES: usize = 256 << 20;
/// Minutes of which the rate of unknowns is kept: a week.
const MINUTES: usize = 7 * 24 * 60;

/// A decision that was answered.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// Counted over all runs of the server: the clock at its start in microseconds, and then one by one.
    pub(crate) number: u64,
    /// Seconds since 1970.
    pub(crate) time: i64,
    pub(crate) answer: Answer,
    pub(crate) sample: Option<SampleId>,
    pub(crate) id: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) model: String,
    pub(crate) features: Box<[f32]>,
}

/// Where decisions are kept.
pub(crate) struct Recent {
    kept: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    next: u64,
    decisions: VecDeque<Answered>,
    minutes: VecDeque<Minute>,
    /// What the pool does not have of them yet.
    unsaved: Vec<Minute>,
}

impl Recent {
    /// `minutes` are those of before the server was started.
    pub(crate) fn new(dimensions: usize, minutes: Vec<Minute>) -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64);
        let inner =
            Inner { next: started, decisions: VecDeque::new(), minutes: minutes.into(), unsaved: Vec::new() };
        Self { kept: KEPT.min(BYTES / (4 * dimensions.max(1))), inner: Mutex::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the last of these decisions, in order, and returns the number of the first.
    pub(crate) fn push(&self, decisions: impl ExactSizeIterator<Item = Answered>) -> u64 {
        let (time, count) = (now(), decisions.len());
        let mut unknown = 0;
        let mut kept = Vec::with_capacity(count.min(self.kept));
        for (at, decision) in decisions.enumerate() {
            unknown += u64::from(decision.answer.class.is_none());
            if count - at <= self.kept {
                kept.push(decision);
            }
        }
        let rows = count as u64;
        let mut inner = self.lock();
        let first = inner.next;
        inner.next += rows;
        let surplus = (inner.decisions.len() + kept.len()).saturating_sub(self.kept);
        inner.decisions.drain(..surplus);
        let numbers = first + rows - kept.len() as u64..;
        inner.decisions.extend(kept.into_iter().zip(numbers).map(|(mut decision, number)| {
            (decision.number, decision.time) = (number, time);
            decision
        }));
        let minute = Minute { time: time - time.rem_euclid(60), rows, unknown };
        if !add(inner.minutes.back_mut(), minute) {
            inner.minutes.push_back(minute);
            if inner.minutes.len() > MINUTES {
                inner.minutes.pop_front();
            }
        }
        if !add(inner.unsaved.last_mut(), minute) {
            inner.unsaved.push(minute);
        }
        first
    }

    /// What the pool does not have yet, which has it from now on.
    pub(crate) fn take_unsaved(&self) -> Vec<Minute> {
        std::mem::take(&mut self.lock().unsaved)
    }

    /// The last ones, newest first.
    pub(crate) fn last(&self, count: usize) -> Vec<Answered> {
        self.lock().decisions.iter().rev().take(count).cloned().collect()
    }

    pub(crate) fn find(&self, number: u64) -> Option<Answered> {
        let inner = self.lock();
        let first = inner.decisions.front()?.number;
        inner.decisions.get(usize::try_from(number.checked_sub(first)?).ok()?).cloned()
    }

    /// Notes which sample the row of a decision is.
    pub(crate) fn keep(&self, number: u64, sample: SampleId) {
        let mut inner = self.lock();
        let first = inner.decisions.front().map_or(0, |decision| decision.number);
        let at = number.checked_sub(first).and_then(|at| usize::try_from(at).ok());
        if let Some(decision) = at.and_then(|at| inner.decisions.get_mut(at)) {
            decision.sample = Some(sample);
        }
    }

    pub(crate) fn minutes(&self) -> Vec<Minute> {
        self.lock().minutes.iter().copied().collect()
    }

    /// P-values of the decisions that are kept, where their model was calibrated.
    pub(crate) fn p_values(&self) -> Vec<f64> {
        self.lock().decisions.iter().filter_map(|decision| decision.answer.p_value).collect()
    }

    /// Decisions that are kept, and how many of them were unknown.
    pub(crate) fn unknown(&self) -> (u64, u64) {
        let inner = self.lock();
        let unknown = inner.decisions.iter().filter(|decision| decision.answer.class.is_none()).count();
        (inner.decisions.len() as u64, unknown as u64)
    }
}

/// Adds to the last minute, if it is the same; whether it was.
fn add(last: Option<&mut Minute>, more: Minute) -> bool {
    let Some(last) = last.filter(|last| last.time == more.time) else { return false };
    last.rows += more.rows;
    last.unknown += more.unknown;
    true
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs().cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(class: Option<&str>) -> Answered {
        Answered {
            number: 0,
            time: 0,
            answer: serde_json::from_value(serde_json::json!({
                "class": class, "known": class.is_some(), "best": "a", "support": if class.is_some() { 0.5 } else { -0.5 },
                "p_value": 0.25, "p_known": 0.25, "psi": 0.5,
            }))
            .unwrap(),
            sample: None,
            id: None,
            text: None,
            model: String::new(),
            features: Box::default(),
        }
    }

    #[test]
    fn the_oldest_go_and_numbers_stay() {
        let recent = Recent { kept: 3, ..Recent::new(1, Vec::new()) };
        let first = recent.push([answered(None), answered(Some("a"))].into_iter());
        let second = recent.push([answered(None), answered(Some("b"))].into_iter());
        assert_eq!(second, first + 2);
        assert!(recent.find(first).is_none());
        assert_eq!(recent.find(first + 3).and_then(|found| found.answer.class), Some("b".to_owned()));
        assert!(recent.find(first + 4).is_none());
        let numbers: Vec<u64> = recent.last(2).iter().map(|decision| decision.number - first).collect();
        assert_eq!(numbers, [3, 2]);
        assert_eq!(recent.unknown(), (3, 1));
        assert_eq!(recent.p_values(), [0.25; 3]);
        recent.push((0..5).map(|_| answered(None)));
        assert_eq!(recent.last(9).iter().map(|last| last.number - first).collect::<Vec<_>>(), [8, 7, 6]);
        let rows: u64 = recent.minutes().iter().map(|minute| minute.rows).sum();
        assert_eq!(rows, 9);
        assert_eq!(recent.take_unsaved().iter().map(|minute| minute.rows).sum::<u64>(), 9);
        assert!(recent.take_unsaved().is_empty());
    }
}
