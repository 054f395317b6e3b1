//! `evmachine pool enrolment`

use std::path::PathBuf;

use clap::Args;
use evmachine::EnrolmentRule;
use evmachine_console::console::{Console, print, table};
use evmachine_console::failure::Failure;
use evmachine_openworld::Pool;

use super::{counted, print_json};
use crate::failure::OrFail;

/// Set what samples must be before they found or extend a class, and list those that are held back
///
/// Nothing is held back unless a rule was set. The flags of one call are the whole rule: what no flag names is not asked for. Without
/// flags the rule stays, and is shown. What is held back keeps its label and is judged again at every update.
///
/// Example: evmachine pool enrolment pool --least-quality 0.6 --least-samples 5 --least-occasions 2
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The pool.
    pool: PathBuf,

    #[command(flatten)]
    rule: RuleArguments,

    /// Hold nothing back from now on.
    #[arg(long, conflicts_with = "rule")]
    off: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Each flag is a field of the rule.
#[derive(Debug, Args)]
#[group(id = "rule", multiple = true)]
struct RuleArguments {
    /// Take rows in, and learn samples, only of this quality or more (`evmachine pool add --quality COLUMN`); those without one are held
    /// back too.
    #[arg(long, value_name = "QUALITY", allow_hyphen_values = true)]
    least_quality: Option<f64>,

    /// The samples that a name needs before it may become a class, counting those that nothing else holds back.
    #[arg(long, value_name = "N")]
    least_samples: Option<usize>,

    /// The separate occasions that they come from, before it may become a class (`evmachine pool add --occasion COLUMN`).
    #[arg(long, value_name = "N")]
    least_occasions: Option<usize>,

    /// Tell occasions apart by time: samples are of one occasion if no gap between them is longer than this. The time is that of
    /// `evmachine pool add --time COLUMN`, or the one at which they came.
    #[arg(long, value_name = "SECONDS", requires = "least_occasions")]
    occasion_gap: Option<f64>,

    /// How far an update may move a class that is there, in widths of classes: the share of new rows among its rows, times the distance
    /// from its centre to their mean, by the median distance between two rows of a class. Beyond that, the samples farthest from the
    /// centre are held back.
    #[arg(long, value_name = "WIDTHS")]
    most_moved: Option<f64>,

    /// Hold samples back that the system named by itself (`evmachine pool label --proposed`), until a person labels them.
    #[arg(long)]
    quarantine: bool,
}

impl RuleArguments {
    /// The rule that the flags are; `None` without flags.
    fn rule(&self) -> Option<EnrolmentRule> {
        let rule = EnrolmentRule {
            least_quality: self.least_quality,
            least_samples: self.least_samples.unwrap_or(0),
            least_occasions: self.least_occasions.unwrap_or(0),
            occasion_gap: self.occasion_gap,
            most_moved: self.most_moved,
            quarantine: self.quarantine,
        };
        let is_given = rule != EnrolmentRule::default()
            || self.least_samples.is_some()
            || self.least_occasions.is_some();
        is_given.then_some(rule)
    }
}

impl Arguments {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        let mut pool = Pool::open(&self.pool).or_fail()?;
        let rule = if self.off { Some(EnrolmentRule::default()) } else { self.rule.rule() };
        if let Some(rule) = &rule {
            pool.set_enrolment(rule).or_fail()?;
        }
        let rule = pool.enrolment().or_fail()?;
        let held = pool.held_back(&console.quiet_run()).or_fail()?;
        if self.json {
            return print_json(&serde_json::json!({ "rule": rule, "held_back": held }));
        }
        if rule.is_off() {
            console.say("nothing is asked for: whatever is labelled is learned");
            return Ok(());
        }
        print(table(&["rule", ""], fields(&rule)));
        if !held.is_empty() {
            let rows = held.iter().map(|held| {
                let reason = held.reason;
                vec![
                    held.sample.to_string(),
                    held.class.clone(),
                    reason.name().to_owned(),
                    reason.to_string(),
                ]
            });
            print(table(&["sample", "class", "reason", ""], rows));
        }
        console.say(format!("{} held back", counted(held.len() as u64, "sample")));
        Ok(())
    }
}

/// What is asked for.
fn fields(rule: &EnrolmentRule) -> Vec<Vec<String>> {
    let number = |name: &str, value: Option<f64>| Some(vec![name.to_owned(), value?.to_string()]);
    let count = |name: &str, value: usize| (value > 1).then(|| vec![name.to_owned(), value.to_string()]);
    let rows = [
        number("least_quality", rule.least_quality),
        count("least_samples", rule.least_samples),
        count("least_occasions", rule.least_occasions),
        number("occasion_gap", rule.occasion_gap),
        number("most_moved", rule.most_moved),
        rule.quarantine.then(|| vec!["quarantine".to_owned(), "yes".to_owned()]),
    ];
    rows.into_iter().flatten().collect()
}
