//! Principal components: the plane in which data of many dimensions is drawn.

use evmachine::Features;

/// Enough for a picture; the two leading components of real features are there after a few.
const ITERATIONS: usize = 40;

/// The mean of some data, and its two directions of largest variance.
#[derive(Debug, Clone)]
pub struct Plane {
    mean: Vec<f64>,
    axes: [Vec<f64>; 2],
}

impl Plane {
    /// By orthogonal iteration; `ITERATIONS` passes over the data. The sign of each axis is that of its largest
    /// entry.
    pub fn new(features: &Features<'_>) -> Self {
        let d = features.columns();
        let rows = features.rows().max(1) as f64;
        let mut mean = vec![0.0; d];
        for row in 0..features.rows() {
            for (mean, &value) in mean.iter_mut().zip(features.row(row)) {
                *mean += f64::from(value) / rows;
            }
        }
        // Any start that is not orthogonal to both components will do.
        let mut axes = [0usize, 1].map(|axis| {
            let start = |i: usize| if i % 2 == axis { 1.0 } else { 0.1 } + 1.0 / (1.0 + i as f64);
            (0..d).map(start).collect::<Vec<f64>>()
        });
        for _ in 0..ITERATIONS {
            orthonormalise(&mut axes);
            let mut next = [vec![0.0; d], vec![0.0; d]];
            for row in 0..features.rows() {
                let values = features.row(row);
                for (axis, next) in axes.iter().zip(&mut next) {
                    let score = project(values, &mean, axis);
                    for ((next, &value), &mean) in next.iter_mut().zip(values).zip(&mean) {
                        *next += score * (f64::from(value) - mean);
                    }
                }
            }
            axes = next;
        }
        orthonormalise(&mut axes);
        Self { mean, axes }
    }

    /// The coordinates of a row.
    pub fn project(&self, row: &[f32]) -> [f64; 2] {
        [project(row, &self.mean, &self.axes[0]), project(row, &self.mean, &self.axes[1])]
    }
}

fn project(row: &[f32], mean: &[f64], axis: &[f64]) -> f64 {
    row.iter().zip(mean).zip(axis).map(|((&value, &mean), &axis)| (f64::from(value) - mean) * axis).sum()
}

fn orthonormalise([first, second]: &mut [Vec<f64>; 2]) {
    normalise(first);
    let overlap: f64 = first.iter().zip(&*second).map(|(a, b)| a * b).sum();
    for (second, first) in second.iter_mut().zip(&*first) {
        *second -= overlap * first;
    }
    normalise(second);
}

fn normalise(axis: &mut [f64]) {
    let norm = axis.iter().map(|value| value * value).sum::<f64>().sqrt();
    let largest =
        axis.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).expect("features have a column");
    if norm > 0.0 {
        for value in axis {
            *value /= norm * largest.signum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axes_are_those_of_largest_variance() {
        // Long along (1, 1, 0), shorter along (0, 0, 1), flat across.
        let mut values = Vec::new();
        for i in 0..100 {
            let (long, short) = (i as f32 - 50.0, ((i * 37) % 100) as f32 / 10.0);
            values.extend([long, long, short]);
        }
        let features = Features::new(values, 3).unwrap();
        let plane = Plane::new(&features);
        let half = 0.5f64.sqrt();
        assert!((plane.axes[0][0] - half).abs() < 1e-2 && (plane.axes[0][1] - half).abs() < 1e-2);
        assert!((plane.axes[1][2] - 1.0).abs() < 1e-2, "{:?}", plane.axes);
    }

    #[test]
    fn one_dimension_has_a_flat_second_axis() {
        let plane = Plane::new(&Features::new(vec![1.0, 2.0, 3.0], 1).unwrap());
        assert_eq!(plane.project(&[3.0])[0], 1.0);
    }
}
