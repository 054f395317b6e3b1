//! How often the drift alarm is false, and how long it takes to name four planted causes:
//!
//! - `cargo run --release -p evmachine --example drift -- quiet` watches 200 quiet streams of 100,000 queries each, with 1,000 calibrating
//!   rows (`quiet 20 10000` is 20 of 10,000), at a rate of 5 %;
//! - `cargo run --release -p evmachine --example drift -- causes` plants each cause after 5,000 quiet queries of 25 streams, at a rate of
//!   1 %, and counts the queries until the alarm and until the cause is named.

mod random;
mod streams;

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use evmachine::{CauseKind, DriftMonitor};
use random::Random;
use streams::{Planted, World};

const CALIBRATING: usize = 1_000;
/// Queries between two reports.
const STEP: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, or: usize| arguments.get(at).map_or(Ok(or), |text| text.parse::<usize>());
    match arguments.first().map(String::as_str) {
        Some("quiet") => quiet(number(1, 200)?, number(2, 100_000)?),
        Some("causes") => causes(number(1, 25)?, number(2, 5_000)?),
        _ => Err("quiet or causes".into()),
    }
}

fn quiet(streams: usize, queries: usize) -> Result<(), Box<dyn Error>> {
    const RATE: f64 = 0.05;
    let start = Instant::now();
    let world = World::new(1)?;
    let mut alarms = Vec::new();
    let mut nearest: f64 = 0.0;
    for stream in 0..streams {
        let mut random = Random(1_000 + stream as u64);
        let reference = world.rows(&mut random, Planted::Nothing, 0, CALIBRATING)?;
        let mut monitor = DriftMonitor::with_reference(&world.evm, &reference, RATE)?.seeded(stream as u64);
        let mut left = queries;
        while left > 0 {
            let part = left.min(10_000);
            monitor.observe(&world.evm, &world.rows(&mut random, Planted::Nothing, 0, part)?)?;
            left -= part;
        }
        nearest = nearest.max(monitor.evidence());
        alarms.extend(
            monitor.alarm().map(|alarm| format!("stream {stream}: row {}, {}", alarm.row, alarm.watch)),
        );
    }
    println!(
        "{streams} quiet streams of {queries} queries, {CALIBRATING} calibrating rows, rate {RATE}: {} alarms, {:.2} % of streams; the largest \
         evidence was {nearest:.2} of what an alarm takes; {:.0} s",
        alarms.len(),
        100.0 * alarms.len() as f64 / streams as f64,
        start.elapsed().as_secs_f64()
    );
    for alarm in &alarms {
        println!("  {alarm}");
    }
    Ok(())
}

fn causes(streams: usize, quiet: usize) -> Result<(), Box<dyn Error>> {
    const RATE: f64 = 0.01;
    const MOST: usize = 3_000;
    println!(
        "{streams} streams a cause, planted after {quiet} quiet queries, {CALIBRATING} calibrating rows, rate {RATE}; queries until the alarm and \
         until the right cause is named, median and largest; and what the last report, {MOST} queries after the change, names\n"
    );
    println!(
        "| planted | alarms before | alarm | named | first name | right at the end |\n|---|---|---|---|---|---|"
    );
    let kinds = [
        (Planted::NewClass, CauseKind::NewClass),
        (Planted::Moved, CauseKind::Moved),
        (Planted::ClassAges, CauseKind::ClassAges),
        (Planted::Encoder, CauseKind::Encoder),
    ];
    for (planted, kind) in kinds {
        let (mut early, mut alarmed, mut named, mut firsts, mut right) =
            (0, Vec::new(), Vec::new(), BTreeMap::new(), 0);
        for stream in 0..streams {
            // Classes, the model and the cause are drawn anew.
            let world = World::new(10_000 + stream as u64)?;
            let mut random = Random(20_000 + stream as u64);
            let reference = world.rows(&mut random, Planted::Nothing, 0, CALIBRATING)?;
            let mut monitor = DriftMonitor::with_reference(&world.evm, &reference, RATE)?;
            monitor.observe(&world.evm, &world.rows(&mut random, Planted::Nothing, 0, quiet)?)?;
            early += usize::from(monitor.alarm().is_some());
            let (mut alarm, mut name, mut first, mut last) = (None, None, None, None);
            for after in (STEP..=MOST).step_by(STEP) {
                let rows = world.rows(&mut random, planted, 30_000 + stream as u64, STEP)?;
                monitor.observe(&world.evm, &rows)?;
                let Some(found) = monitor.alarm() else { continue };
                alarm = alarm.or(Some(found.row as usize - quiet));
                if name.is_none() || after == MOST {
                    last = monitor.report(&world.evm)?.cause.map(|cause| cause.kind);
                    first = first.or(last);
                    name = name.or((last == Some(kind)).then_some(after));
                }
            }
            alarmed.extend(alarm);
            named.extend(name);
            *firsts.entry(first.map_or("none", CauseKind::name)).or_insert(0) += 1;
            right += usize::from(last == Some(kind));
        }
        println!(
            "| {} | {early} | {} | {} | {} | {right} of {streams} |",
            kind.name(),
            middle_and_largest(&mut alarmed),
            middle_and_largest(&mut named),
            firsts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
        );
    }
    Ok(())
}

fn middle_and_largest(delays: &mut [usize]) -> String {
    delays.sort_unstable();
    match delays.last() {
        Some(largest) => format!("{}, {largest}", delays[delays.len() / 2]),
        None => "-".to_owned(),
    }
}
