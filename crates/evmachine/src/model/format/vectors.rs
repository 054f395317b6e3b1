//! What a file holds for each extreme vector: where it is, its fit, its tail.

use std::sync::Arc;

use rayon::prelude::*;
use safetensors::tensor::Dtype;

use super::tensors::Tensors;
use super::{FormatError, inconsistent};
use evmachine_engine::features::LARGEST;
use evmachine_engine::metric::Metric;
use evmachine_engine::psi::{FitStatus, PsiModel};

/// Row after row, as the metric wants them.
pub(super) fn vectors_of(
    tensors: &Tensors<'_>,
    metric: &Metric,
    count: usize,
    d: usize,
) -> Result<Vec<f32>, FormatError> {
    let vectors = tensors.f32s("vectors", &[count, d], |value| value.abs() <= LARGEST)?;
    if *metric == Metric::Cosine
        && let Some(at) = vectors.par_chunks_exact(d).position_first(|vector| !is_unit(vector))
    {
        return Err(inconsistent(format!("extreme vector {at} is not of unit length, which cosine needs")));
    }
    Ok(vectors)
}

/// The vectors of classes of these sizes, one after the other.
pub(super) fn by_class(vectors: &[f32], sizes: &[usize], d: usize) -> Vec<Arc<Vec<f32>>> {
    let starts: Vec<usize> = sizes
        .iter()
        .scan(0, |end, &size| {
            *end += size;
            Some(*end - size)
        })
        .collect();
    let of_class =
        |(&start, &size): (&usize, &usize)| Arc::new(vectors[start * d..(start + size) * d].to_vec());
    starts.par_iter().zip(sizes).map(of_class).collect()
}

/// Of length 1, up to rounding of each value.
pub(super) fn is_unit(vector: &[f32]) -> bool {
    let squared: f64 = vector.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    (squared - 1.0).abs() < 1e-5
}

pub(super) fn fits_of(
    tensors: &Tensors<'_>,
    count: usize,
    version: u32,
) -> Result<Vec<PsiModel>, FormatError> {
    let shapes = tensors.f64s("shape", count, |value| value > 0.0)?;
    let scales = tensors.f64s("scale", count, |value| value >= 0.0)?;
    let shifts = tensors.f64s("shift", count, |value| value >= 0.0)?;
    let statuses = tensors.bytes("status", Dtype::U8, &[count])?;
    let mut psi = Vec::with_capacity(count);
    for (i, &status) in statuses.iter().enumerate() {
        let status =
            FitStatus::ALL.get(status as usize).ok_or_else(|| inconsistent(format!("status {status}")))?;
        let fit = PsiModel { shape: shapes[i], scale: scales[i], shift: shifts[i], status: *status };
        let guessed = fit.status == FitStatus::WithinClass;
        let pooled = fit.status == FitStatus::Pooled;
        if (guessed && version < 4) || (pooled && version < 7) {
            return Err(inconsistent(format!("status {} in format {version}", fit.status as u8)));
        }
        // Pooling takes its logarithm, but for guesses.
        let is_zero = fit.status == FitStatus::ZeroTail || pooled;
        if (fit.scale / fit.end() > 0.0) == is_zero && !guessed {
            return Err(inconsistent(format!(
                "scale[{i}] = {} of a fit with {}",
                fit.scale,
                status.describe()
            )));
        }
        psi.push(fit);
    }
    Ok(psi)
}

pub(super) fn tails_of(tensors: &Tensors<'_>, count: usize) -> Result<Vec<Arc<[f32]>>, FormatError> {
    let lengths = tensors.counts("tail_lengths", count)?;
    let total = tensors.length("tails")?;
    if lengths.iter().try_fold(0usize, |sum, &length| sum.checked_add(length)) != Some(total) {
        return Err(inconsistent(format!("tail lengths do not add up to {total} values")));
    }
    let mut values = tensors.f32s("tails", &[total], |value| value >= 0.0)?.into_iter();
    let tails: Vec<Arc<[f32]>> =
        lengths.into_iter().map(|length| values.by_ref().take(length).collect()).collect();
    match tails.iter().position(|tail| !tail.is_sorted()) {
        Some(at) => Err(inconsistent(format!("tail {at} is not sorted"))),
        None => Ok(tails),
    }
}
