//! `evmachine pool next`

use std::path::PathBuf;

use clap::Args;
use evmachine_console::console::{Console, print, table};
use evmachine_console::failure::Failure;
use evmachine_openworld::{Group, Pool};

use super::{counted, print_json};
use crate::failure::OrFail;

/// Show the next groups to answer
///
/// A group that was shown stays as it is until it is answered, and is shown again until then.
///
/// Example: evmachine pool next pool
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The pool.
    pool: PathBuf,

    /// How many groups.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    count: usize,

    /// Only groups that nobody has been shown, for a second person.
    #[arg(long)]
    new: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Members that are listed.
const LISTED: usize = 12;

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let mut pool = Pool::open(&arguments.pool).or_fail()?;
    let progress = console.progress();
    let groups = pool.next_groups(&console.run(&progress), arguments.count, arguments.new).or_fail()?;
    drop(progress);
    if arguments.json {
        return print_json(&groups);
    }
    if groups.is_empty() {
        console.say("nothing waits for an answer");
    }
    for group in &groups {
        print(story(group));
    }
    if let Some(group) = groups.first() {
        let pool = arguments.pool.display();
        console.say(format!("answer with `evmachine pool label {pool} CLASS --group {}`", group.number));
    }
    Ok(())
}

fn story(group: &Group) -> String {
    let nearest: Vec<String> =
        group.neighbors.iter().map(|near| format!("{} at {:.3}", near.class, near.distance)).collect();
    let members = group.members.iter().take(LISTED).map(|member| {
        let name = member.id.clone().unwrap_or_default();
        let text = member.text.as_ref().or(member.link.as_ref()).cloned().unwrap_or_default();
        vec![member.sample.to_string(), format!("{:.3}", member.distance), name, text]
    });
    let more = match group.members.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("\n  and {}", counted(more as u64, "more sample")),
    };
    format!(
        "group {}: {} within {:.3} of sample {}\nnearest known: {}\n{}{more}",
        group.number,
        counted(group.members.len() as u64, "sample"),
        group.radius,
        group.exemplar,
        nearest.join(", "),
        table(&["sample", "distance", "id", "shown"], members),
    )
}
