//! What is told of columns before anything is learned from them.

use evmachine::{ColumnKind, Features, doubtful_columns};
use evmachine_console::console::Console;
use evmachine_console::text::counted;
use evmachine_data::Schema;

/// Columns of one kind that are named; the others are counted.
const NAMED: usize = 3;

/// Warns of columns that look like identifiers or row numbers, and mentions constant ones.
pub(crate) fn tell_doubtful(console: &Console, features: &Features<'_>, schema: &Schema) {
    let doubts = doubtful_columns(features);
    for kind in [ColumnKind::Identifier, ColumnKind::Counter, ColumnKind::Constant] {
        let found: Vec<usize> =
            doubts.iter().filter(|doubt| doubt.kind == kind).map(|doubt| doubt.column).collect();
        if found.is_empty() {
            continue;
        }
        let name = |&column: &usize| {
            schema.feature_names.get(column).map_or_else(|| column.to_string(), Clone::clone)
        };
        let mut names = found.iter().take(NAMED).map(name).collect::<Vec<_>>().join(", ");
        if found.len() > NAMED {
            names = format!("{names} and {} more", found.len() - NAMED);
        }
        let told = match found.len() {
            1 => format!("column {names} {kind}"),
            count => format!("{} ({names}): each {kind}", counted(count as u64, "column")),
        };
        if kind == ColumnKind::Constant {
            console.say(format!("{told}; nothing can be learned from that"));
        } else {
            console.warn(format!("{told}; leave it out with --drop unless it is a measurement"));
        }
    }
}
