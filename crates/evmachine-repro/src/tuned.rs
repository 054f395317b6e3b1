//! Parameters that were tuned once and are kept beside the results.

use std::path::Path;

use evmachine::{Features, Labels, Params, Rejection};
use evmachine_baselines::{ExtremeValueMachine, cross_class};
use evmachine_eval::{TuneOptions, TuneProgress, Tuned, tune};

use crate::error::ReproError;
use crate::watch::Watch;

/// The parameters in the file, or where there is none those of the tuner, which are then kept there.
pub(crate) fn params(
    path: &Path,
    features: &Features<'_>,
    labels: &Labels,
    options: &TuneOptions,
    watch: &Watch<'_>,
) -> Result<Params, ReproError> {
    kept(path, || Ok(search(features, labels, options, watch)?.params))
}

/// As [`params`], but the best of the trials themselves, neither a preset nor reduced, with the delta at which F1 is best
/// under cross-class validation.
pub(crate) fn best_trial(
    path: &Path,
    features: &Features<'_>,
    labels: &Labels,
    options: &TuneOptions,
    watch: &Watch<'_>,
) -> Result<Params, ReproError> {
    kept(path, || {
        let tuned = search(features, labels, options, watch)?;
        let best = tuned.trials.iter().max_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap_or(&tuned.best);
        let fresh = || ExtremeValueMachine::new("", best.params.clone());
        let threshold = cross_class::threshold(features, labels, options.seed, fresh)?;
        let delta = best.params.tail_model.probability_at(threshold);
        Ok(Params { rejection_threshold: Rejection::Probability(delta), ..best.params.clone() })
    })
}

fn search(
    features: &Features<'_>,
    labels: &Labels,
    options: &TuneOptions,
    watch: &Watch<'_>,
) -> Result<Tuned, ReproError> {
    let progress = &mut |at: &TuneProgress<'_>| watch.flow("tuning the EVM", at.done, at.total);
    Ok(tune(features, labels, options, progress)?)
}

fn kept(path: &Path, find: impl FnOnce() -> Result<Params, ReproError>) -> Result<Params, ReproError> {
    let damaged =
        |error: serde_json::Error| ReproError::Log { path: path.to_owned(), detail: error.to_string() };
    match std::fs::read_to_string(path) {
        Ok(text) => return serde_json::from_str(&text).map_err(damaged),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(ReproError::file(path)(error)),
    }
    let params = find()?;
    let text = serde_json::to_string_pretty(&params).map_err(damaged)? + "\n";
    evmachine_files::write_with_folder(path, text.as_bytes()).map_err(ReproError::file(path))?;
    Ok(params)
}
