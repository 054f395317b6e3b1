//! How well the probabilities of a model hold on rows whose truth is known.

use evmachine::{CalibrateError, Evm, Features, Labels, Prior, Run};
use evmachine_console::failure::{Failure, Kind};
use evmachine_eval::Reliability;
#[cfg(feature = "plot")]
use evmachine_plot::{Picture, Reliability as Diagram, reliability as draw};

#[cfg(feature = "plot")]
use crate::failure::OrFail;

const BINS: usize = 10;

/// What the model said of each row, beside the truth.
pub(crate) struct Seen {
    /// The class, unless unknown.
    truth: Vec<Option<usize>>,
    best: Vec<usize>,
    /// P(best class | known).
    class: Vec<f64>,
    /// P(known).
    known: Vec<f64>,
    /// The best class but the true one, of rows of known classes.
    other: Vec<Option<(usize, f64)>>,
}

impl Seen {
    /// Asks a calibrated model about labelled rows and unknown ones.
    pub(crate) fn new(
        run: &Run<'_>,
        evm: &Evm,
        features: &Features<'_>,
        labels: &Labels,
        unknown: &Features<'_>,
    ) -> Result<Self, Failure> {
        const CALIBRATED: &str = "the model is calibrated";
        if evm.calibration().is_none() {
            return Err(CalibrateError::NotCalibrated.into());
        }
        let mut seen = Self {
            truth: Vec::new(),
            best: Vec::new(),
            class: Vec::new(),
            known: Vec::new(),
            other: Vec::new(),
        };
        let classes: Vec<Option<usize>> = labels.names().iter().map(|name| evm.class_index(name)).collect();
        let truths = labels.ids().iter().map(|&id| classes[id as usize]);
        let rows: Vec<usize> =
            truths.clone().enumerate().filter(|(_, t)| t.is_some()).map(|(row, _)| row).collect();
        let known_truth: Vec<Option<usize>> = truths.flatten().map(Some).collect();
        for (part, truth) in [
            (features.select(&rows), known_truth),
            (unknown.select(&(0..unknown.rows()).collect::<Vec<_>>()), vec![None; unknown.rows()]),
        ] {
            let answers = evm.map_queries_with(run, &part, |row, scores| {
                let decision = evm.decision(scores);
                let classes = evm.class_probabilities(scores).expect(CALIBRATED);
                let known = evm.probability_known(decision.score(), Prior::EVEN).expect(CALIBRATED);
                let other = truth[row].and_then(|own| {
                    let others = classes.iter().copied().enumerate().filter(|(class, _)| *class != own);
                    others.max_by(|a, b| a.1.total_cmp(&b.1))
                });
                (decision.best(), classes[decision.best()], known, other)
            })?;
            for (truth, (best, class, known, other)) in truth.iter().zip(answers) {
                seen.truth.push(*truth);
                seen.best.push(best);
                seen.class.push(class);
                seen.known.push(known);
                seen.other.push(other);
            }
        }
        Ok(seen)
    }

    /// P(class | known), on known rows.
    pub(crate) fn of_class(&self) -> Result<Reliability, Failure> {
        let rows: Vec<usize> = (0..self.truth.len()).filter(|&row| self.truth[row].is_some()).collect();
        let confidence: Vec<f64> = rows.iter().map(|&row| self.class[row]).collect();
        let right: Vec<bool> = rows.iter().map(|&row| self.truth[row] == Some(self.best[row])).collect();
        Reliability::new(&confidence, &right, BINS)
            .map_err(|error| Failure::new(Kind::Other, error.to_string()))
    }

    /// P(known), known and unknown rows weighing alike; `None` without unknown rows.
    pub(crate) fn of_known(&self) -> Result<Option<Reliability>, Failure> {
        let known = self.truth.iter().flatten().count();
        let unknown = self.truth.len() - known;
        if unknown == 0 || known == 0 {
            return Ok(None);
        }
        let right: Vec<bool> = self.truth.iter().map(Option::is_some).collect();
        let weights: Vec<f64> =
            right.iter().map(|&is| 1.0 / if is { known as f64 } else { unknown as f64 }).collect();
        Reliability::weighted(&self.known, &right, &weights, BINS)
            .map(Some)
            .map_err(|error| Failure::new(Kind::Other, error.to_string()))
    }

    /// The two classes of which rows of one are most likely of the other.
    pub(crate) fn closest_pair(&self, evm: &Evm) -> Option<String> {
        let classes = evm.classes().len();
        let mut sums = vec![0.0; classes * classes];
        let mut counts = vec![0usize; classes];
        for (truth, other) in self.truth.iter().zip(&self.other) {
            if let (Some(truth), Some((other, p))) = (truth, other) {
                sums[truth * classes + other] += p;
                counts[*truth] += 1;
            }
        }
        let mean = |at: usize| sums[at] / counts[at / classes].max(1) as f64;
        let at = (0..sums.len()).max_by(|&a, &b| mean(a).total_cmp(&mean(b)))?;
        let (own, other) = (evm.class_name(at / classes), evm.class_name(at % classes));
        (mean(at) > 0.0).then(|| format!("{own:?} is taken for {other:?} with probability {:.3}", mean(at)))
    }
}

/// ECE and mean figures.
pub(crate) fn reliability(seen: &Seen) -> Result<Vec<Vec<String>>, Failure> {
    let known = seen.truth.iter().flatten().count();
    let of_class = if known == 0 { "-".to_owned() } else { format!("{:.4}", seen.of_class()?.ece()) };
    let mut lines = vec![vec!["ECE of P(class | known), on known rows".to_owned(), of_class]];
    if let Some(known) = seen.of_known()? {
        lines.push(vec![
            "ECE of P(known), known and unknown alike often".to_owned(),
            format!("{:.4}", known.ece()),
        ]);
    }
    Ok(lines)
}

/// P(known) where unknown rows are there, else P(class | known).
#[cfg(feature = "plot")]
pub(crate) fn diagram(seen: &Seen) -> Result<Picture, Failure> {
    let (title, found) = match seen.of_known()? {
        Some(found) => ("P(known) against the share that is known", found),
        None => ("P(class | known) against the share that is right", seen.of_class()?),
    };
    let column = |value: &dyn Fn(&evmachine_eval::reliability::Bin) -> f64| -> Vec<f64> {
        found.bins().iter().map(value).collect()
    };
    // An empty bin has neither, and no weight by which it would be drawn.
    draw(&Diagram {
        title,
        confidence: &column(&|bin| bin.confidence.unwrap_or(0.0)),
        accuracy: &column(&|bin| bin.accuracy.unwrap_or(0.0)),
        weights: &column(&|bin| bin.weight),
    })
    .or_fail()
}
