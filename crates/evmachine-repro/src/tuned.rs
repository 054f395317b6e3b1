//! Parameters that were tuned once and are kept beside the results.

use std::path::Path;

use evmachine::{Features, Labels, Params};
use evmachine_eval::{TuneOptions, TuneProgress, tune};

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
    let damaged =
        |error: serde_json::Error| ReproError::Log { path: path.to_owned(), detail: error.to_string() };
    match std::fs::read_to_string(path) {
        Ok(text) => return serde_json::from_str(&text).map_err(damaged),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(ReproError::file(path)(error)),
    }
    let progress = &mut |at: &TuneProgress<'_>| watch.flow("tuning the EVM", at.done, at.total);
    let params = tune(features, labels, options, progress)?.params;
    let text = serde_json::to_string_pretty(&params).map_err(damaged)? + "\n";
    evmachine_files::write_with_folder(path, text.as_bytes()).map_err(ReproError::file(path))?;
    Ok(params)
}
