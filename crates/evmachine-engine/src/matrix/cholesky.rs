//! The Cholesky factor of a positive definite matrix, and the inverse of that factor.
//!
//! Matrices are square, row after row, of a size that is a multiple of [`COLUMNS`]. Both take a third of `size^3`
//! multiplications, nearly all of them in products of blocks.

use rayon::prelude::*;

use super::product::{COLUMNS, Factor, add_product};

/// Rows and columns that are worked on at once.
const BLOCK: usize = 4 * COLUMNS;

/// Replaces the lower triangle of `matrix` by L with `matrix = L L^T`. What stands above the diagonal is not read.
///
/// `floor` is a bound on the eigenvalues from below. No pivot is less, but for rounding, which is so undone.
pub fn factor(matrix: &mut [f64], size: usize, floor: f64) {
    for start in (0..size).step_by(BLOCK) {
        let end = (start + BLOCK).min(size);
        let width = end - start;
        let (above, below) = matrix.split_at_mut(end * size);
        let mut corner: Vec<f64> = Vec::with_capacity(width * width);
        for row in above.chunks_exact_mut(size).skip(start) {
            corner.extend(&row[start..end]);
        }
        factor_corner(&mut corner, width, floor);
        for (row, corner) in above.chunks_exact_mut(size).skip(start).zip(corner.chunks_exact(width)) {
            row[start..end].copy_from_slice(corner);
        }
        below.par_chunks_exact_mut(size).for_each(|row| {
            let row = &mut row[start..end];
            for column in 0..width {
                let known = &corner[column * width..=column * width + column];
                let sum: f64 = row.iter().zip(&known[..column]).map(|(a, b)| a * b).sum();
                row[column] = (row[column] - sum) / known[column];
            }
        });
        let rest = size - end;
        let mut panel = vec![0.0; width * rest];
        for (i, row) in below.chunks_exact(size).enumerate() {
            for (k, &value) in row[start..end].iter().enumerate() {
                panel[k * rest + i] = value;
            }
        }
        let negated: Vec<f64> = panel.iter().map(|value| -value).collect();
        below.par_chunks_mut(BLOCK * size).enumerate().for_each(|(block, rows)| {
            let first = block * BLOCK;
            let count = rows.len() / size;
            let left = Factor { values: &negated[first..], stride: rest };
            let right = Factor { values: &panel, stride: rest };
            add_product(width, (left, count), (right, first + count), (&mut rows[end..], size));
        });
    }
}

fn factor_corner(corner: &mut [f64], width: usize, floor: f64) {
    for row in 0..width {
        let (above, rest) = corner.split_at_mut(row * width);
        let row_values = &mut rest[..width];
        for column in 0..row {
            let known = &above[column * width..=column * width + column];
            let sum: f64 = row_values.iter().zip(&known[..column]).map(|(a, b)| a * b).sum();
            row_values[column] = (row_values[column] - sum) / known[column];
        }
        let squares: f64 = row_values[..row].iter().map(|value| value * value).sum();
        row_values[row] = (row_values[row] - squares).max(floor).sqrt();
    }
}

/// The transpose of `L^-1`, where L is the lower triangle of `factor`.
pub fn inverse_transposed(factor: &[f64], size: usize) -> Vec<f64> {
    let mut across = vec![0.0; size * size];
    across.par_chunks_exact_mut(size).enumerate().for_each(|(k, row)| {
        for (i, value) in row.iter_mut().enumerate().skip(k) {
            *value = factor[i * size + k];
        }
    });
    let mut inverse = vec![0.0; size * size];
    inverse.par_chunks_mut(BLOCK * size).enumerate().for_each(|(block, out)| {
        let width = out.len() / size;
        let columns = inverse_columns(factor, &across, size, block * BLOCK, width);
        for (row, values) in columns.chunks_exact(width).enumerate() {
            for (column, &value) in values.iter().enumerate() {
                out[column * size + row] = value;
            }
        }
    });
    inverse
}

/// Columns `first..first + width` of `L^-1`, row after row: forward substitution, a block of rows at a time.
fn inverse_columns(factor: &[f64], across: &[f64], size: usize, first: usize, width: usize) -> Vec<f64> {
    let mut columns = vec![0.0; size * width];
    for start in (first..size).step_by(BLOCK) {
        let end = (start + BLOCK).min(size);
        let mut sums = vec![0.0; (end - start) * width];
        let left = Factor { values: &across[first * size + start..], stride: size };
        let right = Factor { values: &columns[first * width..], stride: width };
        add_product(start - first, (left, end - start), (right, width), (&mut sums, width));
        for (row, sums) in (start..end).zip(sums.chunks_exact_mut(width)) {
            for k in start..row {
                let multiple = factor[row * size + k];
                for (sum, &value) in sums.iter_mut().zip(&columns[k * width..(k + 1) * width]) {
                    *sum += multiple * value;
                }
            }
            let pivot = factor[row * size + row];
            for (column, &sum) in sums.iter().enumerate() {
                let unit = f64::from(u8::from(row == first + column));
                columns[row * width + column] = (unit - sum) / pivot;
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `A A^T + 0.01 I`, which is badly enough conditioned to be of interest.
    fn positive_definite(size: usize) -> Vec<f64> {
        let a = |i: usize, k: usize| ((i * 31 + k * 17 + i * k) % 101) as f64 / 101.0;
        let entry = |i: usize, j: usize| {
            let product: f64 = (0..size).map(|k| a(i, k) * a(j, k)).sum();
            product / size as f64 + if i == j { 0.01 } else { 0.0 }
        };
        (0..size * size).map(|at| entry(at / size, at % size)).collect()
    }

    #[test]
    fn the_factor_and_its_inverse_multiply_back() {
        for size in [COLUMNS, BLOCK, BLOCK + COLUMNS, 3 * BLOCK + 2 * COLUMNS] {
            let matrix = positive_definite(size);
            let mut lower = matrix.clone();
            factor(&mut lower, size, 0.01);
            let inverse = inverse_transposed(&lower, size);
            let entry = |i: usize, k: usize| if k <= i { lower[i * size + k] } else { 0.0 };
            for i in 0..size {
                for j in 0..size {
                    let back: f64 = (0..size).map(|k| entry(i, k) * entry(j, k)).sum();
                    assert!((back - matrix[i * size + j]).abs() < 1e-12, "{size}: {i} {j}: {back}");
                    let unit: f64 = (0..size).map(|k| entry(i, k) * inverse[j * size + k]).sum();
                    assert!((unit - f64::from(u8::from(i == j))).abs() < 1e-10, "{size}: {i} {j}: {unit}");
                    assert!(j <= i || inverse[j * size + i] == 0.0, "the inverse is lower triangular");
                }
            }
        }
    }

    #[test]
    fn rounding_below_the_floor_is_undone() {
        let mut matrix = vec![1.0; COLUMNS * COLUMNS];
        for i in 0..COLUMNS {
            matrix[i * COLUMNS + i] = 1.0 - 1e-15;
        }
        factor(&mut matrix, COLUMNS, 1e-6);
        assert!((matrix[COLUMNS + 1] - 1e-3).abs() < 1e-12, "{}", matrix[COLUMNS + 1]);
        assert!(matrix.iter().all(|value| value.is_finite()));
    }
}
