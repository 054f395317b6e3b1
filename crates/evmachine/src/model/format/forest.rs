//! The forest of a model, in files of version 6 and later.

use evmachine_forest::{Forest, ForestArrays};

use super::layout::{Column, f32s, u32s};
use super::tensors::Tensors;
use super::{FormatError, inconsistent};
use crate::witness::forest::ForestWitness;

/// Its tensors. The column of a leaf is 2^32 - 1.
pub(super) fn tensors(forest: &ForestWitness) -> [(&'static str, Column<'static>); 7] {
    let ForestArrays { roots, column, threshold, right, leaf_ends, leaf_classes, leaf_shares, .. } =
        forest.arrays();
    let numbers = |values: Vec<u32>| u32s(values.len(), values.into_iter());
    let shares = |values: Vec<f32>| f32s(vec![values.len()], values.into_iter());
    [
        ("forest_roots", numbers(roots)),
        ("forest_columns", numbers(column)),
        ("forest_thresholds", shares(threshold)),
        ("forest_right", numbers(right)),
        ("forest_leaf_ends", numbers(leaf_ends)),
        ("forest_leaf_classes", numbers(leaf_classes)),
        ("forest_leaf_shares", shares(leaf_shares)),
    ]
}

/// Whether a file has one.
pub(super) fn is_in(tensors: &Tensors<'_>) -> bool {
    tensors.has("forest_roots")
}

/// The forest, if the file has one.
pub(super) fn read(
    tensors: &Tensors<'_>,
    columns: usize,
    classes: usize,
) -> Result<Option<ForestWitness>, FormatError> {
    if !is_in(tensors) {
        return Ok(None);
    }
    let floats = |name: &str| tensors.f32s(name, &[tensors.length(name)?], |_| true);
    let arrays = ForestArrays {
        columns,
        classes,
        roots: tensors.u32s("forest_roots")?,
        column: tensors.u32s("forest_columns")?,
        threshold: floats("forest_thresholds")?,
        right: tensors.u32s("forest_right")?,
        leaf_ends: tensors.u32s("forest_leaf_ends")?,
        leaf_classes: tensors.u32s("forest_leaf_classes")?,
        leaf_shares: floats("forest_leaf_shares")?,
    };
    let forest = Forest::try_from(arrays).map_err(|error| inconsistent(error.to_string()))?;
    Ok(Some(ForestWitness { forest }))
}
