//! `evmachine demo`

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use evmachine::{Evm, Features, Labels, Params, Report, Run};
use evmachine_console::console::{Console, print, table};
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::{interrupt, letter};
use evmachine_eval::{Answers, Evaluation};
use evmachine_openworld::{Answer, Pool, SampleId, Target, Which};

use crate::failure::OrFail;
use crate::report::{self, Story};

/// Letters that the first model knows.
pub(super) const KNOWN: [&str; 15] =
    ["A", "B", "C", "D", "E", "G", "H", "K", "L", "N", "P", "R", "T", "V", "X"];
/// Rounds of answers, with an update after each.
const ROUNDS: usize = 4;
/// Groups of unknowns that the person answers in a round.
const GROUPS: usize = 30;

/// Run the whole loop on the data in the box: train, meet unknowns, pool, label, update
///
/// Trains on 15 letters, meets 11 that it has never seen, rejects, pools the unknowns, groups them, takes answers for the
/// largest groups in four rounds with an update after each, and shows what became of it. Writes report.html, and the pool, which
/// `evmachine pool` goes on with.
///
/// Example: evmachine demo
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder for report.html and the pool.
    #[arg(short, long, value_name = "FOLDER", default_value = "evmachine-demo")]
    output: PathBuf,
}

/// Rows of the data that play each part.
pub(super) struct Parts {
    pub(super) train: Vec<usize>,
    pub(super) stream: Vec<usize>,
    test: Vec<usize>,
}

impl Parts {
    /// The known letters of the first 12,500 rows train; 5,000 are met, and the last 2,500 test.
    pub(super) fn new(labels: &Labels) -> Self {
        let known = |&row: &usize| KNOWN.contains(&labels.name(row));
        Self {
            train: (0..12_500).filter(known).collect(),
            stream: (12_500..17_500).collect(),
            test: (17_500..20_000).collect(),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let (features, labels) = letter::read()?;
    let parts = Parts::new(&labels);
    let train = (features.select(&parts.train), labels.select(&parts.train));
    let stream = (features.select(&parts.stream), labels.select(&parts.stream));
    let test = (features.select(&parts.test), labels.select(&parts.test));

    print(format!("1. Train on {} letters: {}", KNOWN.len(), KNOWN.join(" ")));
    let params = Params::robust().keeping_all();
    let progress = console.progress();
    let (evm, learned) = Evm::fit_with(&console.run(&progress), &params, &train.0, &train.1)?;
    drop(progress);
    print(format!(
        "   {} rows, {} extreme vectors; tails and fits took {:.2?}, the cover {:.2?}",
        learned.rows, learned.extreme_vectors, learned.times.tails, learned.times.cover
    ));
    print(format!("   Unknown is what has a support below 0: {}\n", evm.promise()));
    let before = ask(&console.quiet_run(), &evm, &test)?;

    print(format!("2. Meet {} letters, of which 11 kinds were never seen", parts.stream.len()));
    let folder = arguments.output.join("pool");
    let mut pool = empty_pool(&folder, &evm)?;
    let outcomes = pool.add(&console.quiet_run(), &stream.0, &[], Which::Unknown).or_fail()?;
    let rows: HashMap<SampleId, usize> =
        outcomes.iter().enumerate().filter_map(|(row, outcome)| Some((outcome.sample()?, row))).collect();
    let truth = |sample: SampleId| stream.1.name(rows[&sample]);
    let strangers = rows.keys().filter(|&&sample| !KNOWN.contains(&truth(sample))).count();
    print(format!(
        "   {} were called unknown and pooled; {strangers} of them are new letters indeed\n",
        rows.len()
    ));

    print(format!(
        "3. Answer {ROUNDS} rounds of {GROUPS} groups: a person names each and strikes out what does not belong"
    ));
    let mut tally = Tally::default();
    let mut updated: Option<Report> = None;
    let mut progressed = vec![progress_line(0, 0, 0, &before.0, &test.1)];
    for round in 1..=ROUNDS {
        interrupt::check()?;
        tally.answer(&console.quiet_run(), &mut pool, truth)?;
        let progress = console.progress();
        let learned = pool.update(&console.run(&progress), PERSON).or_fail()?;
        drop(progress);
        let new_classes = updated.map_or(Vec::new(), |report| report.new_classes);
        updated = learned.report.map(|mut report| {
            report.new_classes = [new_classes, report.new_classes].concat();
            report
        });
        let answers = ask(&console.quiet_run(), &*pool.live().or_fail()?, &test)?.0;
        progressed.push(progress_line(round * GROUPS, tally.struck, tally.named, &answers, &test.1));
    }
    print(indented(&table(&["   first six", "group", "of one kind"], std::mem::take(&mut tally.shown))));
    let header =
        ["   groups", "struck out", "labels", "new letters right", "unknown", "wrong", "old letters right"];
    print(format!("\n{}\n", indented(&table(&header, progressed))));
    let Some(updated) = updated else { return Ok(()) };
    print(format!(
        "4. The model knows {} new letters: {}\n",
        updated.new_classes.len(),
        updated.new_classes.join(" ")
    ));

    let after = ask(&console.quiet_run(), &*pool.live().or_fail()?, &test)?;
    print(format!("5. The same {} held-out letters, before and after", parts.test.len()));
    let figures = compare(&before.0, &after.0, &test.1);
    print(indented(&table(&["", "before", "after"], figures.clone())));
    let answers = ROUNDS * GROUPS;
    let Tally { named, struck, .. } = tally;
    let by_class = named / updated.new_classes.len().max(1);
    print(format!(
        "\n   That took {answers} answers and {struck} strikes: {named} labels, some {by_class} for a new letter, where each old \
         letter\n   was trained on some {} rows. More answers name more of them right: go on with\n   `evmachine pool next {}`.",
        learned.rows / KNOWN.len(),
        folder.display()
    ));

    let story = Story {
        evm: &*pool.live().or_fail()?,
        features: &features,
        train: &parts.train,
        test: &parts.test,
        before: &before,
        after: &after,
        figures: &figures,
        learned: &learned,
        updated: &updated,
        pooled: rows.len(),
        strangers,
        named,
        groups: answers,
    };
    let path = arguments.output.join("report.html");
    report::write(&story, &path)?;
    let pictures = if cfg!(feature = "plot") { "with" } else { "without" };
    print(format!("\nThe report {pictures} pictures is {}", path.display()));
    Ok(())
}

/// What the person has done.
#[derive(Default)]
struct Tally {
    named: usize,
    struck: usize,
    /// Lines on the first groups.
    shown: Vec<Vec<String>>,
}

impl Tally {
    /// Names the next groups after their exemplars.
    fn answer<'a>(
        &mut self,
        run: &Run<'_>,
        pool: &mut Pool,
        truth: impl Fn(SampleId) -> &'a str,
    ) -> Result<(), Failure> {
        for group in pool.next_groups(run, GROUPS, false).or_fail()? {
            let name = truth(group.exemplar);
            let members = group.members.iter().map(|member| member.sample);
            let except: Vec<SampleId> = members.filter(|&sample| truth(sample) != name).collect();
            let same = group.members.len() - except.len();
            if self.shown.len() < 6 {
                let purity = format!("{} %", 100 * same / group.members.len());
                self.shown.push(vec![format!("around a {name}"), group.members.len().to_string(), purity]);
            }
            let target = Target::Group { group: group.number, except: &except };
            pool.answer(run, &target, Answer::Label(name), PERSON).or_fail()?;
            self.named += same;
            self.struck += except.len();
        }
        Ok(())
    }
}

/// Who answers in the demo.
const PERSON: Option<&str> = Some("demo");

/// A pool in place of the one that an earlier demo made there, unless somebody else has answered since.
fn empty_pool(folder: &Path, evm: &Evm) -> Result<Pool, Failure> {
    if folder.join("pool.sqlite").is_file() {
        let events = Pool::open(folder).or_fail()?.events().or_fail()?;
        if events.iter().any(|event| event.person.as_deref() != PERSON) {
            let message = format!("{} has answers that are not the demo's own", folder.display());
            return Err(Failure::new(Kind::Other, message).hint("remove it, or name another folder with -o"));
        }
        std::fs::remove_dir_all(folder)
            .map_err(|error| Failure::new(Kind::Other, error.to_string()).about(folder.display()))?;
    }
    Pool::create(folder, evm).or_fail()
}

/// What answers so far have come to.
fn progress_line(
    groups: usize,
    struck: usize,
    labels: usize,
    answers: &Answers,
    truth: &Labels,
) -> Vec<String> {
    let new = |counts| share(answers, truth, false, counts);
    vec![
        groups.to_string(),
        struck.to_string(),
        labels.to_string(),
        new(RIGHT),
        new(UNKNOWN),
        new(WRONG),
        share(answers, truth, true, RIGHT),
    ]
}

fn ask(
    run: &Run<'_>,
    evm: &Evm,
    (features, labels): &(Features<'_>, Labels),
) -> Result<(Answers, Evaluation), Failure> {
    let answers = Answers::ask(run, evm, features, labels)?;
    let evaluation = Evaluation::new(&answers, evm.classes().len());
    Ok((answers, evaluation))
}

/// Whether an answer counts: by truth, best class, and whether it was accepted.
type Counts = fn(Option<usize>, usize, bool) -> bool;
const RIGHT: Counts = |truth, best, accepted| accepted && truth == Some(best);
const UNKNOWN: Counts = |_, _, accepted| !accepted;
const WRONG: Counts = |truth, best, accepted| accepted && truth != Some(best);

/// Share of the old letters, or of the new ones, that count.
fn share(answers: &Answers, labels: &Labels, old: bool, counts: Counts) -> String {
    let rows: Vec<usize> =
        (0..answers.len()).filter(|&row| KNOWN.contains(&labels.name(row)) == old).collect();
    let hits =
        rows.iter().filter(|&&row| counts(answers.truth[row], answers.best[row], answers.accepted[row]));
    format!("{:.1} %", 100.0 * hits.count() as f64 / rows.len().max(1) as f64)
}

/// What became of the letters known from the start, and of the new ones.
fn compare(before: &Answers, after: &Answers, labels: &Labels) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for (kind, old) in [("15 old letters", true), ("11 new letters", false)] {
        for (what, counts) in [("named right", RIGHT), ("called unknown", UNKNOWN), ("named wrong", WRONG)] {
            let shares = [before, after].map(|answers| share(answers, labels, old, counts));
            lines.push([vec![format!("{kind}: {what}")], shares.to_vec()].concat());
        }
    }
    lines
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("   {line}")).collect::<Vec<_>>().join("\n")
}
