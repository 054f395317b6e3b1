//! How rows were captured: columns next to their features.

use clap::Args;
use evmachine::Capture;
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::origin::Origin;
use evmachine_data::ColumnRef;

/// Columns that say how rows were captured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Capture")]
pub(super) struct CaptureArguments {
    /// A column with the quality of each row, a number: more is better. `evmachine pool enrolment --least-quality` asks for it.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    quality: Option<ColumnRef>,

    /// A column with the occasion of each row, such as a session or a day. `evmachine pool enrolment --least-occasions` counts them.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    occasion: Option<ColumnRef>,

    /// A column with the time of each row in seconds, from any start; the time at which it comes unless given.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    time: Option<ColumnRef>,
}

impl CaptureArguments {
    /// The columns to read, in the order in which [`captures`](Self::captures) takes them.
    pub(super) fn columns(&self) -> Vec<ColumnRef> {
        [&self.quality, &self.occasion, &self.time].into_iter().flatten().cloned().collect()
    }

    /// What these columns say of each row; an empty field says nothing.
    pub(super) fn captures(
        &self,
        kept: Vec<Vec<String>>,
        rows: usize,
        origin: &Origin,
    ) -> Result<Vec<Capture>, Failure> {
        let mut captures = vec![Capture::default(); rows];
        let mut columns = kept.into_iter();
        let mut next = |column: &Option<ColumnRef>| column.as_ref().and_then(|_| columns.next());
        let (qualities, occasions, times) = (next(&self.quality), next(&self.occasion), next(&self.time));
        let number = |name: &str, row: usize, text: &str| match text.trim() {
            "" => Ok(None),
            text => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Some(number)),
                _ => {
                    let message = format!("{}: the {name} {text:?} is not a number", origin.place(row));
                    Err(Failure::new(Kind::Data, message))
                }
            },
        };
        for (row, capture) in captures.iter_mut().enumerate() {
            if let Some(qualities) = &qualities {
                capture.quality = number("quality", row, &qualities[row])?;
            }
            if let Some(times) = &times {
                capture.time = number("time", row, &times[row])?;
            }
            if let Some(occasions) = &occasions {
                capture.occasion = Some(occasions[row].clone()).filter(|occasion| !occasion.is_empty());
            }
        }
        Ok(captures)
    }
}
