//! What came, told by undoing it: the cause that, taken back, leaves the last rows as they were before.
//!
//! Ranks among rows from before say which of the last rows lie low. If all moved by one vector, they do not once it is taken back. If the
//! rows that do not lie low are as many and as high as before, only some have changed: a class that has few healthy rows left ages, and
//! rows that lie together while all classes are healthy are new. What is left changed in kind.

use crate::drift::group;
use crate::drift::report::{CauseKind, DriftCause, NewGroup, Shift};
use crate::drift::rows::KeptRows;
use crate::drift::shift::{Places, mean, taken_back};
use crate::error::RunError;
use crate::model::Evm;
use evmachine_engine::features::Features;
use evmachine_engine::metric::Metric;
use evmachine_engine::run::Run;

/// Rows since the change that a cause takes, and as many from before.
const FEWEST: usize = 100;
/// Rows of a class that its scores are ranked among; with fewer, all are.
const FEWEST_OF_CLASS: usize = 10;
/// Ranks up to this lie low, and above [`HEALTHY`] high.
const LOW: f64 = 0.1;
const HEALTHY: f64 = 0.5;
/// Healthy rows of a class that would be expected, from which on it can be said that they lack.
const FEWEST_HEALTHY: f64 = 6.0;
/// Rows that effective dimensions are compared on.
const COMPARED: usize = 200;

/// Scores from before, by place of the class, and all of them.
struct Before {
    by_place: Vec<Vec<f64>>,
    all: Vec<f64>,
    /// By class, the share of rows.
    shares: Vec<f64>,
}

impl Before {
    fn new(rows: &KeptRows, places: &[u32]) -> Self {
        let count = places.iter().max().map_or(0, |last| *last as usize + 1);
        let mut before =
            Self { by_place: vec![Vec::new(); count], all: Vec::new(), shares: vec![0.0; places.len()] };
        for seen in rows.seen() {
            before.by_place[places[seen.best as usize] as usize].push(seen.score);
            before.all.push(seen.score);
            before.shares[seen.best as usize] += 1.0 / rows.len() as f64;
        }
        before.by_place.iter_mut().for_each(|scores| scores.sort_by(f64::total_cmp));
        before.all.sort_by(f64::total_cmp);
        before
    }

    /// The share of rows from before that score no higher.
    fn rank(&self, place: u32, score: f64) -> f64 {
        let own = &self.by_place[place as usize];
        let scores = if own.len() < FEWEST_OF_CLASS { &self.all } else { own };
        (scores.partition_point(|other| *other <= score) + 1) as f64 / (scores.len() + 1) as f64
    }
}

/// The last rows, with their ranks.
struct Last<'a> {
    evm: &'a Evm,
    rows: KeptRows,
    /// As they are compared: of unit length for cosine.
    features: Features<'static>,
    ranks: Vec<f64>,
    before: Before,
    places: Places,
}

/// What came, by rows from before and those since the change; `None` if it does not show, or rows are too few. `by_vectors`: whether a
/// watch over vectors raised the alarm.
pub(crate) fn name(
    run: &Run<'_>,
    evm: &Evm,
    (before, last): (&KeptRows, KeptRows),
    places: &[u32],
    by_vectors: bool,
) -> Result<Option<DriftCause>, RunError> {
    if before.len() < FEWEST || last.len() < FEWEST {
        return Ok(None);
    }
    let unit = evm.params().metric == Metric::Cosine && !evm.params().standardize;
    let (old, features) = (compared(before, unit), compared(&last, unit));
    let known = Before::new(before, places);
    let ranks = last.seen().iter().map(|seen| known.rank(places[seen.best as usize], seen.score)).collect();
    let classes: Vec<u32> = before.seen().iter().map(|seen| seen.best).collect();
    let norms = norm(&last) / norm(before).max(f64::MIN_POSITIVE);
    let dimensions = dimensions(&features) / dimensions(&old).max(f64::MIN_POSITIVE);
    let at = Last { evm, rows: last, features, ranks, before: known, places: Places::of(&old, &classes) };
    let found = match at.moved(run, places)? {
        Some(shift) => Some(Told::moved(shift)),
        None => at.ages().or_else(|| at.new_class()).or_else(|| at.changed(by_vectors, norms, dimensions)),
    };
    Ok(found.map(|told| DriftCause {
        kind: told.kind,
        text: told.text,
        rows: at.rows.len(),
        class: told.class.map(|class| evm.class_name(class as usize).to_owned()),
        shift: told.shift,
        group: told.group,
        norm_ratio: norms,
        dimension_ratio: dimensions,
    }))
}

/// A cause on its way to the report.
struct Told {
    kind: CauseKind,
    text: String,
    class: Option<u32>,
    shift: Option<Shift>,
    group: Option<NewGroup>,
}

impl Told {
    fn moved(shift: Shift) -> Self {
        let text = format!("all vectors moved by {}", in_words(&shift));
        Self { kind: CauseKind::Moved, text, class: None, shift: Some(shift), group: None }
    }
}

impl Last<'_> {
    /// So many more than expected that chance does not do it: three deviations.
    fn is_more(&self, share: f64, expected: f64) -> bool {
        share > expected + 3.0 * (expected * (1.0 - expected) / self.ranks.len() as f64).sqrt()
    }

    fn share(&self, wanted: impl Fn(f64) -> bool) -> f64 {
        share(&self.ranks, wanted)
    }

    /// What all rows moved by, if they lie low and do not once it is taken back.
    fn moved(&self, run: &Run<'_>, places: &[u32]) -> Result<Option<Shift>, RunError> {
        let low = self.share(|rank| rank <= LOW);
        if !self.is_more(low, LOW) {
            return Ok(None);
        }
        let by = self.places.moved_by(run, self.evm, &self.features)?;
        let Ok(back) = taken_back(&self.features, &by) else { return Ok(None) };
        let decisions = self.evm.decide_with(run, &back)?;
        let ranks: Vec<f64> = decisions
            .iter()
            .map(|decision| self.before.rank(places[decision.best()], decision.score().support))
            .collect();
        let left = share(&ranks, |rank| rank <= LOW);
        let restored = left - LOW <= (low - LOW) / 3.0;
        Ok(restored.then(|| self.places.told(self.evm, &by)))
    }

    /// Whether those that do not lie low are as high as before, so that only some have changed.
    fn is_partial(&self) -> bool {
        let high = self.share(|rank| rank > HEALTHY);
        let others = self.share(|rank| rank > LOW);
        others * self.ranks.len() as f64 >= 20.0 && high / others >= 0.42
    }

    /// Rows that lie so low that few of before do.
    fn lowest(&self) -> Vec<usize> {
        (0..self.ranks.len()).filter(|&row| self.ranks[row] <= LOW / 2.0).collect()
    }

    /// By class, its healthy rows, and how many would be expected of all healthy ones. Rows of an ageing class are missing among all, which
    /// makes too few be expected of it and not too many.
    fn healthy(&self) -> Vec<(f64, f64)> {
        let mut healthy = vec![0.0; self.before.shares.len()];
        for (seen, rank) in self.rows.seen().iter().zip(&self.ranks) {
            healthy[seen.best as usize] += f64::from(u8::from(*rank > HEALTHY));
        }
        let all: f64 = healthy.iter().sum();
        healthy.iter().zip(&self.before.shares).map(|(found, share)| (*found, share * all)).collect()
    }

    /// A class of which few healthy rows are left, against those of others.
    fn ages(&self) -> Option<Told> {
        if !self.is_partial() {
            return None;
        }
        let healthy = self.healthy();
        let lack = |class: usize| {
            let (found, expected) = healthy[class];
            (expected >= FEWEST_HEALTHY && found <= 0.4 * expected)
                .then(|| (expected - found) / expected.sqrt())
                .filter(|lack| *lack >= 2.0)
        };
        let lacking = (0..healthy.len()).filter_map(|class| Some((class, lack(class)?)));
        let (class, _) = lacking.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let changed: Vec<usize> = (0..self.ranks.len())
            .filter(|&row| {
                let best = self.rows.seen()[row].best as usize;
                self.ranks[row] <= HEALTHY && best == class || self.ranks[row] <= LOW / 2.0
            })
            .collect();
        let middle = mean(&self.features, &changed);
        let (nearest, _) = self.places.nearest(&middle)?;
        let was = self.places.means.get(&(class as u32)).filter(|_| nearest as usize == class)?;
        let by: Vec<f64> = middle.iter().zip(was).map(|(now, was)| now - was).collect();
        let shift = self.places.told(self.evm, &by);
        let text = format!(
            "rows of class {:?} changed, those of other classes did not; they moved by {}",
            self.evm.class_name(class),
            in_words(&shift)
        );
        Some(Told {
            kind: CauseKind::ClassAges,
            text,
            class: Some(class as u32),
            shift: Some(shift),
            group: None,
        })
    }

    /// Rows that lie low and together, while others are as before.
    fn new_class(&self) -> Option<Told> {
        let lowest = self.lowest();
        let share = lowest.len() as f64 / self.ranks.len() as f64;
        if !self.is_partial() || !self.is_more(share, LOW / 2.0) {
            return None;
        }
        let group = group::densest(&self.features, &lowest, self.places.spread)?;
        let number = |&row: &usize| self.rows.seen()[row].row;
        let (class, distance) = self.places.nearest(&mean(&self.features, &group.members))?;
        // Rows that lie near a class are that class, aged, unless it is seen to be healthy besides; as long as rows may come that tell.
        let (healthy, expected) = self.healthy()[class as usize];
        if !self.rows.is_full() && (expected < FEWEST_HEALTHY || healthy < 0.5 * expected) {
            return None;
        }
        let found = NewGroup {
            rows: group.members.iter().map(number).collect(),
            share: group.members.len() as f64 / self.ranks.len() as f64,
            middle: number(&group.middle),
            spreads: distance / self.places.spread,
        };
        let text = format!(
            "a group that is new: {} of {} rows since then, {:.1} spreads from class {:?}, which is nearest",
            group.members.len(),
            self.ranks.len(),
            found.spreads,
            self.evm.class_name(class as usize)
        );
        Some(Told { kind: CauseKind::NewClass, text, class: Some(class), shift: None, group: Some(found) })
    }

    /// All changed, and by no move.
    fn changed(&self, by_vectors: bool, norms: f64, dimensions: f64) -> Option<Told> {
        let low = self.share(|rank| rank <= LOW);
        let is_low = self.is_more(low, LOW);
        // Where some rows lie low and others do not, more rows will tell. Where none does, vectors alone have changed.
        let is_open = if self.is_partial() { is_low || !by_vectors } else { !is_low && !by_vectors };
        if is_open {
            return None;
        }
        let text = format!(
            "vectors changed in kind, by no move that can be taken back: norms times {norms:.2}, effective dimensions times \
             {dimensions:.2}; has the encoder changed?"
        );
        Some(Told { kind: CauseKind::Encoder, text, class: None, shift: None, group: None })
    }
}

fn share(ranks: &[f64], wanted: impl Fn(f64) -> bool) -> f64 {
    ranks.iter().filter(|rank| wanted(**rank)).count() as f64 / ranks.len().max(1) as f64
}

fn in_words(shift: &Shift) -> String {
    let column = |column: &crate::drift::report::ShiftedColumn| {
        let name = column.name.clone().unwrap_or_else(|| format!("column {}", column.column));
        format!("{name} by {:+.3}", column.by)
    };
    let columns: Vec<String> = shift.columns.iter().take(3).map(column).collect();
    format!("{:.3} ({:.2} spreads), most of all {}", shift.size, shift.spreads, columns.join(", "))
}

fn compared(rows: &KeptRows, unit: bool) -> Features<'static> {
    let features = rows.features();
    let columns = features.columns();
    let mut values = features.values().to_vec();
    if unit {
        for row in values.chunks_exact_mut(columns) {
            let length = row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
            if length > 0.0 {
                for value in row {
                    *value = (f64::from(*value) / length) as f32;
                }
            }
        }
    }
    Features::checked(values, columns)
}

fn norm(rows: &KeptRows) -> f64 {
    let features = rows.features();
    let norms =
        features.iter().map(|row| row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt());
    norms.sum::<f64>() / rows.len().max(1) as f64
}

/// `(sum l)^2 / sum l^2` over the eigenvalues of the covariance, by products of rows with each other.
fn dimensions(rows: &Features<'_>) -> f64 {
    let count = rows.rows().min(COMPARED);
    let every = rows.rows() / count.max(1);
    let chosen: Vec<usize> = (0..count).map(|at| at * every.max(1)).collect();
    let middle = mean(rows, &chosen);
    let centred: Vec<Vec<f64>> = chosen
        .iter()
        .map(|&row| rows.row(row).iter().zip(&middle).map(|(value, mean)| f64::from(*value) - mean).collect())
        .collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let trace: f64 = centred.iter().map(|row| product(row, row)).sum();
    let squares: f64 = centred.iter().flat_map(|a| centred.iter().map(move |b| product(a, b).powi(2))).sum();
    if squares > 0.0 { trace * trace / squares } else { 0.0 }
}
