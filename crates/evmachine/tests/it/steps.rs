//! Tails that are found in parts, in any order: the model is the one that a single process makes.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use evmachine::device::{self, Device, DeviceError, NO_CLASS, TailWork, Tails, WorkKind};
use evmachine::steps::{self, Found, Plain, StepError, Task, Vectors};
use evmachine::{Evm, Features, Labels, Metric, Params, PsiModel, Run, TailMemory, TailSize};
use proptest::prelude::*;

use crate::common::Random;

/// Blocks that meet as if each were in a process of its own.
struct Workers {
    blocks: usize,
    seed: u64,
    meetings: AtomicUsize,
    short: AtomicUsize,
}

impl Workers {
    fn new(blocks: usize, seed: u64) -> Self {
        Self { blocks, seed, meetings: AtomicUsize::default(), short: AtomicUsize::default() }
    }

    fn found(&self, work: &TailWork<'_>) -> Result<(Found, Vec<Option<PsiModel>>), StepError> {
        let task = Task::from_bytes(&Task::new(work).to_bytes())?;
        let run = Run::new();
        let part = |vectors: device::Vectors<'_>, rows: Range<usize>| {
            let mut values = vec![0.0; rows.len() * work.dimensions];
            vectors.values.write(rows.start, &mut values);
            (values, vectors.classes[rows].to_vec())
        };
        let cut = |vectors: device::Vectors<'_>| -> Vec<(Vec<f32>, Vec<u32>)> {
            let blocks = steps::blocks(vectors.classes.len(), self.blocks);
            blocks.into_iter().map(|rows| part(vectors, rows)).collect()
        };
        let rows = cut(work.rows);
        let given: Vec<Option<Vec<f32>>> = match work.bounds {
            Some(bounds) => steps::blocks(bounds.len(), self.blocks)
                .into_iter()
                .map(|rows| Some(bounds[rows].to_vec()))
                .collect(),
            None => rows
                .iter()
                .map(|(values, classes)| task.bounds(Vectors { values, classes }).map(Some))
                .collect::<Result<_, _>>()?,
        };
        // All other steps do without it.
        let task = Task::from_bytes(&task.without_sample().to_bytes())?;
        let block = |at: usize| {
            let (values, classes) = &rows[at];
            (Vectors { values, classes }, given[at].as_deref())
        };
        let others: Vec<(Vec<f32>, Vec<u32>)> = work.columns.iter().flat_map(|part| cut(*part)).collect();
        let mut columns = others.clone();
        let mut parts: Vec<Vec<Found>> = vec![Vec::new(); rows.len()];
        let all = (0..rows.len()).flat_map(|a| (0..others.len()).map(move |b| (a, b, true)));
        let mut pairs: Vec<(usize, usize, bool)> = all.collect();
        if work.among_themselves {
            pairs.extend((0..rows.len()).flat_map(|a| (a..rows.len()).map(move |b| (a, b, false))));
            columns.extend(rows.iter().cloned());
        }
        let mut random = Random(self.seed);
        pairs.sort_by_cached_key(|_| random.next().to_bits());
        for (a, b, other) in pairs {
            self.meetings.fetch_add(1, Ordering::Relaxed);
            if other {
                let (values, classes) = &others[b];
                parts[a].push(task.gather(&run, block(a), Vectors { values, classes })?);
                continue;
            }
            let (first, second) = task.meet(&run, block(a), (a != b).then(|| block(b)))?;
            parts[a].push(first);
            parts[b].extend(second);
        }
        let mut all: Found = Found::default();
        for ((values, classes), parts) in rows.iter().zip(&parts) {
            // In two goes, as a tree of merges would.
            let half = parts.len() / 2;
            let first = task.merge(classes, &parts[..half].iter().collect::<Vec<_>>())?;
            let rest: Vec<&Found> = parts[half..].iter().chain([&first]).collect();
            let mut found = task.merge(classes, &rest)?;
            let short = if work.bounds.is_some() { Vec::new() } else { task.short(classes, &found)? };
            self.short.fetch_add(short.len(), Ordering::Relaxed);
            if !short.is_empty() {
                let d = work.dimensions;
                let some: Vec<f32> =
                    short.iter().flat_map(|&row| values[row * d..(row + 1) * d].to_vec()).collect();
                let some_classes: Vec<u32> = short.iter().map(|&row| classes[row]).collect();
                let rows = Vectors { values: &some, classes: &some_classes };
                let again: Vec<Found> = columns
                    .iter()
                    .map(|(values, classes)| task.gather(&run, (rows, None), Vectors { values, classes }))
                    .collect::<Result<_, _>>()?;
                let whole = task.merge(&some_classes, &again.iter().collect::<Vec<_>>())?;
                let mut tails: Vec<Vec<f32>> = found.rows().map(<[f32]>::to_vec).collect();
                for (&row, tail) in short.iter().zip(whole.rows()) {
                    tails[row] = tail.to_vec();
                }
                found = Found {
                    counts: tails.iter().map(|tail| tail.len() as u32).collect(),
                    values: tails.concat(),
                };
            }
            all.counts.extend(found.counts);
            all.values.extend(found.values);
        }
        let psi = if work.fit.is_some() { task.fit(&all)? } else { Vec::new() };
        Ok((all, psi))
    }
}

impl Device for Workers {
    fn name(&self) -> &'static str {
        "workers"
    }

    fn does(&self, kind: WorkKind) -> bool {
        kind == WorkKind::Tails
    }

    fn takes(&self, _: u64) -> bool {
        true
    }

    fn tails(&self, work: &TailWork<'_>) -> Result<Tails, DeviceError> {
        let failed = |error: StepError| DeviceError::Failed {
            device: "workers".to_owned(),
            reason: error.to_string(),
        };
        let (found, psi) = self.found(work).map_err(failed)?;
        let largest = found.rows().map(|tail| tail.last().copied().unwrap_or(f32::INFINITY)).collect();
        let values = if work.keep { found.values } else { Vec::new() };
        Ok(Tails { psi, counts: found.counts, largest, values })
    }
}

/// Clumps that overlap, with equal distances among them where they lie on a grid.
fn drawn(
    rows: usize,
    dimensions: usize,
    classes: usize,
    grid: bool,
    seed: u64,
) -> (Features<'static>, Labels) {
    let mut random = Random(seed);
    let centres: Vec<f32> = (0..classes * dimensions).map(|_| 1.0 + 4.0 * random.next()).collect();
    let class = |row: usize| row * 7 % classes;
    let values = (0..rows).flat_map(|row| {
        let centre = &centres[class(row) * dimensions..(class(row) + 1) * dimensions];
        let around: Vec<f32> = centre.iter().map(|value| value + random.next()).collect();
        around.into_iter().map(|value| if grid { (2.0 * value).round() } else { value }).collect::<Vec<_>>()
    });
    let features = Features::new(values.collect::<Vec<f32>>(), dimensions).unwrap();
    (features, Labels::new((0..rows).map(|row| class(row).to_string())).unwrap())
}

fn metrics() -> impl Strategy<Value = Metric> {
    prop::sample::select(vec![Metric::Euclidean, Metric::Cosine, Metric::Manhattan])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn whoever_finds_the_tails_the_model_is_the_same(
        metric in metrics(),
        dimensions in prop::sample::select(vec![2usize, 7, 33, 70]),
        rows in 40usize..900,
        blocks in 1usize..9,
        tail in prop_oneof![1usize..30, 100usize..2_000],
        grid in any::<bool>(),
        whole in any::<bool>(),
        robust in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let (features, labels) = drawn(rows, dimensions, 5, grid, seed);
        let base = if robust { Params::robust() } else { Params::paper() };
        let tail_memory = if whole { TailMemory::Full } else { TailMemory::Max };
        let whitening = if metric == Metric::Manhattan { 0.0 } else { base.whitening };
        let params = Params { metric, tail_size: TailSize::Count(tail), tail_memory, whitening, ..base };
        let here = Evm::fit(&params, &features, &labels).unwrap().0;
        let workers = Workers::new(blocks, seed);
        let there = Evm::fit_with(&Run::new().device(&workers), &params, &features, &labels).unwrap().0;
        prop_assert!(workers.meetings.load(Ordering::Relaxed) >= blocks * (blocks + 1) / 2);
        prop_assert_eq!(here.to_bytes().unwrap(), there.to_bytes().unwrap());
    }

    #[test]
    fn strangers_and_updates_are_found_in_parts_too(
        metric in metrics(),
        rows in 60usize..300,
        blocks in 1usize..6,
        seed in any::<u64>(),
    ) {
        let (features, labels) = drawn(rows, 6, 4, false, seed);
        let (ignored, _) = drawn(20, 6, 2, false, seed ^ 1);
        let (more, _) = drawn(50, 6, 3, false, seed ^ 2);
        let names = Labels::new((0..50).map(|row| format!("new {}", row % 3))).unwrap();
        let params = Params { metric, tail_size: TailSize::Count(25), ..Params::paper() };
        let workers = Workers::new(blocks, seed);
        let model = |run: &Run<'_>| {
            let (mut model, _) = Evm::fit_ignoring_with(run, &params, &features, &labels, &ignored).unwrap();
            model.update_with(run, &more, &names).unwrap();
            model.to_bytes().unwrap()
        };
        prop_assert_eq!(model(&Run::new()), model(&Run::new().device(&workers)));
    }
}

#[test]
fn bounds_that_prove_too_low_are_found_out() {
    // Beside the first class lie 25 points of the second that are all in the sample, which promises a hundred of them.
    let (rows, d) = (3_000, 3);
    let mut random = Random(3);
    let labels = Labels::new((0..rows).map(|row| (row * 6 / rows).to_string())).unwrap();
    let sampled: Vec<usize> = (0..768).map(|position| position * rows / 768).collect();
    let near: Vec<usize> = sampled.into_iter().filter(|row| (500..1_000).contains(row)).take(25).collect();
    let values: Vec<f32> = (0..rows)
        .flat_map(|row| {
            let place = if row < 500 || near.contains(&row) { 0.0 } else { 100.0 };
            [place + random.next(), place + random.next(), place + random.next()]
        })
        .collect();
    let features = Features::new(values, d).unwrap();
    let params = Params { tail_size: TailSize::Count(40), ..Params::paper() };
    let workers = Workers::new(5, 9);
    let there = Evm::fit_with(&Run::new().device(&workers), &params, &features, &labels).unwrap().0;
    assert!(workers.short.load(Ordering::Relaxed) > 100, "{:?}", workers.short);
    assert_eq!(Evm::fit(&params, &features, &labels).unwrap().0, there);
}

#[test]
fn what_a_step_cannot_work_with_is_named() {
    let (values, classes) = ([0.0, 1.0, 4.0, 5.0], [0, 0, 1, 1]);
    let work = TailWork {
        metric: &Metric::Euclidean,
        dimensions: 1,
        rows: device::Vectors { values: &Plain { values: &values, dimensions: 1 }, classes: &classes },
        among_themselves: true,
        columns: &[],
        sizes: &[2, 2],
        bounds: None,
        fit: None,
        keep: true,
        watch: &|_| std::ops::ControlFlow::Continue(()),
    };
    let task = Task::new(&work);
    let (run, rows) = (Run::new(), Vectors { values: &values, classes: &classes });
    let bytes = task.to_bytes();
    assert_eq!(Task::from_bytes(&bytes), Ok(task.clone()));
    for length in 0..bytes.len() {
        assert_eq!(Task::from_bytes(&bytes[..length]), Err(StepError::Damaged), "{length} bytes");
    }
    let other = String::from_utf8_lossy(&bytes[8..]).replace("\"version\":1", "\"version\":2");
    let other = [&bytes[..8], other.as_bytes()].concat();
    assert_eq!(Task::from_bytes(&other), Err(StepError::Version { found: 2, expected: 1 }));

    let block = |values, classes| (Vectors { values, classes }, None);
    let meet = |values, classes| task.meet(&run, block(values, classes), None).unwrap_err();
    assert_eq!(meet(&[0.0], &[0, 1]), StepError::Shape { values: 1, rows: 2, dimensions: 1 });
    assert_eq!(meet(&[0.0, 1.0], &[0, 2]), StepError::Class { row: 1, class: 2 });
    assert_eq!(meet(&[0.0, 1.0], &[0, NO_CLASS]), StepError::Class { row: 1, class: NO_CLASS });
    assert_eq!(meet(&[0.0, 1.0], &[1, 0]), StepError::Order { row: 1 });
    let bounded = task.meet(&run, (rows, Some(&[1.0])), None).unwrap_err();
    assert_eq!(bounded, StepError::Bounds { rows: 4, bounds: 1 });
    let found = Found { counts: vec![1, 1], values: vec![0.5] };
    let error = StepError::Found { rows: 4, counts: 2, values: 1 };
    assert_eq!(task.merge(&classes, &[&found]), Err(error.clone()));
    assert_eq!(task.short(&classes, &found), Err(error));
    for value in [-0.0, -1.0, f32::NAN] {
        let found = Found { counts: &[1, 0, 1, 0][..], values: &[0.5, value][..] };
        let error = task.merge(&classes, &[&found]).unwrap_err();
        assert!(matches!(error, StepError::Distance { at: 1, .. }), "{error}");
    }
    let whole = task.meet(&run, (rows, None), None).unwrap().0;
    assert_eq!(task.fit(&whole), Err(StepError::NothingToFit));
    let stranger = Vectors { values: &[2.0], classes: &[NO_CLASS] };
    assert_eq!(task.gather(&run, (rows, None), stranger).unwrap().values, [2.0, 1.0, 2.0, 3.0]);
    assert_eq!(task.gather(&run, (rows, Some(&[1.0; 4])), stranger).unwrap().values, [1.0]);
}

#[test]
fn blocks_hold_every_row_once() {
    for (rows, wanted) in [(0, 4), (1, 4), (10, 3), (10, 10), (10, 50), (7, 0)] {
        let blocks = steps::blocks(rows, wanted);
        assert!(blocks.len() <= wanted.max(1));
        assert_eq!(blocks.into_iter().flatten().collect::<Vec<_>>(), (0..rows).collect::<Vec<_>>());
    }
}
