//! What is wrong with a file of rows, and the flags that help.

use evmachine_data::{ColumnRef, DataError, Format, RowProblem};

use super::{Failure, Kind};
use crate::data::typed;
use crate::hint::Hint;
use crate::text::escaped;

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        let kind = match &error {
            DataError::Write { .. } => Kind::Other,
            DataError::UnknownOutput { .. } => Kind::Usage,
            _ => Kind::Data,
        };
        // Values of the file are quoted in it, and may hold line ends.
        let failure = Self::new(kind, escaped(&error.to_string()));
        match flags(&error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// The flags that help with a file: columns and rows are what its reader knows, flags are known here alone.
fn flags(error: &DataError) -> Option<Hint> {
    let hint = match error {
        DataError::WrongMagic { .. } | DataError::UnknownFormat { .. } => {
            Hint::flags(&["format"], "name the format with --format, such as --format csv")
        }
        DataError::NoMatrix { .. } => {
            Hint::flags(&["features"], "pass --features NAME with the name of the array")
        }
        DataError::UnsuitableOption { format: Format::Npy, .. } => {
            Hint::flags(&["labels-file", "label"], "pass --labels-file FILE, or --label NUMBER")
        }
        DataError::NoFeatures { .. } => {
            Hint::flags(&["label", "id", "drop"], "name fewer columns in --label, --id and --drop")
        }
        DataError::TextColumn { value, .. } if has_decimal_comma(value) => {
            format!("`{value}` has a decimal comma; write numbers with a point, such as 6.25").into()
        }
        DataError::TextColumn { reference, may_be_header: true, .. } => {
            apart(reference).then(Hint::flags(&["header"], "if the first line is a header, --header yes"))
        }
        DataError::TextColumn { reference, .. } => apart(reference),
        DataError::ColumnType { column, .. } => apart(&ColumnRef::Name(column.clone())),
        DataError::MixedFeatures { list, other, .. } => {
            let [list, other] = [list, other].map(|name| typed(&ColumnRef::Name(name.clone())));
            Hint::flags(
                &["features", "drop"],
                format!("pass --features {list}, or --drop {list} to keep {other}"),
            )
        }
        DataError::BadRow { problem: RowProblem::NotANumber { column, .. }, .. } => {
            apart(&ColumnRef::Name(column.clone())).then(leave_out())
        }
        DataError::BadRow { problem: RowProblem::ZeroVector, .. } => {
            leave_out().then("a model of `evmachine train --metric euclidean` takes them")
        }
        DataError::MissingFeatures { .. } => Hint::flags(
            &["features"],
            "pass --features COLUMNS to take these in the place of the model's, in its order",
        ),
        DataError::BadRow { problem, .. } if is_missing(problem) => {
            leave_out().then("`evmachine train --fill median` has a model fill them")
        }
        DataError::BadRow { .. } => leave_out(),
        DataError::UnknownOutput { .. } => {
            Hint::flags(&["output-format"], "name the format with --output-format, such as csv")
        }
        _ => return None,
    };
    Some(hint)
}

/// For a column that holds no feature.
fn apart(column: &ColumnRef) -> Hint {
    let column = typed(column);
    Hint::flags(&["label", "id", "drop"], format!("pass --label {column}, --id {column} or --drop {column}"))
}

fn leave_out() -> Hint {
    Hint::flags(&["skip-bad-rows"], "--skip-bad-rows leaves such rows out")
}

/// Whether a value is not there, or is NaN, which stands for one.
fn is_missing(problem: &RowProblem) -> bool {
    match problem {
        RowProblem::Missing { .. } => true,
        RowProblem::NotFinite { value, .. } => value.is_nan(),
        _ => false,
    }
}

/// Digits, a comma and digits.
fn has_decimal_comma(value: &str) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let parts = value.trim().trim_start_matches(['-', '+']).split_once(',');
    parts.is_some_and(|(whole, rest)| is_number(whole) && is_number(rest))
}
