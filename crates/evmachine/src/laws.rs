//! The guarantees on every executor and every level of vector instructions, at sizes where an executor is really taken.
//!
//! Tails are checked against all distances of a row, sorted; models against the one that a single thread streams.

use fearless_simd::Level;

use crate::{Evm, Features, Labels, Metric, Params, Report, Run, Stage, TailSize};
use evmachine_engine::distance::{self, Tile};
use evmachine_engine::level::{self, forced};
use evmachine_engine::plan::{Bounds, Executor};
use evmachine_engine::points::Points;
use evmachine_engine::scratch::ScratchFolder;
use evmachine_engine::tail::{Against, Problem, Rows};

/// No whole number of groups, panels or blocks; enough for samples.
const ROWS: usize = 2_503;

const PLANS: [(Executor, Bounds); 7] = [
    (Executor::Stream, Bounds::Open),
    (Executor::Stream, Bounds::Sampled(208)),
    (Executor::Tournament { keep: true }, Bounds::Open),
    (Executor::Tournament { keep: false }, Bounds::Sampled(208)),
    (Executor::Tournament { keep: true }, Bounds::Sampled(208)),
    (Executor::Near, Bounds::Sampled(208)),
    (Executor::Cells, Bounds::Open),
];

fn random(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0
    }
}

/// Clumps whose coordinates have few values, so that many distances are equal; one point is `far` out.
fn clumps(d: usize, far: f32) -> Vec<f32> {
    let mut random = random(5);
    let centres: Vec<f32> = (0..40 * d).map(|_| (random() * 12.0).round()).collect();
    let mut values: Vec<f32> = (0..ROWS)
        .flat_map(|row| {
            let centre = &centres[row * 7 % 40 * d..][..d];
            centre.iter().map(|value| value + (random() * 4.0).round() + 0.25).collect::<Vec<_>>()
        })
        .collect();
    values[ROWS / 2 * d] += far;
    values
}

/// Points without clumps, those that will be sampled drawn together by `pull`.
fn cloud(d: usize, pull: f32) -> Vec<f32> {
    let mut random = random(1);
    let mut values: Vec<f32> = (0..ROWS * d).map(|_| random() - 0.5).collect();
    for position in (0..208).map(|position| position * ROWS / 208) {
        values[position * d..(position + 1) * d].iter_mut().for_each(|value| *value *= pull);
    }
    values
}

fn is_possible(plan: (Executor, Bounds), metric: &Metric, d: usize) -> bool {
    plan.0 != Executor::Near || distance::is_in_registers(metric, d)
}

#[test]
fn the_levels_of_this_machine_are_all_tried() {
    let names: Vec<&str> = forced::levels().into_iter().map(level::name).collect();
    assert_eq!(names[0], "scalar");
    assert!(names.contains(&level::name(Level::new())), "{names:?}");
    for level in forced::levels() {
        let found = forced::on(level, 2, || rayon::join(level::level, level::level));
        assert_eq!([level::name(found.0), level::name(found.1)], [level::name(level); 2]);
    }
}

#[test]
fn tails_are_the_smallest_of_all_distances_for_every_plan_and_level() {
    let all: Vec<usize> = (0..ROWS).collect();
    // A class of one point and one of none.
    let ends = [1, 700, 700, 1_500, ROWS];
    let own: Vec<_> =
        (0..ends.len()).map(|class| if class == 0 { 0..1 } else { ends[class - 1]..ends[class] }).collect();
    let classes: Vec<u32> = all
        .iter()
        .map(|&row| own.iter().position(|own| own.contains(&row)).expect("a class") as u32)
        .collect();
    let sizes = [30, 1, 30, 75, 60];
    for (metric, d, values) in [
        (Metric::Euclidean, 2, clumps(2, 0.0)),
        (Metric::Euclidean, 8, clumps(8, 0.0)),
        (Metric::Manhattan, 13, clumps(13, 0.0)),
        (Metric::Euclidean, 31, clumps(31, 0.0)),
        (Metric::Euclidean, 16, clumps(16, 1e6)),
        (Metric::Euclidean, 10, cloud(10, 0.01)),
        (Metric::Euclidean, 40, cloud(40, 1.0)),
        (Metric::Cosine, 40, cloud(40, 0.01)),
        (Metric::Manhattan, 300, cloud(300, 1.0)),
    ] {
        let features = Features::new(values, d).expect("finite");
        let points = Points::prepare(&features, &metric).expect("no zeros");
        for level in forced::levels() {
            forced::on(level, 2, || {
                let columns = distance::columns(&metric, &points, &all);
                let tried: Vec<usize> = all.iter().copied().step_by(97).collect();
                let (block, mut tile) = (columns.block(&points, &tried), Tile::default());
                columns.ranks(&block, 0..ROWS, &mut tile).expect("a metric of our own");
                let expected = |at: usize, class: u32| {
                    let others = tile.row(at).iter().zip(&classes).filter(|(_, other)| **other != class);
                    let mut tail: Vec<f32> = others.map(|(&rank, _)| metric.distance_of_rank(rank)).collect();
                    tail.sort_unstable_by(f32::total_cmp);
                    tail.truncate(sizes[class as usize]);
                    tail
                };
                let against = [Against { columns: columns.as_ref(), own: &own }];
                let check = |run: &Run<'_>, plan: (Executor, Bounds)| {
                    let rows = Rows::new(&points, &all, &classes).among_themselves();
                    let problem = Problem::new((run, Stage::Tails), &metric, rows, &against, &sizes);
                    assert_eq!((problem.plan().executor, problem.plan().bounds), plan);
                    let found =
                        problem.tails(|row, tail, (): &mut ()| (row, tail.to_vec())).expect("not stopped");
                    assert!(found.iter().enumerate().all(|(at, (row, _))| at == *row));
                    for (at, &row) in tried.iter().enumerate() {
                        let what = format!("{metric:?} {d} {plan:?} {} row {row}", level::name(level));
                        assert_eq!(found[row].1, expected(at, classes[row]), "{what}");
                    }
                };
                for plan in PLANS.into_iter().filter(|plan| is_possible(*plan, &metric, d)) {
                    check(&Run::new().forced(plan), plan);
                }
                // From a disk, where what is found in few dimensions would take too much of it.
                let above = tempfile::tempdir().expect("a folder");
                let scratch = ScratchFolder::open(above.path().join("scratch")).expect("a folder");
                let blocks = Executor::Blocks { count: 3, once: d > 10 };
                check(&Run::new().memory(0).scratch(&scratch), (blocks, Bounds::Open));
                check(&Run::new().memory(0).scratch(&scratch), (blocks, Bounds::Open));
            });
        }
    }
}

fn fit(run: &Run<'_>, params: &Params, features: &Features<'_>, labels: &Labels) -> (Vec<u8>, Report) {
    let (evm, report) = Evm::fit_with(run, params, features, labels).expect("good data");
    (evm.to_bytes().expect("a metric of our own"), report)
}

fn labels(rows: std::ops::Range<usize>) -> Labels {
    // The last class comes late.
    Labels::new(rows.map(|row| if row > 2_200 { "late".to_owned() } else { format!("{}", row * 7 % 40 % 9) }))
        .expect("names")
}

#[test]
fn threads_tiles_memory_and_plans_change_no_byte_of_a_model() {
    for (metric, d, values) in [
        (Metric::Euclidean, 16, clumps(16, 0.0)),
        (Metric::Cosine, 40, cloud(40, 1.0)),
        (Metric::Manhattan, 7, clumps(7, 0.0)),
    ] {
        let (features, labels) = (Features::new(values, d).expect("finite"), labels(0..ROWS));
        let params = Params { metric: metric.clone(), tail_size: TailSize::Count(40), ..Params::paper() };
        for level in forced::levels() {
            let plain = Run::new().forced(PLANS[0]);
            let (expected, _) = forced::on(level, 1, || fit(&plain.tile(7, 33), &params, &features, &labels));
            for (number, plan) in PLANS.into_iter().filter(|plan| is_possible(*plan, &metric, d)).enumerate()
            {
                let run = Run::new().forced(plan);
                let run = if number % 2 == 0 { run.tile(50, 90) } else { run };
                let (found, report) =
                    forced::on(level, 1 + number % 3, || fit(&run, &params, &features, &labels));
                assert_eq!(report.plans.len(), 1);
                let taken = report.plans[0];
                assert_eq!((taken.executor, taken.bounds), plan, "the plan that was asked for was taken");
                assert_eq!(taken.level, level::name(level));
                assert!(found == expected, "{metric:?} {d} {plan:?} {}", level::name(level));
            }
            // And as it would be planned, with memory and without.
            for (memory, executor) in [
                (0, Executor::Stream),
                (1 << 30, if d < 32 { Executor::Near } else { Executor::Tournament { keep: true } }),
            ] {
                let run = Run::new().memory(memory);
                let (found, report) = forced::on(level, 2, || fit(&run, &params, &features, &labels));
                assert_eq!(report.plans[0].executor, executor);
                assert!(found == expected, "{metric:?} {d} memory {memory} {}", level::name(level));
            }
            // From a disk, where what is found in seven dimensions would take too much of it.
            let above = tempfile::tempdir().expect("a folder");
            let scratch = ScratchFolder::open(above.path().join("scratch")).expect("a folder");
            let run = Run::new().memory(0).scratch(&scratch);
            let (found, report) = forced::on(level, 2, || fit(&run, &params, &features, &labels));
            assert_eq!(report.plans[0].executor, Executor::Blocks { count: 3, once: d > 7 });
            assert!(found == expected, "{metric:?} {d} from a disk {}", level::name(level));
        }
    }
}

#[test]
fn batches_give_the_model_of_one_fit_on_every_plan_and_level() {
    for (metric, d, values) in
        [(Metric::Euclidean, 16, clumps(16, 0.0)), (Metric::Cosine, 40, cloud(40, 1.0))]
    {
        let params = Params {
            metric: metric.clone(),
            tail_size: TailSize::Count(60),
            cover_threshold: 1.0,
            ..Params::paper()
        };
        let features = Features::new(values, d).expect("finite");
        let part = |rows: std::ops::Range<usize>| features.select(&rows.collect::<Vec<_>>());
        for level in forced::levels() {
            let (expected, _) =
                forced::on(level, 2, || fit(&Run::new(), &params, &features, &labels(0..ROWS)));
            for plan in PLANS.into_iter().filter(|plan| is_possible(*plan, &metric, d)) {
                for memory in [0, 1 << 30] {
                    let run = Run::new().memory(memory).forced(plan);
                    let (found, reports) = forced::on(level, 3, || {
                        let first = Evm::fit_with(&run, &params, &part(0..1_900), &labels(0..1_900));
                        let (mut evm, report) = first.expect("good data");
                        let mut reports = vec![report];
                        for rows in [1_900..1_901, 1_901..2_250, 2_250..ROWS] {
                            let learned = evm.update_with(&run, &part(rows.clone()), &labels(rows));
                            reports.push(learned.expect("good data"));
                        }
                        (evm.to_bytes().expect("a metric of our own"), reports)
                    });
                    let what = format!("{metric:?} {plan:?} memory {memory} {}", level::name(level));
                    assert!(found == expected, "{what}");
                    assert_eq!(reports[0].plans[0].executor, plan.0, "{what}");
                    let exchanged =
                        reports[1..].iter().filter(|report| report.plans[0].executor == Executor::Exchange);
                    assert_eq!(exchanged.count(), if memory == 0 { 0 } else { 3 }, "{what}");
                }
            }
        }
    }
}
