//! What files of version 6 add: vectors that are not of a class.

use std::collections::HashSet;
use std::sync::Arc;

use super::layout::{Column, f32s, u64s};
use super::tensors::Tensors;
use super::vectors::is_unit;
use super::{FormatError, inconsistent};
use crate::model::Evm;
use evmachine_engine::features::LARGEST;
use evmachine_engine::metric::Metric;

const VECTORS: &str = "denied";
const SOURCES: &str = "denied_source";
const CLASSES: &str = "denied_class";

/// Whether a file has any.
pub(super) fn is_in(tensors: &Tensors<'_>) -> bool {
    [VECTORS, SOURCES, CLASSES].iter().any(|name| tensors.has(name))
}

impl Evm {
    pub(super) fn denied_tensors(&self) -> Vec<(&'static str, Column<'_>)> {
        let count = self.denied_count();
        if count == 0 {
            return Vec::new();
        }
        let denied = || self.machine.classes.iter().map(|class| &class.denied);
        let classes =
            (0u64..).zip(denied()).flat_map(|(class, denied)| denied.sources.iter().map(move |_| class));
        let vectors = denied().flat_map(|denied| &denied.vectors).copied();
        vec![
            (VECTORS, f32s(vec![count, self.machine.dimensions], vectors)),
            (SOURCES, u64s(count, denied().flat_map(|denied| &denied.sources).copied())),
            (CLASSES, u64s(count, classes)),
        ]
    }

    /// Takes up what the file has of them; extreme vectors, ignored samples and rows set aside are there already.
    pub(super) fn read_denied(&mut self, tensors: &Tensors<'_>) -> Result<(), FormatError> {
        if !is_in(tensors) {
            return Ok(());
        }
        let (count, d) = (tensors.length(SOURCES)?, self.machine.dimensions);
        let vectors = tensors.f32s(VECTORS, &[count, d], |value| value.abs() <= LARGEST)?;
        let sources = tensors.u64s(SOURCES, count)?;
        let classes = tensors.counts(CLASSES, count)?;
        if !classes.is_sorted() || classes.last().is_none_or(|&last| last >= self.machine.classes.len()) {
            return Err(inconsistent("denials are not grouped by classes of the model"));
        }
        if self.machine.params.metric == Metric::Cosine && !vectors.chunks_exact(d).all(is_unit) {
            return Err(inconsistent("a denial is not of unit length, which cosine needs"));
        }
        let extreme = self.machine.classes.iter().flat_map(|class| &class.sources);
        let others = extreme.chain(&self.machine.ignored.sources).copied();
        let mut distinct: HashSet<u64> =
            others.chain(self.ledger.aside.iter().map(|row| row.source)).collect();
        if !sources.iter().all(|&source| source < self.machine.points_seen && distinct.insert(source)) {
            return Err(inconsistent("denials are not distinct rows given to the model"));
        }
        for ((&class, &source), vector) in classes.iter().zip(&sources).zip(vectors.chunks_exact(d)) {
            Arc::make_mut(&mut self.machine.classes[class].denied).push(vector, source);
        }
        Ok(())
    }
}
