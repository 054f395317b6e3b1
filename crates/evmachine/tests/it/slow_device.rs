//! A device that does everything the slow way, in `f64`: what the road around a device is tested with.

use std::sync::{Mutex, Weak};

use evmachine::device::{
    CoverClass, CoverWork, Deliver, DeliverMoved, Device, DeviceError, Loss, LossWork, ScatterWork,
    SmoothingWork, SupportModel, SupportWork, Supports, TailWork, Tails, TransformWork, Vectors, WorkKind,
};
use evmachine::{Metric, PsiModel, TailModel};

/// Does everything the slow way, in `f64`.
#[derive(Default)]
pub(super) struct Slow {
    /// What it was asked for.
    pub(super) asked: Mutex<Vec<&'static str>>,
    /// The models of which it was asked.
    pub(super) models: Mutex<Vec<Weak<SupportModel>>>,
}

impl Slow {
    fn note(&self, what: &'static str) {
        self.asked.lock().unwrap().push(what);
    }
}

fn distance(metric: &Metric, a: &[f32], b: &[f32]) -> f32 {
    let pairs = || a.iter().zip(b).map(|(&a, &b)| (f64::from(a), f64::from(b)));
    let squared = || pairs().map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    match metric {
        Metric::Cosine => (squared() / 2.0) as f32,
        Metric::Manhattan => pairs().map(|(a, b)| (a - b).abs()).sum::<f64>() as f32,
        _ => squared().sqrt() as f32,
    }
}

impl Device for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn does(&self, _: WorkKind) -> bool {
        true
    }

    fn takes(&self, _: u64) -> bool {
        true
    }

    fn tails(&self, work: &TailWork<'_>) -> Result<Tails, DeviceError> {
        if work.among_themselves {
            self.note("among themselves");
        }
        if !work.columns.is_empty() {
            self.note("against others");
        }
        let d = work.dimensions;
        let own = [work.rows];
        let own: &[Vectors<'_>] = if work.among_themselves { &own } else { &[] };
        let columns: Vec<(Vec<f32>, &[u32])> =
            own.iter().chain(work.columns).map(|part| (part.values.to_vec(d), part.classes)).collect();
        let values = work.rows.values.to_vec(d);
        let mut found = Tails::default();
        for (row, &class) in work.rows.classes.iter().enumerate() {
            let vector = &values[row * d..(row + 1) * d];
            let mut tail: Vec<f32> = columns
                .iter()
                .flat_map(|(values, classes)| values.chunks_exact(d).zip(*classes))
                .filter(|(_, other)| **other != class)
                .map(|(other, _)| distance(work.metric, vector, other))
                .filter(|distance| work.bounds.is_none_or(|bounds| *distance <= bounds[row]))
                .collect();
            tail.sort_unstable_by(f32::total_cmp);
            tail.truncate(work.sizes[class as usize]);
            if let Some(rule) = work.fit {
                let margins: Vec<f64> =
                    tail.iter().map(|&distance| rule.multiplier * f64::from(distance)).collect();
                found.psi.push(PsiModel::fit(rule.model, &margins).ok());
            }
            found.counts.push(tail.len() as u32);
            found.largest.push(tail.last().copied().unwrap_or(f32::INFINITY));
            if work.keep {
                found.values.extend(tail);
            }
        }
        if (work.watch)(work.rows.classes.len()).is_break() { Err(DeviceError::Stopped) } else { Ok(found) }
    }

    fn covers(&self, work: &CoverWork<'_>) -> Result<Vec<Vec<(u32, u32)>>, DeviceError> {
        self.note("covers");
        let d = work.dimensions;
        let cover = |class: &CoverClass<'_>| {
            let count = class.radii.len();
            let points = class.points.to_vec(d);
            let targets = class.targets.map_or(points.clone(), |targets| targets.to_vec(d));
            let covers = |i: usize, j: usize| {
                let apart = distance(work.metric, &points[i * d..][..d], &targets[j * d..][..d]);
                i == j
                    || apart <= class.radii[i] && class.limits.as_ref().is_none_or(|limits| apart < limits[j])
            };
            let mut open = vec![true; count];
            let mut chosen = Vec::new();
            while open.contains(&true) {
                let gain = |i: &usize| (0..count).filter(|&j| open[j] && covers(*i, j)).count();
                let best = (0..count).max_by_key(|i| (gain(i), std::cmp::Reverse(*i))).unwrap();
                chosen.push((best as u32, gain(&best) as u32));
                (0..count).filter(|&j| covers(best, j)).for_each(|j| open[j] = false);
            }
            chosen
        };
        Ok(work.classes.iter().map(cover).collect())
    }

    fn supports(&self, work: &SupportWork<'_>, deliver: &mut Deliver<'_>) -> Result<(), DeviceError> {
        self.note(if work.fused.is_some() { "supports of classes" } else { "best support" });
        self.models.lock().unwrap().push(std::sync::Arc::downgrade(work.model));
        let d = work.dimensions;
        let vectors = work.model.vectors.to_vec(d);
        for query in work.queries.to_vec(d).chunks_exact(d) {
            let distances: Vec<f32> =
                vectors.chunks_exact(d).map(|vector| distance(work.metric, query, vector)).collect();
            let support = |at: usize| {
                let (curve, distance) = (&work.model.curves[at], f64::from(distances[at]));
                match work.model.tail_model {
                    TailModel::Weibull => -curve.shape * (distance * curve.inverse_scale).ln(),
                    TailModel::Libmr => {
                        curve.shape * ((curve.end - distance).max(0.0) * curve.inverse_scale).ln()
                    }
                    TailModel::Gumbel => curve.shape * (1.0 - distance * curve.inverse_scale),
                }
            };
            let nearest = vec![distances.iter().copied().fold(f32::INFINITY, f32::min)];
            let found = match work.fused {
                None => {
                    let all = 0..distances.len();
                    let place = all.rev().max_by(|a, b| support(*a).total_cmp(&support(*b))).unwrap();
                    Supports { values: vec![support(place)], places: vec![place as u32], nearest }
                }
                Some(fused) => {
                    let mut values = Vec::new();
                    for class in &work.model.classes {
                        let mut own: Vec<f64> = class.clone().map(support).collect();
                        own.sort_unstable_by(|a, b| b.total_cmp(a));
                        own.resize(own.len().max(fused), f64::NEG_INFINITY);
                        values.extend_from_slice(&own[..fused]);
                    }
                    Supports { values, places: Vec::new(), nearest }
                }
            };
            deliver(&found)?;
        }
        Ok(())
    }

    fn scatter(&self, work: &ScatterWork<'_>) -> Result<Vec<f64>, DeviceError> {
        self.note("scatter");
        let d = work.dimensions;
        let mut sums = vec![0.0; d * d];
        for (vector, &class) in work.vectors.values.to_vec(d).chunks_exact(d).zip(work.vectors.classes) {
            let mean = &work.means[class as usize * d..][..d];
            let apart: Vec<f64> = vector.iter().zip(mean).map(|(&x, m)| f64::from(x) - m).collect();
            for (i, sums) in sums.chunks_exact_mut(d).enumerate() {
                sums.iter_mut().zip(&apart).for_each(|(sum, other)| *sum += apart[i] * other);
            }
        }
        let done = (work.watch)(work.vectors.values.count());
        if done.is_break() { Err(DeviceError::Stopped) } else { Ok(sums) }
    }

    fn transform(&self, work: &TransformWork<'_>, out: &mut [f32]) -> Result<(), DeviceError> {
        self.note("transform");
        let d = work.dimensions;
        for (vector, out) in work.vectors.to_vec(d).chunks_exact(d).zip(out.chunks_exact_mut(d)) {
            let mut product = vec![0.0; d];
            for (column, &x) in work.matrix.chunks(work.stride).zip(vector) {
                product.iter_mut().zip(column).for_each(|(sum, w)| *sum += w * f64::from(x));
            }
            out.iter_mut().zip(product).for_each(|(out, value)| *out = value as f32);
        }
        Ok(())
    }

    fn smooth(&self, work: &SmoothingWork<'_>, deliver: &mut DeliverMoved<'_>) -> Result<(), DeviceError> {
        self.note("smooth");
        let d = work.dimensions;
        for class in work.classes {
            let points = class.points.to_vec(d);
            let row = |index: usize| &points[index * d..][..d];
            let mut moved = Vec::new();
            for itself in class.staying..class.points.count() {
                let mut others: Vec<usize> = (0..class.points.count()).filter(|&i| i != itself).collect();
                others.sort_by(|&a, &b| {
                    distance(work.metric, row(itself), row(a)).total_cmp(&distance(
                        work.metric,
                        row(itself),
                        row(b),
                    ))
                });
                others.truncate(work.neighbors - 1);
                others.push(itself);
                others.sort_unstable();
                let weight = work.fraction / others.len() as f64;
                moved.extend((0..d).map(|k| {
                    let sum: f64 = others.iter().map(|&other| f64::from(row(other)[k])).sum();
                    ((1.0 - work.fraction) * f64::from(row(itself)[k]) + weight * sum) as f32
                }));
            }
            deliver(&moved)?;
            if (work.watch)(moved.len() / d).is_break() {
                return Err(DeviceError::Stopped);
            }
        }
        Ok(())
    }

    fn loss<'a>(&'a self, work: &LossWork<'_>) -> Result<Box<dyn Loss + 'a>, DeviceError> {
        self.note("loss");
        Ok(Box::new(SlowLoss {
            rows: work.rows.to_vec(work.dimensions),
            classes: work.classes.to_vec(),
            shares: work.shares.to_vec(),
            dimensions: work.dimensions,
            class_count: work.class_count,
            width: work.width,
        }))
    }
}

/// Cross-entropy, row after row.
struct SlowLoss {
    rows: Vec<f32>,
    classes: Vec<u32>,
    shares: Vec<f64>,
    dimensions: usize,
    class_count: usize,
    width: usize,
}

impl Loss for SlowLoss {
    fn evaluate(&self, coefficients: &[f64], slopes: &mut [f64]) -> Result<f64, DeviceError> {
        let (d, width) = (self.dimensions, self.width);
        assert_eq!((coefficients.len(), slopes.len()), ((1 + d) * width, (1 + d) * width));
        slopes.fill(0.0);
        let mut loss = 0.0;
        for ((row, &class), &share) in self.rows.chunks_exact(d).zip(&self.classes).zip(&self.shares) {
            let values: Vec<f64> = std::iter::once(1.0).chain(row.iter().map(|&x| f64::from(x))).collect();
            let logit = |c: usize| -> f64 {
                values.iter().zip(coefficients[c..].iter().step_by(width)).map(|(x, w)| x * w).sum()
            };
            let logits: Vec<f64> = (0..self.class_count).map(logit).collect();
            let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = logits.iter().map(|z| (z - most).exp()).sum();
            loss += share * (total.ln() + most - logits[class as usize]);
            for (c, z) in logits.iter().enumerate() {
                let own = if c == class as usize { 1.0 } else { 0.0 };
                let residual = share * ((z - most).exp() / total - own);
                slopes[c..].iter_mut().step_by(width).zip(&values).for_each(|(s, x)| *s += residual * x);
            }
        }
        Ok(loss)
    }
}
