//! `evmachine-repro teaser`

use clap::Args;
use evmachine::{Features, Labels};
use evmachine_console::console::Console;
use evmachine_console::failure::{Failure, Kind};
use evmachine_repro::Section;
use evmachine_repro::teaser::{self, Scene};

use crate::{OutputArguments, tell};

const POINTS: &str = include_str!("../../../data/plane/points.csv");
const QUERIES: &str = include_str!("../../../data/plane/queries.csv");

/// Four classes in the plane, the contours of psi, three rejected queries (Fig. 1)
///
/// Example: evmachine-repro teaser -o teaser
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<Section, Failure> {
    let (points, names) = read(POINTS)?;
    let (queries, _) = read(QUERIES)?;
    let labels = Labels::new(names)?;
    let scene = Scene { points: &points, labels: &labels, queries: &queries };
    tell(console, &arguments.output.folder("teaser"), |_| teaser::run(&scene))
}

/// Two numbers in a row, and the class where there is one.
fn read(text: &str) -> Result<(Features<'static>, Vec<&str>), Failure> {
    let damaged = || Failure::new(Kind::Other, "the data built into the program is damaged");
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        for (column, cell) in line.split(',').enumerate() {
            match column {
                0 | 1 => values.push(cell.parse::<f32>().map_err(|_| damaged())?),
                _ => names.push(cell),
            }
        }
    }
    Ok((Features::new(values, 2)?, names))
}
