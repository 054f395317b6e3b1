//! One answer for a track against one for each row, the majority of rows, and the mean vector:
//! `cargo run --release -p evmachine --example tracks`.
//!
//! Tracks are 8 rows of one class with a disturbance that all of them share and one of their own, on drawn data and on UCI Letter, whose first
//! 15 letters are known. Of known classes, 1,500 rows are learned (Letter: 6,000); 200 tracks of other rows calibrate and 500 are tested, with
//! 500 tracks of unknown classes. All is repeated over twenty draws.

#[path = "letter/mod.rs"]
mod letter;
mod random;

use std::collections::BTreeMap;
use std::error::Error;

use evmachine::{Evm, Features, Labels, Params, TrackRule};
use random::Random;

const LENGTH: usize = 8;
const DRAWS: u64 = 20;
const CALIBRATING: usize = 200;
const TESTED: usize = 500;

/// Rows by class; classes from `known` on are strangers.
struct Data {
    name: &'static str,
    classes: Vec<Vec<Vec<f32>>>,
    known: usize,
    learned: usize,
    /// By column.
    deviations: Vec<f64>,
}

fn drawn(random: &mut Random) -> Data {
    const COLUMNS: usize = 16;
    let classes = (0..18).map(|_| {
        let centre: Vec<f64> = (0..COLUMNS).map(|_| 0.7 * random.normal()).collect();
        (0..4000).map(|_| centre.iter().map(|at| (at + 0.6 * random.normal()) as f32).collect()).collect()
    });
    Data {
        name: "drawn",
        classes: classes.collect(),
        known: 12,
        learned: 1_500,
        deviations: vec![0.9; COLUMNS],
    }
}

fn letters() -> Result<Data, Box<dyn Error>> {
    let (features, labels) = letter::read()?;
    let mut classes = vec![Vec::new(); labels.names().len()];
    for (row, &class) in labels.ids().iter().enumerate() {
        classes[class as usize].push(features.row(row).to_vec());
    }
    let deviations = (0..features.columns()).map(|column| {
        let values = || features.iter().map(|row| f64::from(row[column]));
        let mean = values().sum::<f64>() / features.rows() as f64;
        (values().map(|value| (value - mean).powi(2)).sum::<f64>() / features.rows() as f64).sqrt()
    });
    Ok(Data { name: "Letter", classes, known: 15, learned: 6_000, deviations: deviations.collect() })
}

/// Rows of a class that calibrate, and that are tested.
type Halves<'a> = (&'a [Vec<f32>], &'a [Vec<f32>]);

/// A track: its class, if it is known, and its rows.
struct Drawn {
    class: Option<usize>,
    rows: Vec<Vec<f32>>,
}

/// Rows of one class, disturbed together and each for itself, by so many deviations of a column.
fn track(random: &mut Random, data: &Data, class: usize, from: &[Vec<f32>], shared: f64) -> Drawn {
    let together: Vec<f64> =
        data.deviations.iter().map(|deviation| shared * deviation * random.normal()).collect();
    let rows = (0..LENGTH).map(|_| {
        let row = &from[(random.uniform() * from.len() as f64) as usize];
        let columns = row.iter().zip(&together).zip(&data.deviations);
        columns
            .map(|((value, together), deviation)| {
                (f64::from(*value) + together + 0.3 * deviation * random.normal()) as f32
            })
            .collect()
    });
    Drawn { class: (class < data.known).then_some(class), rows: rows.collect() }
}

/// How one way of answering did over all tracks.
#[derive(Default)]
struct Tally {
    /// Score and whether the class is right, of known tracks; score of strangers.
    known: Vec<(f64, bool)>,
    strangers: Vec<f64>,
    rejected: usize,
    wrong: usize,
    accepted: usize,
    changes: usize,
    sure: usize,
    sure_rows: usize,
}

impl Tally {
    fn add(&mut self, track: &Drawn, best: usize, score: f64, answers: &[Option<usize>]) {
        let last = answers.last().copied().flatten();
        if let Some(class) = track.class {
            self.known.push((score, best == class));
            self.rejected += usize::from(last.is_none());
            self.wrong += usize::from(last.is_some_and(|answer| answer != class));
        } else {
            self.strangers.push(score);
            self.accepted += usize::from(last.is_some());
        }
        self.changes += answers.windows(2).filter(|pair| pair[0] != pair[1]).count();
    }

    /// The chance that a known track is named right and scores above a stranger: the area below the curve of OSCR.
    fn oscr(&self) -> f64 {
        let mut strangers = self.strangers.clone();
        strangers.sort_by(f64::total_cmp);
        let below = |score: f64| {
            let (low, high) = (
                strangers.partition_point(|other| *other < score),
                strangers.partition_point(|other| *other <= score),
            );
            (low + high) as f64 / 2.0 / strangers.len() as f64
        };
        self.known.iter().filter(|(_, right)| *right).map(|(score, _)| below(*score)).sum::<f64>()
            / self.known.len() as f64
    }

    fn line(&self, name: &str) {
        let (known, strangers) = (self.known.len() as f64, self.strangers.len() as f64);
        let sure = match self.sure {
            0 => "-".to_owned(),
            sure => format!(
                "{:.0} %, row {:.1}",
                100.0 * sure as f64 / (known + strangers),
                self.sure_rows as f64 / sure as f64
            ),
        };
        println!(
            "| {name} | {:.3} | {:.1} % | {:.1} % | {:.1} % | {:.2} | {sure} |",
            self.oscr(),
            100.0 * self.rejected as f64 / known,
            100.0 * self.wrong as f64 / known,
            100.0 * self.accepted as f64 / strangers,
            self.changes as f64 / (known + strangers)
        );
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    for shared in [0.0, 0.3, 0.6] {
        let mut random = Random(1);
        let worlds = [drawn(&mut random), letters()?];
        for data in worlds {
            let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
            for draw in 0..DRAWS {
                compare(&data, shared, draw, &mut tallies)?;
            }
            println!(
                "\n{}, shared disturbance {shared}\n\n| answer | OSCR | known rejected | known wrong | strangers accepted | changes a track | sure before its end |\n|---|---|---|---|---|---|---|",
                data.name
            );
            for (name, tally) in &tallies {
                tally.line(&name[2..]);
            }
        }
    }
    Ok(())
}

fn compare(
    data: &Data,
    shared: f64,
    draw: u64,
    tallies: &mut BTreeMap<&'static str, Tally>,
) -> Result<(), Box<dyn Error>> {
    let mut random = Random(100 + draw);
    let each = data.learned / data.known;
    // Learned rows are disturbed as those of tracks are, each for itself.
    let mut values = Vec::new();
    let mut names = Vec::new();
    let mut left: Vec<Vec<Vec<f32>>> = Vec::new();
    for (class, rows) in data.classes.iter().enumerate() {
        let mut rows = rows.clone();
        (1..rows.len()).rev().for_each(|at| rows.swap(at, (random.uniform() * (at + 1) as f64) as usize));
        let learned = if class < data.known { each.min(rows.len() / 2) } else { 0 };
        for row in rows.drain(..learned) {
            let alone = track(&mut random, data, class, &[row], shared).rows.remove(0);
            values.extend(alone);
            names.push(class.to_string());
        }
        left.push(rows);
    }
    let (evm, _) =
        Evm::fit(&Params::plain(), &Features::new(values, data.deviations.len())?, &Labels::new(&names)?)?;
    // Rows that calibrate and rows that are tested are not the same.
    let halves: Vec<Halves<'_>> = left.iter().map(|rows| rows.split_at(rows.len() / 2)).collect();
    let calibrating: Vec<Drawn> = (0..CALIBRATING)
        .map(|at| track(&mut random, data, at % data.known, halves[at % data.known].0, shared))
        .collect();
    let strangers = data.classes.len() - data.known;
    let mut tested: Vec<Drawn> = (0..TESTED)
        .map(|at| track(&mut random, data, at % data.known, halves[at % data.known].1, shared))
        .collect();
    tested.extend((0..TESTED).map(|at| {
        let class = data.known + at % strangers;
        track(&mut random, data, class, halves[class].1, shared)
    }));
    let flat: Vec<f32> = calibrating.iter().flat_map(|track| track.rows.concat()).collect();
    let truth =
        calibrating.iter().flat_map(|track| vec![track.class.unwrap_or_default().to_string(); LENGTH]);
    let numbers: Vec<String> = (0..CALIBRATING).flat_map(|track| vec![track.to_string(); LENGTH]).collect();
    let columns = data.deviations.len();
    let set = TrackRule::calibrated(&evm, &Features::new(flat, columns)?, &Labels::new(truth)?, &numbers)?;
    for one in &tested {
        let rows = Features::new(one.rows.concat(), columns)?;
        // Names of classes are their numbers.
        let number = |class: usize| evm.class_name(class).parse::<usize>().unwrap_or(usize::MAX);
        let decisions = evm.decide(&rows)?;
        let alone: Vec<Option<usize>> =
            decisions.iter().map(|decision| decision.class().map(number)).collect();
        let last = decisions[LENGTH - 1];
        let tally = tallies.entry("1 the last row alone").or_default();
        tally.add(one, number(last.best()), last.score().support, &alone);

        let running: Vec<(Option<usize>, f64)> = (1..=LENGTH).map(|rows| majority(&alone[..rows])).collect();
        let answers: Vec<Option<usize>> = running.iter().map(|(answer, _)| *answer).collect();
        let (most, votes) = majority_known(&alone).unwrap_or((number(last.best()), 0.0));
        tallies.entry("2 majority of rows").or_default().add(one, most, votes, &answers);

        let means: Vec<f32> = (1..=LENGTH)
            .flat_map(|count| {
                (0..columns).map(move |column| (count, column)).map(|(count, column)| {
                    one.rows[..count].iter().map(|row| row[column]).sum::<f32>() / count as f32
                })
            })
            .collect();
        let decisions = evm.decide(&Features::new(means, columns)?)?;
        let answers: Vec<Option<usize>> =
            decisions.iter().map(|decision| decision.class().map(number)).collect();
        let last = decisions[LENGTH - 1];
        let tally = tallies.entry("3 mean vector").or_default();
        tally.add(one, number(last.best()), last.score().support, &answers);

        let scores = evm.map_queries(&rows, |_, scores| scores.to_vec())?;
        for (name, rule) in [("4 track, set on rows", &TrackRule::of(&evm)), ("5 track, set on tracks", &set)]
        {
            let mut track = rule.begin(&evm);
            let mut answers = Vec::new();
            for scores in &scores {
                rule.take(&evm, &mut track, scores);
                answers.push(evm.track_decision(rule, &track).class.map(number));
            }
            let decided = evm.track_decision(rule, &track);
            let tally = tallies.entry(name).or_default();
            tally.add(one, number(decided.best), decided.support, &answers);
            if let Some(row) = decided.sure_at {
                tally.sure += 1;
                tally.sure_rows += row;
            }
        }
    }
    Ok(())
}

/// What most rows say, unknown among it, and how many of them.
fn majority(answers: &[Option<usize>]) -> (Option<usize>, f64) {
    let mut votes: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for answer in answers {
        *votes.entry(*answer).or_default() += 1;
    }
    let most = votes.into_iter().max_by_key(|(_, votes)| *votes);
    most.map_or((None, 0.0), |(answer, votes)| (answer, votes as f64 / answers.len() as f64))
}

/// The class that most rows name, and the share of rows that do.
fn majority_known(answers: &[Option<usize>]) -> Option<(usize, f64)> {
    let known: Vec<Option<usize>> = answers.iter().flatten().map(|class| Some(*class)).collect();
    let (most, share) = majority(&known);
    most.map(|class| (class, share * known.len() as f64 / answers.len() as f64))
}
