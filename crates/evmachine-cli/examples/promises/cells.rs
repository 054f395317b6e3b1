//! The cells of the grid: every possible pair of levels of two factors stands in one of them.

use std::collections::HashSet;
use std::fmt;

use evmachine::Rejection;

/// How many rows each class has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Even,
    /// The largest class has a hundred times as many as the smallest, in even ratios.
    HundredToOne,
    /// All classes but the first have five.
    Fives,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preset {
    Paper,
    Robust,
    Tuned,
}

/// What happens to the model after its fit, or where that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Nothing,
    Update,
    Edits,
    Forget,
    Reduce,
    Approximate,
    Device,
    /// Decided by the model's ONNX graph.
    Onnx,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) rows: usize,
    pub(crate) classes: usize,
    pub(crate) shape: Shape,
    pub(crate) dimensions: usize,
    pub(crate) preset: Preset,
    pub(crate) rule: Rejection,
    pub(crate) after: After,
}

const ROWS: [usize; 5] = [300, 2_000, 20_000, 60_000, 200_000];
const CLASSES: [usize; 4] = [2, 10, 200, 1_000];
const SHAPES: [Shape; 3] = [Shape::Even, Shape::HundredToOne, Shape::Fives];
const DIMENSIONS: [usize; 4] = [2, 16, 128, 512];
const PRESETS: [Preset; 3] = [Preset::Paper, Preset::Robust, Preset::Tuned];
const RULES: [Rejection; 3] =
    [Rejection::FalseUnknown(0.05), Rejection::FalseUnknown(0.01), Rejection::FalseUnknownPerClass(0.05)];
const AFTER: [After; 8] = [
    After::Nothing,
    After::Update,
    After::Edits,
    After::Forget,
    After::Reduce,
    After::Approximate,
    After::Device,
    After::Onnx,
];
const LEVELS: [usize; 7] =
    [ROWS.len(), CLASSES.len(), SHAPES.len(), DIMENSIONS.len(), PRESETS.len(), RULES.len(), AFTER.len()];

type Choice = [usize; LEVELS.len()];

impl Cell {
    fn of(choice: &Choice) -> Self {
        Self {
            rows: ROWS[choice[0]],
            classes: CLASSES[choice[1]],
            shape: SHAPES[choice[2]],
            dimensions: DIMENSIONS[choice[3]],
            preset: PRESETS[choice[4]],
            rule: RULES[choice[5]],
            after: AFTER[choice[6]],
        }
    }

    /// Whether there are enough rows for the classes, and whether what happens means something.
    fn is_possible(&self) -> bool {
        let enough = match self.shape {
            Shape::Even => self.rows >= 2 * self.classes,
            Shape::HundredToOne => self.rows >= 20 * self.classes,
            Shape::Fives => self.rows >= 5 * self.classes,
        };
        let happens = match self.after {
            After::Forget | After::Update => self.classes > 2,
            After::Approximate | After::Device => self.rows >= 20_000,
            After::Onnx => self.rows <= 20_000,
            _ => true,
        };
        // A few thousand classes of overlapping rows in the plane are one class in all but name.
        let apart = self.dimensions > 2 || self.classes <= 10;
        let affordable = self.rows < 200_000 || self.dimensions < 512 || self.preset == Preset::Paper;
        enough && happens && apart && affordable
    }

    /// Rows of each class.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let last = (self.classes - 1).max(1) as f64;
        match self.shape {
            Shape::Even => vec![self.rows / self.classes; self.classes],
            Shape::Fives => {
                let mut sizes = vec![5; self.classes];
                sizes[0] = self.rows - 5 * (self.classes - 1);
                sizes
            }
            Shape::HundredToOne => {
                let weights: Vec<f64> =
                    (0..self.classes).map(|class| 100f64.powf(-(class as f64) / last)).collect();
                let total: f64 = weights.iter().sum();
                weights.iter().map(|weight| ((weight / total * self.rows as f64) as usize).max(2)).collect()
            }
        }
    }

    /// How far centres lie apart in deviations of a class: as far as leaves classes that overlap a little.
    pub(crate) fn spread(&self) -> f32 {
        match self.dimensions {
            2 => 4.0,
            16 => 1.5,
            128 => 1.0,
            _ => 0.6,
        }
    }

    pub(crate) fn draws(&self) -> u64 {
        match self.rows {
            0..20_000 => 20,
            20_000..60_000 => 5,
            60_000..200_000 => 2,
            _ => 1,
        }
    }
}

impl fmt::Display for After {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{self:?}").to_lowercase())
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self.shape {
            Shape::Even => "even",
            Shape::HundredToOne => "100 to 1",
            Shape::Fives => "fives",
        };
        write!(
            formatter,
            "{:>7} x {:<3} {:>4} classes, {shape:8} {:6} {:11} {:36}",
            self.rows,
            self.dimensions,
            self.classes,
            format!("{:?}", self.preset).to_lowercase(),
            self.after.to_string(),
            self.rule.to_string(),
        )
    }
}

/// Few cells that together have every possible pair of levels, and those of up to 20,000 rows twice. Graphs
/// are decided by another program, and have cells of their own: each level of the others stands in one of them.
pub(crate) fn all() -> Vec<Cell> {
    let (graphs, possible): (Vec<Choice>, Vec<Choice>) =
        possible().into_iter().partition(|choice| Cell::of(choice).after == After::Onnx);
    let mut chosen = cover(&possible, |_, _| true);
    let is_other = |choice: &Choice| Cell::of(choice).rows <= 20_000 && !chosen.contains(choice);
    let others: Vec<Choice> = possible.iter().copied().filter(is_other).collect();
    chosen.extend(cover(&others, |_, _| true));
    chosen.extend(cover(&graphs, |_, factor| factor + 1 == LEVELS.len()));
    let mut cells: Vec<Cell> = chosen.iter().map(Cell::of).collect();
    cells.sort_by_key(|cell| cell.rows);
    cells
}

fn possible() -> Vec<Choice> {
    (0..LEVELS.iter().product())
        .map(|number: usize| {
            let mut rest = number;
            LEVELS.map(|levels| {
                let level = rest % levels;
                rest /= levels;
                level
            })
        })
        .filter(|choice| Cell::of(choice).is_possible())
        .collect()
}

/// Cells that together have every pair of levels that the possible ones have, of the pairs of factors that count, chosen greedily: each is the one that adds most pairs, of
/// those that add equally many the one with the fewest rows.
fn cover(possible: &[Choice], counts: fn(usize, usize) -> bool) -> Vec<Choice> {
    let pairs = |choice: &Choice| {
        let choice = *choice;
        (0..choice.len())
            .flat_map(move |i| (i + 1..choice.len()).map(move |j| (i, j)))
            .filter(move |&(i, j)| counts(i, j))
            .map(move |(i, j)| (i, choice[i], j, choice[j]))
    };
    let mut missing: HashSet<(usize, usize, usize, usize)> = possible.iter().flat_map(pairs).collect();
    let mut cells = Vec::new();
    while !missing.is_empty() {
        let adds = |choice: &&Choice| pairs(choice).filter(|pair| missing.contains(pair)).count();
        let best = possible.iter().rev().max_by_key(|choice| (adds(choice), ROWS.len() - choice[0]));
        let best = best.expect("some cell is possible");
        pairs(best).for_each(|pair| {
            missing.remove(&pair);
        });
        cells.push(*best);
    }
    cells
}
