//! Another encoder for the same rows: the model again, in the space of the new vectors.
//!
//! Rows are found by their ids. Classes, corrected labels, ignored samples, denials, rows set aside, ids, numbers and batches are
//! those of the model; margins, witnesses and threshold are learned from the new vectors, by the parameters of the model. Rows that its
//! cover dropped are not known to it any more, and are not there to be learned.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use crate::error::{FitError, RunError};
use crate::heldout::sample::Role;
use crate::input::labels::Labels;
use crate::model::Evm;
use crate::model::aside::Aside;
use crate::model::encoder::Encoder;
use crate::model::origin::{RowNames, RowOrigin};
use evmachine_engine::features::Features;
use evmachine_engine::run::Run;

/// Rows in a new space.
#[derive(Debug, Clone, Copy)]
pub struct NewVectors<'a> {
    /// One id for each row; of several rows with one id the first counts.
    pub ids: &'a [String],
    /// The vectors.
    pub features: &'a Features<'a>,
    /// What made them, where it is named.
    pub encoder: Option<&'a Encoder>,
}

/// What a migration did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct MigrationReport {
    /// Rows of the model that have a new vector.
    pub rows: usize,
    /// Ids of rows of the model that have none.
    pub missing: Vec<String>,
    /// Rows of the model that have no id, and cannot be found.
    pub without_id: usize,
    /// Classes that ended because none of their rows was found.
    pub ended_classes: Vec<String>,
    /// Rows learned from that the cover had dropped before.
    pub dropped: u64,
    /// Whether no vector is another one, so that nothing had to be learned again.
    pub unchanged: bool,
}

/// What a row is to the model; in the order in which the new one has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Of a class, learned or held out.
    Known,
    Ignored,
    Denied,
    Aside,
}

/// A row of the model with its place among the new vectors.
struct Found {
    part: Part,
    source: u64,
    /// Its class, or the one that it is not of.
    class: Option<String>,
    row: usize,
}

/// # Learn
impl Evm {
    /// The model over other vectors of the same rows, found by their ids ([`Evm::name_rows`]). This one stays as it is.
    ///
    /// If no vector differs, the Psi-models are those that are there, byte for byte. Otherwise all is learned again from the rows that
    /// the model holds and that have a new vector.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, NewVectors, Params, RowNames};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let all = Params { cover_threshold: 1.0, ..Params::paper() };
    /// let (mut evm, _) = Evm::fit(&all, &features, &labels)?;
    /// let ids: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(String::from).to_vec();
    /// evm.name_rows(0, 6, RowNames { ids: Some(ids.clone()), ..RowNames::default() })?;
    /// let wider = Features::new(features.values().iter().flat_map(|&x| [2.0 * x, -x]).collect::<Vec<f32>>(), 2)?;
    /// let new = NewVectors { ids: &ids, features: &wider, encoder: None };
    /// let (migrated, report) = evm.migrated(&new)?;
    /// assert_eq!((migrated.dimensions(), report.rows, report.missing.len()), (2, 6, 0));
    /// assert_eq!(migrated.sources_with_id("e"), evm.sources_with_id("e"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn migrated(&self, new: &NewVectors<'_>) -> Result<(Self, MigrationReport), FitError> {
        self.migrated_with(&Run::new(), new)
    }

    /// As [`migrated`](Self::migrated), watched and sized by `run`.
    pub fn migrated_with(
        &self,
        run: &Run<'_>,
        new: &NewVectors<'_>,
    ) -> Result<(Self, MigrationReport), FitError> {
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(new.ids.len());
        for (row, id) in new.ids.iter().enumerate().take(new.features.rows()) {
            places.entry(id.as_str()).or_insert(row);
        }
        let mut report = MigrationReport::default();
        let mut found: Vec<Found> = Vec::new();
        for (part, source, class) in self.parts() {
            match self.origin(source).id.map(|id| (id, places.get(id))) {
                Some((_, Some(&row))) => found.push(Found { part, source, class, row }),
                Some((id, None)) => report.missing.push(id.to_owned()),
                None => report.without_id += 1,
            }
        }
        report.rows = found.len();
        report.dropped = self.machine.points_held().saturating_sub(self.extreme_vector_count() as u64);
        let whole = report.missing.is_empty() && report.without_id == 0;
        if whole && self.stands_at(&found, new)? {
            let mut model = self.clone();
            if let (Some(encoder), Some(known)) = (new.encoder, &mut model.ledger.encoder) {
                known.encoder = encoder.clone();
            }
            report.unchanged = true;
            return Ok((model, report));
        }
        let mut model = self.learned_anew(run, &found, new)?;
        let is_here = |class: &String| model.class_index(class).is_some();
        report.ended_classes = self.class_names().into_iter().filter(|class| !is_here(class)).collect();
        // Whoever is not of a class that ended needs no word.
        found.retain(|found| found.part != Part::Denied || found.class.as_ref().is_some_and(is_here));
        model.take_corrections(&found, new)?;
        self.name_again(&mut model, &found);
        Ok((model, report))
    }

    /// All rows that the model holds, part by part, in the order in which they came.
    fn parts(&self) -> Vec<(Part, u64, Option<String>)> {
        let name = |class: usize| Some(self.class_name(class).to_owned());
        let extreme = self.extreme_vectors().map(|vector| (Part::Known, vector.source, name(vector.class)));
        let held_out = self.rows_held_out().map(|row| (Part::Known, row.source, Some(row.class.to_owned())));
        let ignored = self.ignored_sources().iter().map(|&source| (Part::Ignored, source, None));
        let denied = self.denials().map(|denial| (Part::Denied, denial.source, name(denial.class)));
        let aside = self.rows_aside().map(|row| (Part::Aside, row.source, Some(row.class.to_owned())));
        let all = extreme.chain(held_out).chain(ignored).chain(denied).chain(aside);
        let mut parts: Vec<(Part, u64, Option<String>)> = all.collect();
        parts.sort_unstable_by_key(|(part, source, _)| (*part, *source));
        parts
    }

    /// Whether all rows stand in the model where their new vectors would. Where smoothing moved them, that cannot be told.
    fn stands_at(&self, found: &[Found], new: &NewVectors<'_>) -> Result<bool, FitError> {
        let d = self.machine.dimensions;
        if new.features.columns() != d || self.machine.params.smoothing > 0.0 {
            return Ok(false);
        }
        let features = new.features.select(&found.iter().map(|found| found.row).collect::<Vec<_>>());
        let of_new = |row: usize| found[row].row;
        let points = self.machine.query_points(&features).map_err(|error| error.map_row(of_new))?;
        let vectors = points.gather(&(0..found.len()).collect::<Vec<_>>());
        let places: HashMap<u64, usize> =
            found.iter().enumerate().map(|(at, found)| (found.source, at)).collect();
        let stands = |source: u64, vector: &[f32]| {
            places.get(&source).is_some_and(|&at| vectors[at * d..(at + 1) * d] == *vector)
        };
        let came = |source: u64, row: &[f32]| places.get(&source).is_some_and(|&at| features.row(at) == row);
        let mut ignored = self.ignored_sources().iter().zip(self.ignored_vectors());
        let mut aside = self.ledger.aside.iter();
        let mut held_out = self.held.sample.iter().flat_map(|sample| {
            sample.positions(Role::is_held_out).into_iter().map(|at| (sample.sources[at], sample.row(at)))
        });
        Ok(self.extreme_vectors().all(|vector| stands(vector.source, vector.vector))
            && ignored.all(|(&source, vector)| stands(source, vector))
            && self.denials().all(|denial| stands(denial.source, denial.vector))
            && aside.all(|row| stands(row.source, &row.vector))
            && held_out.all(|(source, row)| came(source, row)))
    }

    /// Learns the rows of classes and ignored samples, by the parameters of this model.
    fn learned_anew(&self, run: &Run<'_>, found: &[Found], new: &NewVectors<'_>) -> Result<Self, FitError> {
        let rows = |part: Part| -> Vec<usize> {
            found.iter().filter(|found| found.part == part).map(|found| found.row).collect()
        };
        let names = found.iter().filter(|found| found.part == Part::Known);
        let labels = Labels::new(names.filter_map(|found| found.class.as_deref()))?;
        let (known, strangers) = (rows(Part::Known), rows(Part::Ignored));
        let (features, ignored) = (new.features.select(&known), new.features.select(&strangers));
        let params = self.machine.params.clone();
        let fitted = Self::fit_ignoring_with(run, params, &features, &labels, &ignored);
        // Rows are those of the new vectors.
        let (mut model, _) = fitted.map_err(|error| match error {
            FitError::Run(RunError::Features(error)) => error.map_row(|row| known[row]).into(),
            FitError::Ignored { error } => FitError::Ignored { error: error.map_row(|row| strangers[row]) },
            other => other,
        })?;
        model.ledger.label_type.clone_from(&self.ledger.label_type);
        if let Some(encoder) = new.encoder {
            model.set_encoder(encoder.clone(), &features, &labels);
        }
        Ok(model)
    }

    /// Takes denials and rows set aside up, in the space that it has.
    fn take_corrections(&mut self, found: &[Found], new: &NewVectors<'_>) -> Result<(), FitError> {
        for Found { part, class, row, .. } in found {
            let (Part::Denied | Part::Aside, Some(class)) = (part, class) else { continue };
            let features = new.features.select(&[*row]);
            let points = self.machine.query_points(&features).map_err(|error| error.map_row(|_| *row))?;
            let source = self.machine.points_seen;
            self.machine.points_seen += 1;
            if let (Part::Denied, Some(number)) = (part, self.class_index(class)) {
                Arc::make_mut(&mut self.machine.classes[number].denied).extend(&points, source);
            } else {
                let vector = points.gather(&[0]);
                let aside = Aside { class: class.clone(), source, vector };
                Arc::make_mut(&mut self.ledger.aside).push(aside);
            }
        }
        self.machine.cache.keep_columns();
        Ok(())
    }

    /// Has the rows of the new model, which are in the order of `found`, called as they are here.
    fn name_again(&self, model: &mut Self, found: &[Found]) {
        let origins: Vec<RowOrigin<'_>> = found.iter().map(|found| self.origin(found.source)).collect();
        let mut first = 0;
        for batch in origins.chunk_by(|one, next| one.batch == next.batch) {
            let names = RowNames {
                batch: batch[0].batch_name.map(str::to_owned),
                time: batch[0].time,
                numbers: Some(batch.iter().map(|origin| origin.number).collect()),
                ids: Some(batch.iter().map(|origin| origin.id.unwrap_or_default().to_owned()).collect()),
            };
            // As many names as rows, of rows that it was given.
            let named = model.name_rows(first, batch.len() as u64, names);
            debug_assert!(named.is_ok());
            first += batch.len() as u64;
        }
    }
}
