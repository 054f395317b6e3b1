//! The systems of the protocol, and the form of the features that each gets.

use std::sync::Arc;

use evmachine::device::Device;
use evmachine::{Features, Metric, Params, TailModel};
use evmachine_baselines::{ExtremeValueMachine, KernelDensity, NearestNonOutlier, NearestThreshold, System};
use serde::Serialize;

use super::{Data, Settings};
use crate::error::ReproError;

/// The EVM over the tuner's whole space.
pub(super) const TUNED: &str = "EVM, tuned";
/// Nearest class means, with and without metric learning, and on rows of unit length.
pub(super) const NNO: [&str; 3] = ["NNO", "NNO, no metric learning", "NNO, unit length"];
pub(super) const KDE: &str = "incremental KDE";
pub(super) const NEAREST: &str = "1-NN, thresholded";
/// The paper's EVM by the metric that it found poor.
pub(super) const EUCLIDEAN: &str = "EVM, Euclidean, libmr";

/// The paper's EVM with a tail model.
pub(super) fn paper_name(model: TailModel) -> &'static str {
    match model {
        TailModel::Libmr => "EVM, the paper's, libmr",
        TailModel::Weibull => "EVM, the paper's, Eq. 1",
        TailModel::Gumbel => "EVM, the paper's, gumbel",
    }
}

/// Kernels that KDE keeps of a class.
const KERNELS: usize = 40;

/// Which systems take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// All of them.
    All,
    /// The EVM as its authors fit it, and NNO with and without metric learning: what the paper's figure shows.
    Paper,
}

impl Selection {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    pub(super) fn is_all(&self) -> bool {
        *self == Self::All
    }
}

/// What is done to features first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing.
    Raw,
    /// Every row has length 1, so that Euclidean distances rank as cosine ones do.
    UnitLength,
    /// All are divided by the mean length of the training rows, for libmr, whose fit depends on the unit.
    UnitScale,
}

/// A system that takes part.
pub(super) struct Entrant {
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) system: Box<dyn System>,
}

/// The EVMs of the paper, to be searched for: name, form, metric and tail model.
pub(super) fn papers(metric: &Metric, systems: Selection) -> Vec<(&'static str, Form, Params)> {
    let form = |metric: &Metric| if *metric == Metric::Cosine { Form::Raw } else { Form::UnitScale };
    let evm = |name, metric: &Metric, tail_model| {
        (name, form(metric), Params { metric: metric.clone(), tail_model, ..Params::paper() })
    };
    let models: &[TailModel] = match systems {
        Selection::All => &[TailModel::Libmr, TailModel::Weibull, TailModel::Gumbel],
        Selection::Paper => &[TailModel::Libmr],
    };
    let mut papers: Vec<_> = models.iter().map(|&model| evm(paper_name(model), metric, model)).collect();
    if *metric == Metric::Cosine && systems == Selection::All {
        papers.push(evm(EUCLIDEAN, &Metric::Euclidean, TailModel::Libmr));
    }
    papers
}

/// The systems that take part, the paper's EVMs and the tuned one with parameters that were found.
pub(super) fn entrants(
    papers: Vec<(&'static str, Form, Params)>,
    tuned: Option<Params>,
    metric: &Metric,
    settings: &Settings,
    device: Option<&Arc<dyn Device>>,
) -> Vec<Entrant> {
    let entrant = |name, form, system: Box<dyn System>| Entrant { name, form, system };
    let seed = settings.seed;
    let nno = || NearestNonOutlier::new(settings.rank).with_seed(seed);
    let by_angle = if *metric == Metric::Cosine { Form::UnitLength } else { Form::Raw };
    let evm = |name, params| Box::new(ExtremeValueMachine::new(name, params).on(device.cloned()));
    let mut entrants: Vec<Entrant> =
        papers.into_iter().map(|(name, form, params)| entrant(name, form, evm(name, params))).collect();
    entrants.extend(tuned.map(|params| entrant(TUNED, Form::Raw, evm(TUNED, params))));
    entrants.push(entrant(NNO[0], Form::Raw, Box::new(nno())));
    entrants.push(entrant(NNO[1], Form::Raw, Box::new(NearestNonOutlier::euclidean().with_seed(seed))));
    if settings.systems == Selection::Paper {
        return entrants;
    }
    entrants.extend([
        entrant(NNO[2], Form::UnitLength, Box::new(nno())),
        entrant(KDE, by_angle, Box::new(KernelDensity::new(KERNELS).with_seed(seed))),
        entrant(NEAREST, Form::Raw, Box::new(NearestThreshold::new(metric.clone(), 1).with_seed(seed))),
    ]);
    entrants
}

/// The data in another form.
pub(super) fn formed(data: &Data<'_>, form: Form) -> Result<Data<'static>, ReproError> {
    let length = |row: &[f32]| row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    let rows = |features: &Features<'_>| {
        (0..features.rows()).map(|row| length(features.row(row))).collect::<Vec<f64>>()
    };
    let lengths = rows(&data.train.0);
    let mean = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
    let divided = |features: &Features<'_>| -> Result<Features<'static>, ReproError> {
        let divisor = |own: f64| match form {
            Form::Raw => 1.0,
            Form::UnitLength => own,
            Form::UnitScale => mean,
        };
        let mut values = Vec::with_capacity(features.values().len());
        for (row, own) in rows(features).into_iter().enumerate() {
            // A row of zeros has no direction and stays.
            let factor = if divisor(own) > 0.0 { (1.0 / divisor(own)) as f32 } else { 1.0 };
            values.extend(features.row(row).iter().map(|value| value * factor));
        }
        Ok(Features::new(values, features.columns())?)
    };
    Ok(Data {
        train: (divided(&data.train.0)?, data.train.1.clone()),
        test: (divided(&data.test.0)?, data.test.1.clone()),
    })
}

#[cfg(test)]
mod tests {
    use evmachine::Labels;

    use super::*;

    #[test]
    fn forms_change_lengths_as_they_say() {
        let set = |values: &[f32]| {
            let labels = Labels::new(["a"].repeat(values.len() / 2)).unwrap();
            (Features::new(values.to_vec(), 2).unwrap(), labels)
        };
        let data = Data { train: set(&[3.0, 4.0, 0.0, 1.0]), test: set(&[0.0, 6.0, 0.0, 0.0]) };
        let of = |form| {
            let formed = formed(&data, form).unwrap();
            (formed.train.0.values().to_vec(), formed.test.0.values().to_vec())
        };
        assert_eq!(of(Form::Raw), (vec![3.0, 4.0, 0.0, 1.0], vec![0.0, 6.0, 0.0, 0.0]));
        assert_eq!(of(Form::UnitScale), (vec![1.0, 4.0 / 3.0, 0.0, 1.0 / 3.0], vec![0.0, 2.0, 0.0, 0.0]));
        let (train, test) = of(Form::UnitLength);
        assert!((train[0] - 0.6).abs() < 1e-6 && (train[1] - 0.8).abs() < 1e-6);
        assert_eq!(test, [0.0, 1.0, 0.0, 0.0], "a row of zeros stays");
    }
}
