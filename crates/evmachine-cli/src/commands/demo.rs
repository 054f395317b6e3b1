//! `evmachine demo`

use std::path::PathBuf;

use clap::Args;
use evmachine::{Evm, Features, Labels, Params, Strategy, UnknownPool};
use evmachine_eval::{Answers, Evaluation};

use crate::console::{Console, print, table};
use crate::failure::Failure;
use crate::report::{self, Story};
use crate::{interrupt, letter};

/// Letters that the first model knows.
const KNOWN: [&str; 15] = ["A", "B", "C", "D", "E", "G", "H", "K", "L", "N", "P", "R", "T", "V", "X"];
/// How many groups of unknowns the person labels.
const LABELLED_GROUPS: usize = 120;

/// Run the whole loop on the data in the box: train, meet unknowns, pool, label, update
///
/// Trains on 15 letters, meets 11 that it has never seen, rejects, pools the unknowns, ranks what to label, takes
/// labels for some of them, updates, and shows how the result changed. Writes report.html.
///
/// Example: evmachine demo
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder for report.html.
    #[arg(short, long, value_name = "FOLDER", default_value = "evmachine-demo")]
    output: PathBuf,
}

/// Rows of the data that play each part.
struct Parts {
    train: Vec<usize>,
    stream: Vec<usize>,
    test: Vec<usize>,
}

impl Parts {
    /// The known letters of the first 15,000 rows train; the last 5,000 are met in two halves.
    fn new(labels: &Labels) -> Self {
        let known = |&row: &usize| KNOWN.contains(&labels.name(row));
        Self {
            train: (0..15_000).filter(known).collect(),
            stream: (15_000..17_500).collect(),
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
    let params = Params::robust();
    let progress = console.progress();
    let (mut evm, learned) = Evm::fit_with(&console.run(&progress), &params, &train.0, &train.1)?;
    drop(progress);
    print(format!(
        "   {} rows, {} extreme vectors; tails and fits took {:.2?}, the cover {:.2?}",
        learned.rows, learned.extreme_vectors, learned.times.tails, learned.times.cover
    ));
    print("   delta is set on held-out rows so that 5 % of what is known may be rejected\n");
    let before = ask(&evm, &test)?;

    print(format!("2. Meet {} letters, of which 11 kinds were never seen", parts.stream.len()));
    let mut pool = UnknownPool::new(letter::DIMENSIONS);
    let ids = pool.add_unknown(&evm, &stream.0)?;
    let rows = rejected_rows(&evm, &stream.0)?;
    let strangers = rows.iter().filter(|&&row| evm.class_index(stream.1.name(row)).is_none()).count();
    print(format!(
        "   {} were called unknown and pooled; {strangers} of them are new letters indeed\n",
        rows.len()
    ));
    interrupt::check()?;

    print("3. Choose what to label: the unknowns that explain most of the pool");
    let suggestions = pool.suggest(&evm, Strategy::Coverage, LABELLED_GROUPS)?;
    let truth = |id: u64| stream.1.name(rows[(id - ids[0]) as usize]);
    let shown = suggestions.iter().take(6).map(|suggestion| {
        let name = truth(suggestion.sample);
        let same = suggestion.group.iter().filter(|&&id| truth(id) == name).count();
        let (size, purity) = (suggestion.group.len(), 100 * same / suggestion.group.len());
        vec![format!("a sample of {name}"), size.to_string(), format!("{purity} %")]
    });
    print(indented(&table(&["   first six", "group", "of one kind"], shown)));

    print(format!(
        "\n4. Label {} groups: a person names each and strikes out what does not belong",
        suggestions.len()
    ));
    let mut named = 0;
    for suggestion in &suggestions {
        let name = truth(suggestion.sample);
        let members: Vec<u64> = suggestion.group.iter().copied().filter(|&id| truth(id) == name).collect();
        pool.label(&members, name)?;
        named += members.len();
    }
    print(format!("   {named} of {} pooled samples now have a label\n", rows.len()));

    print("5. Update");
    let (batch, batch_labels) = pool.take_labelled();
    let progress = console.progress();
    let updated = evm.update_with(&console.run(&progress), &batch, &batch_labels)?;
    drop(progress);
    let spent = updated.times.tails + updated.times.refit + updated.times.cover;
    print(format!(
        "   {} new classes: {}; {} Psi-models of old classes refitted; {:.2?}\n",
        updated.new_classes.len(),
        updated.new_classes.join(" "),
        updated.refitted,
        spent
    ));

    let after = ask(&evm, &test)?;
    print(format!("6. The same {} held-out letters, before and after", parts.test.len()));
    let figures = compare(&before.0, &after.0, &test.1);
    print(indented(&table(&["", "before", "after"], figures.clone())));

    let story = Story {
        evm: &evm,
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
        groups: suggestions.len(),
    };
    let path = arguments.output.join("report.html");
    report::write(&story, &path)?;
    print(format!("\nThe report with pictures is {}", path.display()));
    Ok(())
}

fn rejected_rows(evm: &Evm, features: &Features<'_>) -> Result<Vec<usize>, Failure> {
    let decisions = evm.decide_with(&interrupt::run(), features)?;
    Ok((0..decisions.len()).filter(|&row| decisions[row].class().is_none()).collect())
}

fn ask(evm: &Evm, (features, labels): &(Features<'_>, Labels)) -> Result<(Answers, Evaluation), Failure> {
    let answers = Answers::ask(&interrupt::run(), evm, features, labels)?;
    let evaluation = Evaluation::new(&answers, evm.classes().len());
    Ok((answers, evaluation))
}

/// What became of the letters known from the start, and of the new ones.
fn compare(before: &Answers, after: &Answers, labels: &Labels) -> Vec<Vec<String>> {
    let outcome = |answers: &Answers, first: bool, counts: fn(Option<usize>, usize, bool) -> bool| {
        let rows: Vec<usize> =
            (0..answers.len()).filter(|&row| KNOWN.contains(&labels.name(row)) == first).collect();
        let hits =
            rows.iter().filter(|&&row| counts(answers.truth[row], answers.best[row], answers.accepted[row]));
        format!("{:.1} %", 100.0 * hits.count() as f64 / rows.len().max(1) as f64)
    };
    let mut lines = Vec::new();
    for (kind, first) in [("15 old letters", true), ("11 new letters", false)] {
        let mut line = |what: &str, counts: fn(Option<usize>, usize, bool) -> bool| {
            let name = format!("{kind}: {what}");
            lines.push(vec![name, outcome(before, first, counts), outcome(after, first, counts)]);
        };
        line("named right", |truth, best, accepted| accepted && truth == Some(best));
        line("called unknown", |_, _, accepted| !accepted);
        line("named wrong", |truth, best, accepted| accepted && truth != Some(best));
    }
    lines
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("   {line}")).collect::<Vec<_>>().join("\n")
}
