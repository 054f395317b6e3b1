//! The grid: shares of fresh known rows that are rejected, over sizes, shapes, presets, rules, and what happens to a model.

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use evmachine::{Basis, Budget, Edit, Evm, Labels, Metric, Params, Rejection, Run, Search};
use evmachine_cuda::Cuda;
use evmachine_eval::{Chance, TrialSearch, TuneOptions, tune};

use crate::cells::{self, After, Cell, Preset, Shape};
use crate::chance;
use crate::drawn::Source;
use crate::graph;

const QUERIES: usize = 4_000;
/// Rows that parameters are tuned on, at most.
const TUNED_ON: usize = 2_000;

pub(crate) struct Options {
    /// Cells of at most 2,000 rows, with a quarter of their draws.
    pub(crate) few: bool,
    /// Cells of so many rows alone.
    pub(crate) rows: std::ops::RangeInclusive<usize>,
    pub(crate) place: Place,
    /// Cells in which this happens after the fit alone.
    pub(crate) after: Option<String>,
}

/// Where the cells are that are run.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the processor.
    Here,
    /// On a CUDA device.
    Device,
    /// In ONNX graphs, which this Python with `onnxruntime` decides by.
    Graph(String),
}

/// One model, asked about fresh rows.
struct Draw {
    asked: usize,
    rejected: usize,
    rows: usize,
    basis: Basis,
    seconds: f64,
}

/// Counts over all draws.
#[derive(Default)]
struct Tally {
    draws: usize,
    outside: usize,
    far_outside: usize,
    cells_off: usize,
}

pub(crate) fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let cells: Vec<Cell> = cells::all()
        .into_iter()
        .filter(|cell| match options.place {
            Place::Here => !matches!(cell.after, After::Device | After::Onnx),
            Place::Device => cell.after == After::Device,
            Place::Graph(_) => cell.after == After::Onnx,
        })
        .filter(|cell| options.rows.contains(&cell.rows))
        .filter(|cell| options.after.as_ref().is_none_or(|after| *after == cell.after.to_string()))
        .filter(|cell| !options.few || cell.rows <= 2_000)
        .collect();
    let draws = |cell: &Cell| if options.few { cell.draws().div_ceil(4) } else { cell.draws() };
    run_cells(&cells, draws, &options.place)
}

/// The largest set that the recommended preset is asked for: too large for the grid.
pub(crate) fn run_large(on_device: bool) -> Result<bool, Box<dyn Error>> {
    let (after, place) =
        if on_device { (After::Device, Place::Device) } else { (After::Nothing, Place::Here) };
    let cell = Cell {
        rows: 200_000,
        classes: 1_000,
        shape: Shape::Even,
        dimensions: 512,
        preset: Preset::Robust,
        rule: Rejection::FalseUnknown(0.05),
        after,
    };
    run_cells(&[cell], |_| 1, &place)
}

fn run_cells(cells: &[Cell], draws: impl Fn(&Cell) -> u64, place: &Place) -> Result<bool, Box<dyn Error>> {
    println!("{} cells; share of known rows rejected: mean, least, most; what it rests on\n", cells.len());
    let mut tally = Tally::default();
    for cell in cells {
        let found: Vec<Draw> =
            (0..draws(cell)).map(|seed| draw(cell, seed, place)).collect::<Result<_, _>>()?;
        println!("{}", tally.line(cell, &found));
    }
    println!(
        "\n{} draws: {} outside the range of 99.9 % ({:.1} are expected), {} beyond one in a million; {} cells with a mean off by more \
         than 3.3 standard errors",
        tally.draws,
        tally.outside,
        tally.draws as f64 / 1_000.0,
        tally.far_outside,
        tally.cells_off
    );
    // Up to 3.3 deviations of the count above what is expected.
    let expected = tally.draws as f64 / 1_000.0;
    Ok(tally.far_outside == 0
        && tally.cells_off == 0
        && tally.outside as f64 <= expected + 3.3 * expected.sqrt() + 1.0)
}

impl Tally {
    fn line(&mut self, cell: &Cell, draws: &[Draw]) -> String {
        let rate = cell.rule.value();
        let shares: Vec<f64> =
            draws.iter().map(|draw| draw.rejected as f64 / draw.asked.max(1) as f64).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let mut marks = String::new();
        for draw in draws {
            let chance = Chance::of(draw.rejected, draw.asked, rate, draw.rows);
            // By folds, and where a class has a threshold of its own, less may be rejected than promised, as the words say.
            let is_bound =
                draw.basis == Basis::Folds || matches!(cell.rule, Rejection::FalseUnknownPerClass(_));
            let least = if is_bound { chance.as_many } else { chance.as_many.min(chance.as_few) };
            let limit = if is_bound { 0.001 } else { 0.0005 };
            self.draws += 1;
            self.outside += usize::from(least < limit);
            self.far_outside += usize::from(least < limit / 1_000.0);
            if least < limit {
                marks.push('*');
            }
        }
        let count = draws.len() as f64;
        let error =
            draws.iter().map(|draw| chance::deviation(draw.rows, rate, draw.asked)).sum::<f64>() / count;
        let is_off = (mean - rate) / (error / count.sqrt()) > 3.3;
        self.cells_off += usize::from(is_off);
        let seconds = draws.iter().map(|draw| draw.seconds).sum::<f64>() / count;
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let most = shares.iter().copied().fold(0.0, f64::max);
        format!(
            "{cell} {mean:.4} {least:.4} {most:.4}  {:>2} draws, {:>5} rows, {:8} {seconds:6.2} s{}{marks}",
            draws.len(),
            draws[0].rows,
            format!("{:?}", draws[0].basis),
            if is_off { "  mean off" } else { "" },
        )
    }
}

fn draw(cell: &Cell, seed: u64, place: &Place) -> Result<Draw, Box<dyn Error>> {
    let mut source = Source::new(1 + seed * 7_919, cell.sizes(), cell.dimensions, cell.spread());
    let all: Vec<usize> = (0..cell.classes).collect();
    let metric = if cell.dimensions >= 128 { Metric::Cosine } else { Metric::Euclidean };
    let device = if cell.after == After::Device { Some(Cuda::open(0)?) } else { None };
    let run = match &device {
        Some(device) => Run::new().device(device),
        None => Run::new(),
    };
    // Classes learned at first, and those that come by the update.
    let (first, later) = match cell.after {
        After::Update => all.split_at(cell.classes - cell.classes / 3),
        _ => all.split_at(cell.classes),
    };
    let (features, labels) = source.training(first)?;
    let search = if cell.after == After::Approximate { Search::Approximate(0.99) } else { Search::Exact };
    let params =
        Params { rejection_threshold: cell.rule, search, ..preset(cell.preset, metric, &features, &labels) };
    let clock = Instant::now();
    let (mut evm, _) = Evm::fit_with(&run, &params, &features, &labels)?;
    let seconds = clock.elapsed().as_secs_f64();
    let mut asked_of = all.clone();
    match cell.after {
        After::Update => {
            let (features, labels) = source.training(later)?;
            evm.update_with(&run, &features, &labels)?;
        }
        After::Edits => edit(&run, &mut evm, seed)?,
        After::Forget => {
            for class in (0..cell.classes).step_by(10).take(10) {
                evm.forget_class_with(&run, &class.to_string())?;
                asked_of.retain(|other| *other != class);
            }
        }
        After::Reduce => {
            let params = Params {
                max_extreme_vectors: Some(Budget::Ratio(0.3)),
                cover_risk: 0.0,
                ..Params::clone(evm.params())
            };
            evm.reduce_with(&run, &params.cover())?;
        }
        After::Nothing | After::Approximate | After::Device | After::Onnx => {}
    }
    let queries = source.queries(&asked_of, QUERIES)?;
    let decisions = evm.decide_with(&run, &queries)?;
    let is_known: Vec<bool> = match place {
        Place::Graph(python) => graph::known(python, &evm, &queries)?,
        _ => decisions.iter().map(|decision| decision.class().is_some()).collect(),
    };
    let promise = evm.promise();
    let per_class = matches!(cell.rule, Rejection::FalseUnknownPerClass(_));
    // Classes that share the threshold of all rows are promised nothing of their own.
    let thresholds: Vec<f64> = (0..evm.classes().len()).map(|class| evm.threshold_of(class)).collect();
    let counts = |class: usize| {
        let alike = thresholds.iter().filter(|other| **other == thresholds[class]).count();
        !per_class || alike == 1
    };
    let asked: Vec<bool> = decisions
        .iter()
        .zip(is_known)
        .filter(|(decision, _)| counts(decision.best()))
        .map(|pair| pair.1)
        .collect();
    let rejected = asked.iter().filter(|is_known| !**is_known).count();
    Ok(Draw { asked: asked.len(), rejected, rows: promise.effective_rows, basis: promise.basis, seconds })
}

fn preset(preset: Preset, metric: Metric, features: &evmachine::Features<'_>, labels: &Labels) -> Params {
    match preset {
        Preset::Paper => Params { metric, ..Params::plain() },
        Preset::Robust => Params::robust_for(metric),
        Preset::Tuned => {
            // Whole classes, so that none is left with one row.
            let some: Vec<usize> = (0..labels.len()).step_by(labels.len().div_ceil(TUNED_ON)).collect();
            let base = Params { metric: metric.clone(), ..Params::plain() };
            let search = TrialSearch::Bayesian { trials: 8 };
            let options = TuneOptions { base, search, ..TuneOptions::default() };
            let (features, labels) = (features.select(&some), labels.select(&some));
            match tune(&features, &labels, &options, &mut |_| ControlFlow::Continue(())) {
                Ok(tuned) => tuned.params,
                // Two classes cannot be left out in turn.
                Err(_) => Params { contrast: 0.3, pooling: 0.5, ..Params::robust_for(metric) },
            }
        }
    }
}

/// Takes some rows out, learned and held out, has half of them back, and gives a class another name.
fn edit(run: &Run<'_>, evm: &mut Evm, seed: u64) -> Result<(), Box<dyn Error>> {
    let step = 17 + seed as usize % 5;
    // Not the last rows of a class: that would be the end of it.
    let some = |evm: &Evm, step: usize, count: usize| -> Vec<u64> {
        let sizes: Vec<usize> = evm.classes().map(|class| class.extreme_vectors).collect();
        let vectors = evm.extreme_vectors().filter(|vector| sizes[vector.class] > 60);
        vectors.map(|vector| vector.source).step_by(step).take(count).collect()
    };
    let mut rows = some(evm, step, 20);
    rows.extend(evm.rows_held_out().map(|row| row.source).step_by(step).take(20));
    rows.sort_unstable();
    rows.dedup();
    if !rows.is_empty() {
        evm.edit_with(run, &Edit::SetAside { rows })?;
        let half: Vec<u64> = evm.rows_aside().map(|row| row.source).step_by(2).collect();
        evm.edit_with(run, &Edit::Restore { rows: half })?;
    }
    let gone = some(evm, step + 7, 10);
    if !gone.is_empty() {
        evm.edit_with(run, &Edit::Unlearn { rows: gone })?;
    }
    let name = evm.class_name(0).to_owned();
    evm.edit_with(run, &Edit::Rename { class: name.clone(), to: format!("{name} again") })?;
    Ok(())
}
