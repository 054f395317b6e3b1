//! What files of version 4 add: ignored samples, rows set aside, where rows came from, and what fills missing values.

use std::collections::HashSet;
use std::sync::Arc;

use safetensors::tensor::Dtype;
use serde::{Deserialize, Serialize};

use super::layout::{Column, f32s, u8s, u64s};
use super::tensors::Tensors;
use super::vectors::is_unit;
use super::{FormatError, inconsistent};
use crate::machine::samples::Samples;
use crate::model::Evm;
use crate::model::aside::Aside;
use crate::model::origin::{Batch, Called, Origins};
use evmachine_engine::features::LARGEST;
use evmachine_engine::metric::Metric;
use evmachine_engine::psi::FitStatus;

/// The parts of it that are not tensors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    batches: Vec<Batch>,
    /// Of each row set aside, the class it comes back to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aside_classes: Vec<String>,
}

impl Kept {
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

const TENSORS: [&str; 9] = [
    "ignored",
    "ignored_source",
    "aside",
    "aside_source",
    "row_source",
    "row_number",
    "row_id_lengths",
    "row_ids",
    "fill",
];

/// Whether a file has a tensor of version 4.
pub(super) fn is_in(tensors: &Tensors<'_>) -> bool {
    TENSORS.iter().any(|name| tensors.has(name))
}

impl Evm {
    /// Whether a file of version 3 cannot hold the model.
    pub(super) fn has_kept(&self) -> bool {
        let guessed = self.machine.classes.iter().flat_map(|class| &class.psi);
        self.machine.classes.len() < 2
            || !self.machine.ignored.is_empty()
            || !self.ledger.aside.is_empty()
            || !self.ledger.origins.is_empty()
            || self.ledger.fill.is_some()
            || guessed.clone().any(|psi| psi.status == FitStatus::WithinClass)
    }

    pub(super) fn kept(&self) -> Kept {
        Kept {
            batches: self.ledger.origins.batches.clone(),
            aside_classes: self.ledger.aside.iter().map(|row| row.class.clone()).collect(),
        }
    }

    pub(super) fn kept_tensors(&self) -> Vec<(&'static str, Column<'_>)> {
        let d = self.machine.dimensions;
        let mut tensors = Vec::new();
        if !self.machine.ignored.is_empty() {
            let Samples { vectors, sources } = &*self.machine.ignored;
            tensors.push(("ignored", f32s(vec![sources.len(), d], vectors.iter().copied())));
            tensors.push(("ignored_source", u64s(sources.len(), sources.iter().copied())));
        }
        if !self.ledger.aside.is_empty() {
            let values = self.ledger.aside.iter().flat_map(|row| &row.vector).copied();
            tensors.push(("aside", f32s(vec![self.ledger.aside.len(), d], values)));
            tensors.push((
                "aside_source",
                u64s(self.ledger.aside.len(), self.ledger.aside.iter().map(|row| row.source)),
            ));
        }
        let rows = &self.ledger.origins.rows;
        if !rows.is_empty() {
            tensors.push(("row_source", u64s(rows.len(), rows.keys().copied())));
            tensors.push(("row_number", u64s(rows.len(), rows.values().map(|called| called.number))));
            let ids = || rows.values().map(|called| called.id.as_deref().unwrap_or(""));
            tensors.push(("row_id_lengths", u64s(rows.len(), ids().map(|id| id.len() as u64))));
            tensors.push(("row_ids", u8s(ids().map(str::len).sum(), ids().flat_map(str::bytes))));
        }
        if let Some(fill) = &self.ledger.fill {
            tensors.push(("fill", f32s(vec![d], fill.iter().copied())));
        }
        tensors
    }

    /// Takes up what the file has of it; extreme vectors are there already.
    pub(super) fn read_kept(&mut self, tensors: &Tensors<'_>, kept: Kept) -> Result<(), FormatError> {
        let d = self.machine.dimensions;
        let possible = |value: f32| value.abs() <= LARGEST;
        if tensors.has("ignored_source") {
            let count = tensors.length("ignored_source")?;
            let vectors = tensors.f32s("ignored", &[count, d], possible)?;
            self.machine.ignored =
                Arc::new(Samples { vectors, sources: tensors.u64s("ignored_source", count)? });
        }
        if tensors.has("aside_source") || !kept.aside_classes.is_empty() {
            let count = kept.aside_classes.len();
            let vectors = tensors.f32s("aside", &[count, d], possible)?;
            let sources = tensors.u64s("aside_source", count)?;
            if kept.aside_classes.iter().any(String::is_empty) {
                return Err(inconsistent("a row set aside is of no class"));
            }
            let rows = kept.aside_classes.into_iter().zip(sources).zip(vectors.chunks_exact(d));
            let rows = rows.map(|((class, source), vector)| Aside { class, source, vector: vector.to_vec() });
            self.ledger.aside = Arc::new(rows.collect());
        }
        let of_unit_length =
            self.ignored_vectors().all(is_unit) && self.ledger.aside.iter().all(|row| is_unit(&row.vector));
        if self.machine.params.metric == Metric::Cosine && !of_unit_length {
            return Err(inconsistent(
                "an ignored sample or a row set aside is not of unit length, which cosine needs",
            ));
        }
        let mut distinct = HashSet::new();
        let extreme = self.machine.classes.iter().flat_map(|class| &class.sources);
        let sources = extreme.chain(&self.machine.ignored.sources).copied();
        let mut sources = sources.chain(self.ledger.aside.iter().map(|row| row.source));
        if !sources.all(|source| source < self.machine.points_seen && distinct.insert(source)) {
            return Err(inconsistent("sources are not distinct rows given to the model"));
        }
        self.ledger.origins = Arc::new(self.origins_of(tensors, kept.batches)?);
        if tensors.has("fill") {
            self.ledger.fill = Some(Arc::new(tensors.f32s("fill", &[d], possible)?));
        }
        Ok(())
    }

    fn origins_of(&self, tensors: &Tensors<'_>, batches: Vec<Batch>) -> Result<Origins, FormatError> {
        let mut end = 0;
        for batch in &batches {
            let next = batch.first.checked_add(batch.rows).filter(|next| *next <= self.machine.points_seen);
            if batch.first < end || next.is_none() {
                return Err(inconsistent("batches overlap, or have rows that were never given"));
            }
            end = next.unwrap_or(end);
        }
        let mut origins = Origins { batches, ..Origins::default() };
        if !tensors.has("row_source") {
            return Ok(origins);
        }
        let count = tensors.length("row_source")?;
        let sources = tensors.u64s("row_source", count)?;
        let numbers = tensors.u64s("row_number", count)?;
        let lengths = tensors.counts("row_id_lengths", count)?;
        let total = tensors.length("row_ids")?;
        let bytes = tensors.bytes("row_ids", Dtype::U8, &[total])?;
        let text = std::str::from_utf8(bytes).map_err(|_| inconsistent("ids of rows are not UTF-8"))?;
        let mut rest = text;
        for ((source, number), length) in sources.into_iter().zip(numbers).zip(lengths) {
            let Some((id, behind)) = rest.split_at_checked(length) else {
                return Err(inconsistent("the lengths of ids do not fit them"));
            };
            rest = behind;
            let id = (!id.is_empty()).then(|| id.into());
            if source >= self.machine.points_seen
                || origins.rows.insert(source, Called { number, id }).is_some()
            {
                return Err(inconsistent("named rows are not distinct rows given to the model"));
            }
        }
        if rest.is_empty() { Ok(origins) } else { Err(inconsistent("the lengths of ids do not fit them")) }
    }
}
