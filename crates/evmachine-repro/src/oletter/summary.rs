//! What came out, told beside the paper.

mod claims;

use std::path::PathBuf;

use evmachine::TailModel;
use evmachine_plot::{Curves, Series, curves};

use super::draw::{KNOWN, UNKNOWN};
use super::rows::{Row, VectorRow};
use super::systems::{Rule, Selection, SvmChoice, TRIALS, TUNED, TUNED_WHOLE, evm_name};
use super::{Settings, VALIDATION_FOLDS, grid_rows};
use crate::error::ReproError;
use crate::section::{Figure, Section, Table};
use crate::statistics::mean_and_deviation;
use crate::svm_grid;

/// The systems of the paper's figure, after the EVM.
const IN_FIGURE: [&str; 3] = ["W-SVM", "1-vs-rest RBF SVM, Platt", "NN with CAP"];
/// The Platt SVM's machines where a threshold is validated.
const DECISIONS: &str = "1-vs-rest RBF SVM, decision values";
/// Lines that a picture holds.
const MOST_LINES: usize = 12;

/// Results by system.
struct Results<'a> {
    rows: &'a [Row],
    vectors: &'a [VectorRow],
    systems: Vec<&'a str>,
}

impl<'a> Results<'a> {
    fn of(&self, system: &str, rule: Rule, unknown: usize) -> impl Iterator<Item = &'a Row> {
        let rows = self.rows.iter();
        rows.filter(move |row| row.unknown == unknown && row.rule == rule && row.system == system)
    }

    fn f1(&self, system: &str, rule: Rule, unknown: usize) -> Vec<f64> {
        self.of(system, rule, unknown).map(|row| row.f1).collect()
    }

    fn mean(&self, system: &str, rule: Rule, unknown: usize) -> f64 {
        mean_and_deviation(&self.f1(system, rule, unknown)).0
    }

    /// Systems that can be told by this rule.
    fn told(&self, rule: Rule) -> Vec<&'a str> {
        let told = |system: &&str| !self.f1(system, rule, 0).is_empty();
        self.systems.iter().copied().filter(told).collect()
    }

    fn ratio(&self, system: &str) -> Option<f64> {
        self.vectors.iter().find(|row| row.system == system).map(|row| row.vector_ratio)
    }

    /// The mean difference of two systems over folds, and its standard error.
    fn difference(&self, first: &str, second: &str, rule: Rule, unknown: usize) -> (f64, f64) {
        let pairs = self.f1(first, rule, unknown).into_iter().zip(self.f1(second, rule, unknown));
        let differences: Vec<f64> = pairs.map(|(first, second)| first - second).collect();
        let (mean, deviation) = mean_and_deviation(&differences);
        (mean, deviation / (differences.len() as f64).sqrt())
    }
}

pub(super) fn section(
    rows: &[Row],
    vectors: &[VectorRow],
    settings: &Settings,
    tuned: &[PathBuf],
    choices: &[SvmChoice],
) -> Result<Section, ReproError> {
    let mut systems: Vec<&str> = Vec::new();
    for row in rows {
        if !systems.contains(&row.system.as_str()) {
            systems.push(&row.system);
        }
    }
    let results = Results { rows, vectors, systems };
    let figures = [
        ("paper", "The paper's delta (its Fig. 2)", Rule::Formula),
        ("validated", "Thresholds validated on training letters", Rule::Validated),
    ];
    Ok(Section {
        title: "OLETTER: letters that were never seen".to_owned(),
        command: command(settings),
        text: text(settings, &results, tuned, choices),
        claims: claims::claims(&results),
        tables: tables(&results, settings),
        figures: figures
            .into_iter()
            .map(|(name, title, rule)| figure(&results, name, title, rule))
            .collect::<Result<_, _>>()?,
    })
}

fn command(settings: &Settings) -> String {
    let systems = if settings.systems == Selection::Evm { " --systems evm" } else { "" };
    let Settings { draws, folds, seed, .. } = settings;
    format!("evmachine-repro oletter --draws {draws} --folds {folds} --seed {seed}{systems}")
}

fn text(settings: &Settings, results: &Results<'_>, tuned: &[PathBuf], choices: &[SvmChoice]) -> Vec<String> {
    let names: Vec<String> = tuned
        .iter()
        .filter_map(|path| path.file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let mut text = vec![
        format!(
            "{} draw(s) of {} folds. In each fold 15 letters are known and trained on (the first 15,000 rows of UCI \
             Letter), and 0 to 11 of the others join the test (the last 5,000). Values are divided by 15, as libmr's fit \
             depends on the unit. F1 is micro F1 over the known letters. letters.csv has the letters of each fold; the \
             folds of the original protocol were not published.",
            settings.draws, settings.folds
        ),
        format!(
            "Every system is told what to reject by two rules, both of which know how many unknown letters come: the \
             paper's delta, half the openness, for those that give probabilities; and the threshold of best F1 under \
             {VALIDATION_FOLDS}-fold cross-class validation on the fold's training letters, for all (for the Platt SVM on \
             the decision values of the same machines). The EVMs named after a \
             tail model have the paper's parameters: tail size 75, k = 4, cover threshold 0.5. The tuned EVM has parameters \
             found by {TRIALS} trials over the tuner's whole space on the training letters of each draw's first fold ({}), \
             at a vector ratio of 0.34, and once more with every point kept. Some letters of that fold are unknown in \
             others.",
            names.join(", ")
        ),
    ];
    if !choices.is_empty() {
        let choices: Vec<String> = choices.iter().copied().map(describe).collect();
        text.push(format!(
            "Support vector machines, by draw: {}. These, too, were found on training letters of each draw's first fold, the \
             first {} ({}/).",
            choices.join("; "),
            grid_rows(settings),
            svm_grid::FOLDER
        ));
    }
    for rule in [Rule::Validated, Rule::Formula] {
        let how = match rule {
            Rule::Formula => "At the paper's delta",
            Rule::Validated => "With validated thresholds",
        };
        for system in [TUNED.to_owned(), evm_name(TailModel::Libmr)] {
            if results.told(rule).contains(&system.as_str()) {
                text.push(format!(
                    "{how}, `{system}` comes to F1 {:.3} with 5 and {:.3} with 11 unknown letters.{}",
                    results.mean(&system, rule, 5),
                    results.mean(&system, rule, UNKNOWN),
                    ahead(results, &system, rule)
                ));
            }
        }
    }
    text
}

fn describe(choice: SvmChoice) -> String {
    let SvmChoice { cost, gamma, one_class_gamma, nu, linear_cost } = choice;
    format!(
        "C = {cost}, gamma = {gamma} for RBF machines on columns scaled to 0..1, gamma = {one_class_gamma}, nu = {nu} for \
         one-class ones, C = {linear_cost} for linear ones"
    )
}

/// Who is ahead of a system, and by how much, in a sentence.
fn ahead(results: &Results<'_>, system: &str, rule: Rule) -> String {
    let mut list = Vec::new();
    for other in results.told(rule).into_iter().filter(|other| *other != system) {
        for unknown in [0, 5, UNKNOWN] {
            let (difference, error) = results.difference(other, system, rule, unknown);
            if difference > 0.0 {
                let sure = if difference > 2.0 * error { "" } else { ", within two standard errors" };
                list.push(format!("{other} by {difference:.3} with {unknown} unknown{sure}"));
            }
        }
    }
    if list.is_empty() {
        " No other system is ahead of it with 0, 5 or 11 unknown letters.".to_owned()
    } else {
        format!(" Ahead of it: {}.", list.join("; "))
    }
}

fn figure(results: &Results<'_>, name: &str, title: &str, rule: Rule) -> Result<Figure, ReproError> {
    // Lines that lie on a neighbour's go first.
    let near = [TUNED_WHOLE, "NNO, Euclidean", "EVM, gumbel"];
    let mut systems = results.told(rule);
    for near in near {
        if systems.len() > MOST_LINES {
            systems.retain(|system| *system != near);
        }
    }
    let lines: Vec<(Vec<f64>, Vec<f64>, Vec<f64>)> = systems
        .iter()
        .enumerate()
        .map(|(index, system)| {
            // Error bars at the same place would hide each other.
            let aside = (index as f64 - systems.len() as f64 / 2.0) * 0.17;
            let share = |unknown: usize| 100.0 * unknown as f64 / (KNOWN + unknown) as f64;
            let x = (0..=UNKNOWN).map(|unknown| share(unknown) + aside).collect();
            let figures = (0..=UNKNOWN).map(|unknown| mean_and_deviation(&results.f1(system, rule, unknown)));
            let (means, deviations) = figures.unzip();
            (x, means, deviations)
        })
        .collect();
    let series: Vec<Series<'_>> = systems
        .iter()
        .zip(&lines)
        .map(|(name, (x, y, errors))| Series { name, x, y, errors: Some(errors) })
        .collect();
    let picture = curves(&Curves {
        title,
        x_label: "per cent of the test's letters that are unknown (0 to 11 letters)",
        y_label: "F1",
        series: &series,
        logarithmic_x: false,
    })?;
    let caption = format!(
        "{title}: F1 against the share of letters in the test that are unknown; bars are standard deviations over folds."
    );
    Ok(Figure { name: format!("f1-{name}"), caption, picture })
}

fn tables(results: &Results<'_>, settings: &Settings) -> Vec<Table> {
    let cell = |values: &[f64]| {
        let (mean, deviation) = mean_and_deviation(values);
        format!("{mean:.3} ± {deviation:.3}")
    };
    let figure = |system: &str, rule: Rule, unknown: usize, draw: Option<usize>| {
        let rows = results.of(system, rule, unknown).filter(|row| draw.is_none_or(|draw| row.draw == draw));
        cell(&rows.map(|row| row.f1).collect::<Vec<f64>>())
    };
    let row = |system: &str, rule: Rule, draw: Option<usize>| {
        let mut cells = vec![system.to_owned()];
        cells.extend([0, 5, UNKNOWN].map(|unknown| figure(system, rule, unknown, draw)));
        if draw.is_none() {
            let oscr =
                |unknown| results.of(system, rule, unknown).filter_map(|row| row.oscr).collect::<Vec<f64>>();
            cells.extend([5, UNKNOWN].map(|unknown| cell(&oscr(unknown))));
            let seconds: Vec<f64> = results.of(system, rule, 0).map(|row| row.fit_seconds).collect();
            cells.push(results.ratio(system).map_or("-".to_owned(), |ratio| format!("{ratio:.3}")));
            cells.push(format!("{:.2}", mean_and_deviation(&seconds).0));
        }
        cells
    };
    let header = ["", "F1, 0 unknown", "5 unknown", "11 unknown"].map(str::to_owned).to_vec();
    let mut whole = header.clone();
    whole.extend(
        ["OSCR, 5 unknown", "11 unknown", "vector ratio", "seconds to fit and validate"].map(str::to_owned),
    );
    let captions = [
        (Rule::Validated, "Thresholds validated on training letters"),
        (Rule::Formula, "The paper's delta, for systems that give probabilities"),
    ];
    let mut tables = Vec::new();
    for (rule, caption) in captions {
        tables.push(Table {
            caption: format!(
                "{caption}: mean ± standard deviation over folds; vector ratio on all 26 letters"
            ),
            header: whole.clone(),
            rows: results.told(rule).iter().map(|system| row(system, rule, None)).collect(),
        });
        for draw in (1..=settings.draws).filter(|_| settings.draws > 1) {
            tables.push(Table {
                caption: format!("{caption}: draw {draw} alone"),
                header: header.clone(),
                rows: results.told(rule).iter().map(|system| row(system, rule, Some(draw))).collect(),
            });
        }
    }
    tables
}
