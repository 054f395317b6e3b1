//! Training rows as trees read them: column after column, the rows in order of their classes.

use evmachine_engine::Features;
use rayon::prelude::*;

use crate::error::{ForestError, same_size};

/// Checked training rows. Takes 4 bytes a value.
pub(crate) struct Table {
    values: Vec<f32>,
    rows: usize,
    columns: usize,
    /// How many rows each class has; those of class 0 come first.
    pub(crate) sizes: Vec<u32>,
}

/// Refuses rows and labels that nothing can be learned from.
pub(crate) fn check(features: &Features<'_>, labels: &[u32], classes: usize) -> Result<(), ForestError> {
    if features.rows() == 0 {
        return Err(ForestError::NoRows);
    }
    same_size("labels of the training rows", features.rows(), labels.len())?;
    if u32::try_from(features.rows()).is_err() {
        return Err(ForestError::TooLarge { what: "training rows" });
    }
    match labels.iter().position(|&class| class as usize >= classes) {
        Some(row) => Err(ForestError::Class { row, class: labels[row], last: classes.saturating_sub(1) }),
        None => Ok(()),
    }
}

/// Columns that are filled at once: what a row has of them is one stretch of memory.
const BLOCK: usize = 16;

/// Rows in the order of the table: by class, and by place within one.
fn order(labels: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..).take(labels.len()).collect();
    order.sort_by_key(|&row| labels[row as usize]);
    order
}

/// The place of each row in the table.
pub(crate) fn places(labels: &[u32]) -> Vec<u32> {
    let mut places = vec![0; labels.len()];
    for (place, &row) in (0..).zip(&order(labels)) {
        places[row as usize] = place;
    }
    places
}

/// Fills columns from `first` on, one after the other, with rows in the given order.
fn fill(features: &Features<'_>, order: &[u32], first: usize, values: &mut [f32]) {
    let columns = values.len() / order.len();
    for (place, &row) in order.iter().enumerate() {
        for (column, &value) in features.row(row as usize)[first..first + columns].iter().enumerate() {
            values[column * order.len() + place] = value;
        }
    }
}

impl Table {
    pub(crate) fn new(features: &Features<'_>, labels: &[u32], classes: usize) -> Result<Self, ForestError> {
        check(features, labels, classes)?;
        let (rows, columns) = (features.rows(), features.columns());
        let mut sizes = vec![0; classes];
        for &class in labels {
            sizes[class as usize] += 1;
        }
        let order = order(labels);
        let mut values = vec![0.0; rows * columns];
        values.par_chunks_exact_mut(BLOCK * rows).enumerate().for_each(|(block, columns)| {
            fill(features, &order, block * BLOCK, columns);
        });
        let rest = columns / BLOCK * BLOCK;
        fill(features, &order, rest, &mut values[rest * rows..]);
        Ok(Self { values, rows, columns, sizes })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn column(&self, column: usize) -> &[f32] {
        &self.values[column * self.rows..(column + 1) * self.rows]
    }
}
