//! "Not her": vectors that are not of a class, and what was denied withdrawn.

use std::collections::HashSet;
use std::sync::Arc;

use super::moves::{Place, positions_at};
use super::{EditReport, Editor};
use crate::error::EditError;
use crate::model::Evm;
use evmachine_engine::features::Features;

/// # Correct
impl Evm {
    /// Says of vectors that they are not of a class, whatever else they are. On an error the model is as it was.
    ///
    /// They are negatives of that class alone, and a query that is no farther from one of them than from every extreme vector is never
    /// answered with the class, under any witness, but as the other classes say. Their rows are numbered as all rows are;
    /// [`Edit::Unlearn`](crate::Edit::Unlearn) of the last ones gives back the model before, byte for byte.
    /// The threshold stays where it is until the model next learns or is calibrated.
    ///
    /// ```
    /// # use evmachine::{Edit, Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let (mut evm, _) = Evm::fit(&Params::paper(), &features, &labels)?;
    /// let before = evm.to_bytes()?;
    /// let query = Features::new(vec![0.3], 1)?;
    /// assert_eq!(evm.decide(&query)?[0].class(), Some(0));
    /// evm.deny(&query, "low")?;
    /// assert_ne!(evm.decide(&query)?[0].class(), Some(0));
    /// let rows = evm.denials().map(|denial| denial.source).collect();
    /// evm.edit(&Edit::Unlearn { rows })?;
    /// assert_eq!(evm.to_bytes()?, before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deny(&mut self, features: &Features<'_>, class: &str) -> Result<EditReport, EditError> {
        if features.rows() == 0 {
            return Err(EditError::NoRows);
        }
        let Some(number) = self.class_index(class) else {
            return Err(EditError::UnknownClass { name: class.to_owned(), known: self.class_names() });
        };
        let points = self.machine.query_points(features)?;
        let mut model = self.clone();
        let machine = &mut model.machine;
        Arc::make_mut(&mut machine.classes[number].denied).extend(&points, machine.points_seen);
        machine.points_seen += features.rows() as u64;
        machine.cache.keep_columns();
        let report = EditReport {
            rows: features.rows(),
            refitted: changed(self, &model),
            extreme_vectors: model.extreme_vector_count(),
            ..EditReport::default()
        };
        *self = model;
        Ok(report)
    }
}

/// Extreme vectors whose Psi-model is another one now; both models have the same.
fn changed(before: &Evm, after: &Evm) -> usize {
    before.extreme_vectors().zip(after.extreme_vectors()).filter(|(old, new)| old.psi != new.psi).count()
}

impl Editor<'_> {
    /// Takes out what of the rows was denied of a class, and returns the others.
    pub(super) fn withdraw(&mut self, before: &Evm, rows: &[u64]) -> Result<Vec<u64>, EditError> {
        let found = self.find(rows)?;
        let mut gone: HashSet<u64> = HashSet::new();
        for class in 0..self.model.machine.classes.len() {
            let taken = self.take(Place::Denied(class), &positions_at(&found, Place::Denied(class)));
            gone.extend(taken.iter().map(|row| row.source));
        }
        if gone.is_empty() {
            return Ok(rows.to_vec());
        }
        // What nothing came after is as if it had never been given.
        let machine = &mut self.model.machine;
        while machine.points_seen > 0 && gone.contains(&(machine.points_seen - 1)) {
            machine.points_seen -= 1;
        }
        let seen = machine.points_seen;
        if seen < before.machine.points_seen {
            let origins = Arc::make_mut(&mut self.model.ledger.origins);
            origins.batches.retain(|batch| batch.first < seen);
            if let Some(last) = origins.batches.last_mut() {
                last.rows = last.rows.min(seen - last.first);
            }
            origins.rows.retain(|source, _| *source < seen);
        }
        self.report.refitted += changed(before, &self.model);
        Ok(rows.iter().copied().filter(|row| !gone.contains(row)).collect())
    }
}
