//! Products of matrices of `f64` and `f32`.

use std::ops::Range;

use fearless_simd::{Simd, dispatch, prelude::*};

use crate::level::level;

/// Rows of a product come in multiples of this.
pub const ROWS: usize = 8;
/// Columns of a product of `f64` come in multiples of this.
pub const COLUMNS: usize = f64::COLUMNS;
/// Terms summed in registers before the partial sums meet in the result; a packed tile of the right factor then fits
/// the first-level cache.
const CHUNK: usize = 256;

/// Values `[k][i]` at `k * stride + i`: the index that a product sums over comes first.
#[derive(Clone, Copy)]
pub struct Factor<'a, T = f64> {
    /// Row after row.
    pub values: &'a [T],
    /// Values from one row to the next.
    pub stride: usize,
}

/// What matrices are made of.
pub trait Scalar: Copy + Send + Sync {
    /// Columns of a product come in multiples of this.
    const COLUMNS: usize;

    /// Adds the product of two packed tiles to `out`.
    fn add_tile(tall: &[Self], wide: &[Self], out: &mut [Self], stride: usize);

    /// Adds to `out` the product of a row with as many terms of `wide`.
    fn add_terms(row: &[Self], wide: Factor<'_, Self>, out: &mut [Self]);
}

/// Adds `sum over k < depth of left[k][row] * right[k][column]` to `out[row * stride + column]`.
///
/// Each sum runs over k in one fixed order, so it depends on its own row and column alone.
pub fn add_product<T: Scalar>(
    depth: usize,
    (left, rows): (Factor<'_, T>, usize),
    (right, columns): (Factor<'_, T>, usize),
    (out, stride): (&mut [T], usize),
) {
    let mut tall = Vec::with_capacity(CHUNK.min(depth) * rows);
    let mut wide = Vec::with_capacity(CHUNK.min(depth) * T::COLUMNS);
    for start in (0..depth).step_by(CHUNK) {
        let terms = start..(start + CHUNK).min(depth);
        tall.clear();
        for row in (0..rows).step_by(ROWS) {
            pack(left, terms.clone(), row..row + ROWS, &mut tall);
        }
        for column in (0..columns).step_by(T::COLUMNS) {
            wide.clear();
            pack(right, terms.clone(), column..column + T::COLUMNS, &mut wide);
            for (tile, tall) in tall.chunks_exact(terms.len() * ROWS).enumerate() {
                let corner = tile * ROWS * stride + column;
                T::add_tile(tall, &wide, &mut out[corner..], stride);
            }
        }
    }
}

/// Adds `sum over k of row[k] * right[k][column]` to `out[column]`, bit for bit as [`add_product`] does for one row of many.
///
/// Columns come in multiples of [`Scalar::COLUMNS`]. Packs nothing, and takes no memory.
pub fn add_row<T: Scalar>(row: &[T], right: Factor<'_, T>, out: &mut [T]) {
    for (part, row) in row.chunks(CHUNK).enumerate() {
        let terms = Factor { values: &right.values[part * CHUNK * right.stride..], stride: right.stride };
        T::add_terms(row, terms, out);
    }
}

fn pack<T: Scalar>(factor: Factor<'_, T>, terms: Range<usize>, part: Range<usize>, out: &mut Vec<T>) {
    for k in terms {
        let start = k * factor.stride;
        out.extend_from_slice(&factor.values[start + part.start..start + part.end]);
    }
}

macro_rules! scalar {
    ($type:ident, $vector:ident, $columns:literal, $widest:literal) => {
        impl Scalar for $type {
            const COLUMNS: usize = $columns;

            fn add_tile(tall: &[Self], wide: &[Self], out: &mut [Self], stride: usize) {
                #[inline(always)]
                fn dispatched<S: Simd>(
                    simd: S,
                    tall: &[$type],
                    wide: &[$type],
                    out: &mut [$type],
                    stride: usize,
                ) {
                    // Register tiles of rows x vectors: as many accumulators as the register file holds.
                    match S::$vector::LEN {
                        $widest => tile::<S, 8, 2>(simd, tall, wide, out, stride),
                        _ => tile::<S, 4, 2>(simd, tall, wide, out, stride),
                    }
                }

                #[inline(always)]
                fn tile<S: Simd, const R: usize, const V: usize>(
                    simd: S,
                    tall: &[$type],
                    wide: &[$type],
                    out: &mut [$type],
                    stride: usize,
                ) {
                    let lanes = S::$vector::LEN;
                    for row in (0..ROWS).step_by(R) {
                        for column in (0..$columns).step_by(V * lanes) {
                            let mut sums = [[S::$vector::splat(simd, 0.0); V]; R];
                            for (tall, wide) in tall.chunks_exact(ROWS).zip(wide.chunks_exact($columns)) {
                                let tall = &tall[row..row + R];
                                let wide = &wide[column..column + V * lanes];
                                let mut right = [S::$vector::splat(simd, 0.0); V];
                                for v in 0..V {
                                    right[v] = S::$vector::from_slice(simd, &wide[v * lanes..(v + 1) * lanes]);
                                }
                                for r in 0..R {
                                    let left = S::$vector::splat(simd, tall[r]);
                                    for v in 0..V {
                                        sums[r][v] = left.mul_add(right[v], sums[r][v]);
                                    }
                                }
                            }
                            for (r, sums) in sums.iter().enumerate() {
                                for (v, sum) in sums.iter().enumerate() {
                                    let at = (row + r) * stride + column + v * lanes;
                                    let target = &mut out[at..at + lanes];
                                    (S::$vector::from_slice(simd, target) + *sum).store_slice(target);
                                }
                            }
                        }
                    }
                }

                dispatch!(level(), simd => dispatched(simd, tall, wide, out, stride));
            }

            fn add_terms(row: &[Self], wide: Factor<'_, Self>, out: &mut [Self]) {
                #[inline(always)]
                fn dispatched<S: Simd>(simd: S, row: &[$type], wide: Factor<'_, $type>, out: &mut [$type]) {
                    match S::$vector::LEN {
                        $widest => terms::<S, 2>(simd, row, wide, out),
                        _ => terms::<S, 4>(simd, row, wide, out),
                    }
                }

                #[inline(always)]
                fn terms<S: Simd, const V: usize>(
                    simd: S,
                    row: &[$type],
                    wide: Factor<'_, $type>,
                    out: &mut [$type],
                ) {
                    let lanes = S::$vector::LEN;
                    for (number, out) in out.chunks_exact_mut(V * lanes).enumerate() {
                        let mut sums = [S::$vector::splat(simd, 0.0); V];
                        for (k, &left) in row.iter().enumerate() {
                            let left = S::$vector::splat(simd, left);
                            let start = k * wide.stride + number * V * lanes;
                            let columns = &wide.values[start..start + V * lanes];
                            for v in 0..V {
                                let right = S::$vector::from_slice(simd, &columns[v * lanes..(v + 1) * lanes]);
                                sums[v] = left.mul_add(right, sums[v]);
                            }
                        }
                        for (sum, target) in sums.into_iter().zip(out.chunks_exact_mut(lanes)) {
                            (S::$vector::from_slice(simd, target) + sum).store_slice(target);
                        }
                    }
                }

                dispatch!(level(), simd => dispatched(simd, row, wide, out));
            }
        }
    };
}

scalar!(f64, f64s, 16, 8);
scalar!(f32, f32s, 32, 16);

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
            let alone: Vec<f64> = (0..depth).map(|k| left[k * (rows + 5) + row]).collect();
            let mut products = vec![1.0; columns];
            add_row(&alone, Factor { values: &right, stride: columns + 1 }, &mut products);
            assert_eq!(products, out[row * stride..row * stride + columns], "one row alone");
        }
    }
}
