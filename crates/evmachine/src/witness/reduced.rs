//! Logits in fewer dimensions, with the same angles.
//!
//! Logits are affine in a row: `z = A (x, 1)`, A having a row of `dimensions + 1` weights for each class. With the Cholesky factor
//! `A^T A = L L^T` the vector `y = L^T (x, 1)` has the products of z, `<y, y'> = <z, z'>`, and so its cosines, in
//! `dimensions + 1` dimensions instead of as many as there are classes. Means of logits, which smoothing takes, become means of y.

use crate::witness::probe::Probe;
use evmachine_engine::matrix::{self, Factor, Scalar, add_product};

/// Pivots are at least this share of the largest square, which rounding leaves of a direction that no logit has.
const FLOOR: f64 = 1e-14;

impl Probe {
    /// The affine map into the fewest dimensions that has the products of the logits: the probe itself, unless it has more classes
    /// than dimensions and one. Costs `classes * dimensions^2` multiplications.
    pub(crate) fn reduced(&self) -> Self {
        let d = self.dimensions();
        if self.classes() <= d + 1 {
            return self.clone();
        }
        let size = (d + 1).next_multiple_of(f64::COLUMNS);
        let mut rows = vec![0.0f64; self.classes() * size];
        let mut weights = self.rows();
        for (row, intercept) in rows.chunks_exact_mut(size).zip(&self.intercepts) {
            for value in &mut row[..d] {
                *value = weights.next().map_or(0.0, f64::from);
            }
            row[d] = *intercept;
        }
        let mut products = vec![0.0; size * size];
        let all = Factor { values: &rows, stride: size };
        add_product(self.classes(), (all, size), (all, size), (&mut products, size));
        let largest = (0..size).map(|i| products[i * size + i]).fold(f64::MIN_POSITIVE, f64::max);
        for i in d + 1..size {
            products[i * size + i] = largest;
        }
        matrix::factor(&mut products, size, FLOOR * largest);
        // Entry (i, k) of L is what feature i adds to y_k; those above the diagonal are 0.
        let lower = |i: usize, k: usize| if k <= i { products[i * size + k] } else { 0.0 };
        let weights: Vec<f32> = (0..=d).flat_map(|k| (0..d).map(move |i| lower(i, k) as f32)).collect();
        let intercepts = (0..=d).map(|k| lower(d, k)).collect();
        Self::from_rows(&self.metric, self.standard.clone(), &weights, intercepts, self.penalty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::labels::Labels;
    use evmachine_engine::features::Features;
    use evmachine_engine::metric::Metric;

    fn drawn(rows: usize, dimensions: usize) -> Features<'static> {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32) / (1u32 << 24) as f32 - 0.5
        };
        Features::new((0..rows * dimensions).map(|_| next()).collect::<Vec<f32>>(), dimensions).unwrap()
    }

    fn cosines(rows: &[f64], columns: usize) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let rows: Vec<&[f64]> = rows.chunks_exact(columns).collect();
        let pairs = rows.iter().flat_map(|a| rows.iter().map(move |b| (*a, *b)));
        pairs.map(|(a, b)| dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()).collect()
    }

    #[test]
    fn fewer_dimensions_keep_the_angles_of_logits() {
        for (classes, dimensions) in [(40, 6), (40, 7), (9, 7), (300, 33)] {
            let features = drawn(4 * classes, dimensions);
            let labels = Labels::new((0..4 * classes).map(|row| format!("{}", row % classes))).unwrap();
            let probe = Probe::fit_at(&Metric::Euclidean, &features, &labels, 1e-3).unwrap();
            let reduced = probe.reduced();
            assert_eq!(reduced.classes(), dimensions + 1);
            let (before, after) = (probe.logits(&features).unwrap(), reduced.logits(&features).unwrap());
            let pairs = cosines(&before, classes).into_iter().zip(cosines(&after, dimensions + 1));
            let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-5, "{classes} classes, {dimensions} dimensions: {worst}");
        }
    }

    #[test]
    fn columns_without_a_weight_and_few_classes_do_no_harm() {
        // The second column is constant, so that no class has a weight for it.
        let values: Vec<f32> = (0..60).flat_map(|row| [(row % 10) as f32, 1.0]).collect();
        let features = Features::new(values, 2).unwrap();
        let labels = Labels::new((0..60).map(|row| format!("{}", row % 10))).unwrap();
        let probe = Probe::fit_at(&Metric::Euclidean, &features, &labels, 1e-3).unwrap();
        let reduced = probe.reduced();
        let (before, after) = (probe.logits(&features).unwrap(), reduced.logits(&features).unwrap());
        let pairs = cosines(&before, 10).into_iter().zip(cosines(&after, 3));
        assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-5);
        let few = Labels::new((0..60).map(|row| format!("{}", row % 2))).unwrap();
        let probe = Probe::fit_at(&Metric::Euclidean, &features, &few, 1e-3).unwrap();
        assert_eq!(probe.reduced(), probe);
    }
}
