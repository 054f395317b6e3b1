//! What every program here has in common, whatever its commands are.

use std::process::ExitCode;

use clap::Args;

use crate::console::{Console, say_failure};
use crate::failure::{Failure, Kind};
use crate::interrupt;
use crate::megabytes::Megabytes;

/// The flags that stand before or after any command.
#[derive(Debug, Clone, Args)]
pub struct CommonArguments {
    /// Say nothing but errors.
    #[arg(short, long, global = true)]
    quiet: bool,

    /// Say more: times, fits, what was clipped.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,

    /// Number of threads; all cores unless given. The result does not depend on it.
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,

    /// Megabytes that training may take for tails and covers beside the data and the model; 1024 unless given. The
    /// result does not depend on it; less memory takes longer.
    #[arg(long, global = true, value_name = "MB")]
    memory: Option<Megabytes>,
}

/// Runs a command on as many threads as asked for, says why it failed where it does, and gives the exit code.
pub fn run(common: &CommonArguments, command: impl FnOnce(&Console) -> Result<(), Failure>) -> ExitCode {
    let memory = common.memory.map(|memory| memory.bytes);
    let console = Console::new(common.quiet, common.verbose, memory);
    let done = prepare(common).and_then(|()| command(&console));
    if let Some(megabytes) = peak_memory() {
        console.detail(format!("peak memory {megabytes:.0} MB"));
    }
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say_failure(&failure);
            failure.exit_code()
        }
    }
}

fn prepare(common: &CommonArguments) -> Result<(), Failure> {
    interrupt::listen();
    let Some(threads) = common.threads else { return Ok(()) };
    if threads == 0 {
        return Err(Failure::new(Kind::Usage, "--threads 0: at least one thread is needed"));
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| Failure::new(Kind::Other, error.to_string()))
}

/// The largest resident size of this process so far; where the system does not say, nothing.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}
