//! How often a sample joins the group that a look at all exemplars finds:
//! `cargo run --release -p evmachine --example recall -- 100000 384 0.1`.
//!
//! Samples come in clumps of three on average around centres in a cube of edge 1, and lie up to half of the spread from their centre in each
//! dimension. 1,000 more are asked about when the others are grouped.

use std::error::Error;
use std::time::Instant;

use evmachine::{Evm, Features, Grouping, Labels, Membership, Params, Run};

struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / 16_777_216.0
    }

    fn centres(&mut self, count: usize, d: usize) -> Vec<f32> {
        (0..count * d).map(|_| self.next()).collect()
    }

    /// Samples around centres, and the centre of each.
    fn samples(&mut self, rows: usize, centres: &[f32], d: usize, spread: f32) -> (Vec<f32>, Vec<usize>) {
        let count = centres.len() / d;
        let mut values = Vec::with_capacity(rows * d);
        let mut chosen = Vec::with_capacity(rows);
        for _ in 0..rows {
            let centre = ((self.next() * count as f32) as usize).min(count - 1);
            let around = &centres[centre * d..(centre + 1) * d];
            values.extend(around.iter().map(|value| value + spread * (self.next() - 0.5)));
            chosen.push(centre);
        }
        (values, chosen)
    }
}

/// The exemplars of groups, with the radius of each; the number of a group is its place.
#[derive(Default)]
struct Exemplars {
    values: Vec<f32>,
    radii: Vec<f32>,
}

impl Exemplars {
    fn take(&mut self, samples: &Features<'_>, memberships: &[Membership]) {
        let mut founded: Vec<(u64, usize, f32)> = memberships
            .iter()
            .enumerate()
            .filter_map(|(row, member)| Some((member.group, row, member.founded?)))
            .collect();
        founded.sort_unstable_by_key(|(group, _, _)| *group);
        for (group, row, radius) in founded {
            assert_eq!(group as usize, self.radii.len(), "groups are numbered as they are founded");
            self.values.extend_from_slice(samples.row(row));
            self.radii.push(radius);
        }
    }

    /// The group of the nearest exemplar within whose radius a sample lies.
    fn nearest(&self, row: &[f32]) -> Option<u64> {
        let exemplars = self.values.chunks_exact(row.len()).zip(&self.radii).zip(0..);
        let within = exemplars.filter_map(|((exemplar, radius), group)| {
            // Eight sums side by side, so that they are vectors.
            let mut sums = [0f32; 8];
            for (a, b) in row.chunks(8).zip(exemplar.chunks(8)) {
                for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                    *sum += (a - b) * (a - b);
                }
            }
            let distance = sums.iter().sum::<f32>().sqrt();
            (distance <= *radius).then_some((distance, group))
        });
        within.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, group)| group)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<f32> =
        std::env::args().skip(1).map(|argument| argument.parse()).collect::<Result<_, _>>()?;
    let number = |at: usize, or: f32| numbers.get(at).copied().unwrap_or(or);
    let (rows, d, spread) = (number(0, 1e5) as usize, number(1, 384.0) as usize, number(2, 0.1));
    let asked = 1_000;
    let mut random = Random(3);
    let (known, unknown) = (random.centres(50, d), random.centres((rows / 3).max(1), d));
    let (values, classes) = random.samples(2_000, &known, d, spread);
    let labels = Labels::new(classes.iter().map(usize::to_string))?;
    let (evm, _) = Evm::fit(&Params::paper(), &Features::new(values, d)?, &labels)?;
    let run = Run::new();
    let mut grouping = Grouping::new_with(&run, &evm, 0)?;
    let mut exemplars = Exemplars::default();
    for first in (0..rows).step_by(10_000) {
        let (values, _) = random.samples((rows - first).min(10_000), &unknown, d, spread);
        let samples = Features::new(values, d)?;
        exemplars.take(&samples, &grouping.add_with(&run, &evm, &samples)?);
    }
    let (values, _) = random.samples(asked, &unknown, d, spread);
    let samples = Features::new(values, d)?;
    let clock = Instant::now();
    let memberships = grouping.add_with(&run, &evm, &samples)?;
    let time = clock.elapsed();
    let (mut there, mut same) = (0, 0);
    for (row, member) in memberships.iter().enumerate() {
        if let Some(group) = exemplars.nearest(samples.row(row)) {
            there += 1;
            same += usize::from(member.founded.is_none() && member.group == group);
        }
    }
    println!(
        "{} groups of {rows} samples of {d} dimensions; {asked} more in {time:.0?}: {there} lie within a group, {same} of them join the nearest",
        exemplars.radii.len()
    );
    Ok(())
}
