//! Rows on their way from one place of a model to another.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::Editor;
use crate::error::{EditError, RunError};
use crate::machine::class::ClassModel;
use crate::machine::lookup::Cache;
use crate::machine::margins::{self, Moving};
use evmachine_engine::psi::{FitStatus, PsiModel};

/// Where a row is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Class(usize),
    Ignored,
    /// Among what is denied of a class.
    Denied(usize),
}

/// A row on its way.
pub(super) struct MovingRow {
    pub(super) vector: Vec<f32>,
    pub(super) source: u64,
}

impl Editor<'_> {
    /// Takes rows out of their place.
    pub(super) fn take(&mut self, from: Place, positions: &[usize]) -> Vec<MovingRow> {
        let d = self.model.machine.dimensions;
        let rows = |vectors: &[f32], sources: &[u64]| -> Vec<MovingRow> {
            let row = |&at: &usize| MovingRow {
                vector: vectors[at * d..(at + 1) * d].to_vec(),
                source: sources[at],
            };
            positions.iter().map(row).collect()
        };
        if positions.is_empty() {
            return Vec::new();
        }
        self.model.machine.cache = Cache::default();
        self.report.rows += positions.len();
        match from {
            Place::Ignored => {
                let ignored = Arc::make_mut(&mut self.model.machine.ignored);
                let taken = rows(&ignored.vectors, &ignored.sources);
                remove_rows(&mut ignored.vectors, positions, d);
                remove(&mut ignored.sources, positions);
                taken
            }
            Place::Denied(number) => {
                let denied = Arc::make_mut(&mut self.model.machine.classes[number].denied);
                let taken = rows(&denied.vectors, &denied.sources);
                remove_rows(&mut denied.vectors, positions, d);
                remove(&mut denied.sources, positions);
                taken
            }
            Place::Class(number) => {
                let class = &mut self.model.machine.classes[number];
                let taken = rows(&class.vectors, &class.sources);
                if let Some(laid) = &mut self.laid {
                    for row in &taken {
                        laid.leaves(number, &row.vector);
                    }
                }
                remove_rows(Arc::make_mut(&mut class.vectors), positions, d);
                remove(&mut class.psi, positions);
                remove(&mut class.sources, positions);
                remove(&mut class.gains, positions);
                remove(&mut class.tails, positions);
                class.points_seen -= positions.len() as u64;
                taken
            }
        }
    }

    /// Has the classes that rows concern lose them as negatives.
    pub(super) fn lose_negatives(
        &mut self,
        rows: &[MovingRow],
        apart: Vec<Range<usize>>,
    ) -> Result<(), EditError> {
        let vectors = vectors_of(rows);
        let moving = Moving::new(&self.model.machine, &vectors, apart);
        self.report.refitted +=
            margins::lose(self.run, &mut self.model.machine, self.laid.as_ref(), &moving)?;
        Ok(())
    }

    /// Has the classes that rows concern gain them as negatives.
    pub(super) fn gain_negatives(
        &mut self,
        rows: &[MovingRow],
        apart: Vec<Range<usize>>,
    ) -> Result<(), EditError> {
        self.model.machine.have_company(rows.len());
        let vectors = vectors_of(rows);
        let moving = Moving::new(&self.model.machine, &vectors, apart);
        self.report.refitted +=
            margins::gain(self.run, &mut self.model.machine, self.laid.as_ref(), &moving)?;
        Ok(())
    }

    pub(super) fn become_ignored(&mut self, rows: &[MovingRow]) {
        let ignored = Arc::make_mut(&mut self.model.machine.ignored);
        for row in rows {
            ignored.push(&row.vector, row.source);
        }
        self.model.machine.cache = Cache::default();
    }

    /// Adds rows to a class, fits them, and has it choose its extreme vectors.
    pub(super) fn add_to_class(&mut self, class: usize, rows: &[MovingRow]) -> Result<(), RunError> {
        let model = &mut self.model;
        let d = model.machine.dimensions;
        let new_size = model.machine.tail_size_of_new()(
            model.machine.points_held() as usize + model.machine.ignored.len(),
        );
        let params = &model.machine.params;
        let own = &mut model.machine.classes[class];
        if own.points_seen == 0 {
            own.tail_size = new_size;
        }
        let moved: HashSet<u64> = rows.iter().map(|row| row.source).collect();
        let vectors = Arc::make_mut(&mut own.vectors);
        for row in rows {
            vectors.extend_from_slice(&row.vector);
            own.sources.push(row.source);
            own.psi.push(UNFITTED);
            own.gains.push(1.0);
            own.tails.push(Arc::default());
            own.points_seen += 1;
        }
        let keeps_all = params.max_extreme_vectors.is_none() && params.cover_threshold >= 1.0;
        if keeps_all {
            own.in_order_of_sources(d);
        }
        let start = model.machine.ranges()[class].start;
        let places = model.machine.classes[class].sources.iter().enumerate();
        let places = places.filter(|(_, source)| moved.contains(source)).map(|(at, _)| start + at);
        let places: Vec<usize> = places.collect();
        if model.is_alone() {
            model.machine.be_alone(self.run)?;
        } else {
            margins::measure(self.run, &mut model.machine, self.laid.as_ref(), &places)?;
        }
        self.laid = None;
        if !keeps_all && let Some(classes) = model.machine.choosing(|other| other == class) {
            model.machine.choose(self.run, &classes, None, &model.machine.pool_sums())?;
        }
        self.model.machine.cache = Cache::default();
        Ok(())
    }

    /// Ends classes that have no row any more; returns what is left of a list by class.
    pub(super) fn end_empty_classes<T>(&mut self, by_class: Vec<T>) -> Vec<T> {
        let empty: Vec<bool> = self.model.machine.classes.iter().map(|class| class.len() == 0).collect();
        self.laid.iter_mut().for_each(|laid| laid.keeps(|class| !empty[class]));
        let ended =
            self.model.machine.classes.extract_if(.., |class| class.len() == 0).map(|class| class.name);
        self.report.ended_classes.extend(ended);
        self.model.machine.cache = Cache::default();
        by_class.into_iter().zip(empty).filter(|(_, empty)| !empty).map(|(value, _)| value).collect()
    }
}

/// Stands in until a row is measured.
const UNFITTED: PsiModel = PsiModel { shape: 1.0, scale: 0.0, shift: 0.0, status: FitStatus::ZeroTail };

pub(super) fn positions_at(found: &[(Place, usize, u64)], wanted: Place) -> Vec<usize> {
    found.iter().filter(|(place, _, _)| *place == wanted).map(|(_, position, _)| *position).collect()
}

fn vectors_of(rows: &[MovingRow]) -> Vec<f32> {
    rows.iter().flat_map(|row| &row.vector).copied().collect()
}

/// Removes the entries at sorted positions.
fn remove<T>(values: &mut Vec<T>, positions: &[usize]) {
    let mut at = 0;
    let mut gone = positions.iter().copied().peekable();
    values.retain(|_| {
        at += 1;
        gone.next_if_eq(&(at - 1)).is_none()
    });
}

fn remove_rows(values: &mut Vec<f32>, positions: &[usize], d: usize) {
    let mut kept = 0;
    let mut gone = positions.iter().copied().peekable();
    for row in 0..values.len() / d {
        if gone.next_if_eq(&row).is_none() {
            values.copy_within(row * d..(row + 1) * d, kept * d);
            kept += 1;
        }
    }
    values.truncate(kept * d);
}

impl ClassModel {
    /// Puts extreme vectors in the order in which they were learned, as a class that keeps every point has them.
    fn in_order_of_sources(&mut self, d: usize) {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|&at| self.sources[at]);
        if order.is_sorted() {
            return;
        }
        self.vectors =
            Arc::new(order.iter().flat_map(|&at| &self.vectors[at * d..(at + 1) * d]).copied().collect());
        self.psi = order.iter().map(|&at| self.psi[at]).collect();
        self.sources = order.iter().map(|&at| self.sources[at]).collect();
        self.gains = order.iter().map(|&at| self.gains[at]).collect();
        self.tails = order.iter().map(|&at| self.tails[at].clone()).collect();
    }
}
