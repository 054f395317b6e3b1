//! How long a large pool takes to add a thousand samples and to give the next group.
//!
//! ```text
//! cargo run --release -p evmachine-openworld --example pool_speed -- 1000000 16
//! ```
//!
//! Samples come in clumps of three on average, so that there are a third as many groups as samples. Prints the times of ten additions of
//! 1,000 samples each to the pool, groups and disk included, of what of it is grouping alone, and of the next group.

#![allow(clippy::unwrap_used, reason = "an example ends where something unexpected happens")]

use std::time::Instant;

use evmachine::{Evm, Features, Grouping, Labels, Params, Run};
use evmachine_openworld::{Pool, Which};

struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / 16_777_216.0
    }

    fn samples(&mut self, rows: usize, centres: &Features<'_>) -> Features<'static> {
        let mut values = Vec::with_capacity(rows * centres.columns());
        for _ in 0..rows {
            let centre = centres.row((self.next() * centres.rows() as f32) as usize);
            values.extend(centre.iter().map(|value| value + 0.1 * (self.next() - 0.5)));
        }
        Features::new(values, centres.columns()).unwrap()
    }
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|argument| argument.parse().unwrap()).collect();
    let (rows, dimensions) =
        (numbers.first().copied().unwrap_or(100_000), numbers.get(1).copied().unwrap_or(16));
    let mut random = Random(3);
    let mut centres = |count: usize| {
        let values: Vec<f32> = (0..count * dimensions).map(|_| random.next()).collect();
        Features::new(values, dimensions).unwrap()
    };
    let (known, unknown) = (centres(50), centres((rows / 3).max(1)));
    let train = random.samples(5_000, &known);
    let labels = Labels::new((0..5_000).map(|row| nearest(train.row(row), &known).to_string())).unwrap();
    let (evm, _) = Evm::fit(&Params::paper(), &train, &labels).unwrap();
    let run = Run::new();
    let folder = std::env::temp_dir().join(format!("evmachine-pool-speed-{}", std::process::id()));
    let mut pool = Pool::create(&folder, &evm).unwrap();
    let mut grouping = Grouping::new_with(&run, &evm, 0).unwrap();
    let start = Instant::now();
    for first in (0..rows).step_by(20_000) {
        let samples = random.samples((rows - first).min(20_000), &unknown);
        pool.add(&run, &samples, &[], Which::All).unwrap();
        grouping.add_with(&run, &evm, &samples).unwrap();
    }
    println!("{rows} samples of {dimensions} dimensions in {:.1?}", start.elapsed());
    let (mut whole, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..10 {
        let samples = random.samples(1_000, &unknown);
        let start = Instant::now();
        pool.add(&run, &samples, &[], Which::All).unwrap();
        whole.push(start.elapsed());
        let start = Instant::now();
        grouping.add_with(&run, &evm, &samples).unwrap();
        alone.push(start.elapsed());
    }
    whole.sort_unstable();
    alone.sort_unstable();
    println!("{} open groups", grouping.len());
    println!("1,000 more: {:.0?} (median of 10, slowest {:.0?})", whole[5], whole[9]);
    println!("grouping alone: {:.0?} (slowest {:.0?})", alone[5], alone[9]);
    for name in ["first", "second"] {
        let start = Instant::now();
        let group = pool.next_groups(&run, 1, true).unwrap().remove(0);
        println!("{name} group, of {} samples: {:.0?}", group.members.len(), start.elapsed());
    }
    let start = Instant::now();
    let mut again = Pool::open(&folder).unwrap();
    let group = again.next_groups(&run, 1, true).unwrap().remove(0);
    println!("opened again, a group of {}: {:.0?}", group.members.len(), start.elapsed());
    let start = Instant::now();
    again.add(&run, &random.samples(1_000, &unknown), &[], Which::All).unwrap();
    println!("opened again, the first 1,000: {:.1?}", start.elapsed());
    std::fs::remove_dir_all(folder).unwrap();
}

fn nearest(row: &[f32], centres: &Features<'_>) -> usize {
    let distance = |centre: &[f32]| row.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
    let order = |a: &usize, b: &usize| distance(centres.row(*a)).total_cmp(&distance(centres.row(*b)));
    (0..centres.rows()).min_by(order).unwrap()
}
