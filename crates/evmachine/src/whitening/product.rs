//! Products of `f64` matrices, for what is done once for a model.

use fearless_simd::{Level, Simd, dispatch, prelude::*};

/// Rows of a product come in multiples of this.
pub(super) const ROWS: usize = 8;
/// Columns of a product come in multiples of this.
pub(super) const COLUMNS: usize = 16;
/// Terms summed in registers before the partial sums meet in the result; a packed tile of the right factor then fits
/// the first-level cache.
const CHUNK: usize = 256;

/// Values `[k][i]` at `k * stride + i`: the index that a product sums over comes first.
#[derive(Clone, Copy)]
pub(super) struct Factor<'a> {
    pub(super) values: &'a [f64],
    pub(super) stride: usize,
}

/// Adds `sum over k < depth of left[k][row] * right[k][column]` to `out[row * stride + column]`.
///
/// Each sum runs over k in one fixed order, so it depends on its own row and column alone.
pub(super) fn add_product(
    depth: usize,
    (left, rows): (Factor<'_>, usize),
    (right, columns): (Factor<'_>, usize),
    (out, stride): (&mut [f64], usize),
) {
    let mut tall = Vec::with_capacity(CHUNK.min(depth) * rows);
    let mut wide = Vec::with_capacity(CHUNK.min(depth) * COLUMNS);
    for start in (0..depth).step_by(CHUNK) {
        let terms = start..(start + CHUNK).min(depth);
        tall.clear();
        for row in (0..rows).step_by(ROWS) {
            pack::<ROWS>(left, terms.clone(), row, &mut tall);
        }
        for column in (0..columns).step_by(COLUMNS) {
            wide.clear();
            pack::<COLUMNS>(right, terms.clone(), column, &mut wide);
            for (tile, tall) in tall.chunks_exact(terms.len() * ROWS).enumerate() {
                let corner = tile * ROWS * stride + column;
                dispatch!(Level::new(), simd => tile_simd(simd, tall, &wide, &mut out[corner..], stride));
            }
        }
    }
}

fn pack<const WIDTH: usize>(
    factor: Factor<'_>,
    terms: std::ops::Range<usize>,
    first: usize,
    out: &mut Vec<f64>,
) {
    for k in terms {
        let start = k * factor.stride + first;
        out.extend_from_slice(&factor.values[start..start + WIDTH]);
    }
}

#[inline(always)]
fn tile_simd<S: Simd>(simd: S, tall: &[f64], wide: &[f64], out: &mut [f64], stride: usize) {
    // Register tiles of rows x vectors: as many accumulators as the register file holds.
    match S::f64s::LEN {
        8 => tile::<S, 8, 2>(simd, tall, wide, out, stride),
        _ => tile::<S, 4, 2>(simd, tall, wide, out, stride),
    }
}

#[inline(always)]
fn tile<S: Simd, const R: usize, const V: usize>(
    simd: S,
    tall: &[f64],
    wide: &[f64],
    out: &mut [f64],
    stride: usize,
) {
    let lanes = S::f64s::LEN;
    for row in (0..ROWS).step_by(R) {
        for column in (0..COLUMNS).step_by(V * lanes) {
            let mut sums = [[S::f64s::splat(simd, 0.0); V]; R];
            for (tall, wide) in tall.chunks_exact(ROWS).zip(wide.chunks_exact(COLUMNS)) {
                let tall = &tall[row..row + R];
                let wide = &wide[column..column + V * lanes];
                let mut right = [S::f64s::splat(simd, 0.0); V];
                for v in 0..V {
                    right[v] = S::f64s::from_slice(simd, &wide[v * lanes..(v + 1) * lanes]);
                }
                for r in 0..R {
                    let left = S::f64s::splat(simd, tall[r]);
                    for v in 0..V {
                        sums[r][v] = left.mul_add(right[v], sums[r][v]);
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                for (v, sum) in sums.iter().enumerate() {
                    let at = (row + r) * stride + column + v * lanes;
                    let target = &mut out[at..at + lanes];
                    (S::f64s::from_slice(simd, target) + *sum).store_slice(target);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_agree_with_plain_loops() {
        let (depth, rows, columns) = (2 * CHUNK + 3, 2 * ROWS, 3 * COLUMNS);
        let value = |i: usize| ((i * 7919) % 1009) as f64 / 1009.0 - 0.5;
        let left: Vec<f64> = (0..depth * (rows + 5)).map(value).collect();
        let right: Vec<f64> = (0..depth * (columns + 1)).map(|i| value(i + 13)).collect();
        let stride = columns + 2;
        let mut out = vec![1.0; rows * stride];
        add_product(
            depth,
            (Factor { values: &left, stride: rows + 5 }, rows),
            (Factor { values: &right, stride: columns + 1 }, columns),
            (&mut out, stride),
        );
        for row in 0..rows {
            for column in 0..columns {
                let terms =
                    (0..depth).map(|k| left[k * (rows + 5) + row] * right[k * (columns + 1) + column]);
                let expected = 1.0 + terms.sum::<f64>();
                let found = out[row * stride + column];
                assert!((found - expected).abs() < 1e-10, "{row} {column}: {found} {expected}");
            }
            assert_eq!(
                out[row * stride + columns..(row + 1) * stride],
                [1.0, 1.0],
                "nothing else is touched"
            );
        }
    }
}
