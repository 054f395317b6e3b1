//! Rows of features in a body that is a file: NPY or an Arrow stream.

use std::io::Write as _;

use evmachine::Evm;
use evmachine_data::{Format, Missing, ReadOptions, read_all};

use crate::problem::Problem;
use crate::rows::Matrix;

/// The format of a media type.
pub(crate) fn format(media_type: &str) -> Option<Format> {
    match media_type {
        "application/x-npy" | "application/npy" => Some(Format::Npy),
        "application/vnd.apache.arrow.stream" => Some(Format::Arrow),
        _ => None,
    }
}

/// Reads a body as the program reads a file: the features of the model by name where both have names, missing values filled where
/// the model says how.
pub(crate) fn read(model: &Evm, format: Format, body: &[u8], limit: usize) -> Result<Matrix, Problem> {
    // Readers take files. This one has a name of ours, and goes with the handle.
    let failed = |error: std::io::Error| {
        tracing::error!(%error, "no temporary file could be written");
        Problem::internal("the body could not be set down; the log of the server says more")
    };
    let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
    file.write_all(body).map_err(failed)?;
    let options = ReadOptions {
        expected: model.feature_names().to_vec(),
        format: Some(format),
        missing: match model.fill_values() {
            Some(numbers) => Missing::Fill(numbers.to_vec()),
            None => Missing::Refuse,
        },
        memory: Some((limit as u64).saturating_mul(4 * model.dimensions() as u64)),
        ..ReadOptions::default()
    };
    let name = file.path().display().to_string();
    let data = read_all(file.path(), &options).map_err(|error| {
        let detail = error.to_string();
        Problem::unsuitable(detail.replace(&name, "the body"))
    })?;
    let (rows, columns, values) = (data.data.rows, data.data.columns, data.data.features);
    Matrix { values, rows, columns }.checked(model, limit)
}
