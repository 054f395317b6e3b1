//! What every program here has in common, whatever its commands are.

use std::io::Write as _;
use std::process::ExitCode;
use std::thread::available_parallelism;

use clap::Args;

use crate::console::{Console, output_failure, printed, say_failure};
use crate::device::{self, DeviceName};
use crate::failure::{Failure, Kind};
use crate::interrupt;
use crate::megabytes::Megabytes;
use crate::text::escaped_lines;

/// The flags that stand before or after any command.
#[derive(Debug, Clone, Args)]
pub struct CommonArguments {
    /// Say nothing but errors.
    #[arg(short, long, global = true)]
    quiet: bool,

    /// Say more: times, fits, what was clipped.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,

    /// Number of threads, four for each core at most; one for each core unless given. The result does not depend on it.
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,

    /// Megabytes that training may take for tails, and again for covers, beside the data and the model; a quarter of the machine's
    /// memory unless given. Given, data that take more than a quarter of it go to a scratch folder. The result does not depend on it; less memory takes longer.
    #[arg(long, global = true, value_name = "MB")]
    memory: Option<Megabytes>,

    /// What measures distances, fits tails, chooses extreme vectors and finds supports: cpu, cuda, cuda:N, or auto, which takes
    /// a device where there is one and the work is worth sending. Decisions are the same.
    #[arg(long, global = true, value_name = "DEVICE", default_value = "cpu")]
    device: DeviceName,
}

/// Runs a command on as many threads as asked for, says why it failed where it does, and gives the exit code.
pub fn run(common: &CommonArguments, command: impl FnOnce(&Console) -> Result<(), Failure>) -> ExitCode {
    let memory = common.memory.map(|memory| memory.bytes);
    let mut console = Console::new(common.quiet, common.verbose, memory);
    let prepared = prepare(common, &console).and_then(|()| device::open(common.device, &mut console));
    let done = prepared.and_then(|device| {
        let done = command(&console).and_then(|()| printed());
        device::close(&console, device.as_ref());
        done
    });
    if let Some(megabytes) = peak_memory() {
        console.detail(format!("peak memory {megabytes:.0} MB"));
    }
    end(done)
}

/// Help, the version, or what is wrong with the command line; and the exit code.
pub fn end_unparsed(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let shown = escaped_lines(&text);
    let written = if shown == text {
        error.print().and_then(|()| std::io::stdout().flush())
    } else {
        std::io::stderr().write_all(shown.as_bytes())
    };
    match written {
        Err(failed) if !error.use_stderr() => end(output_failure(&failed)),
        // Nobody is there to be told.
        _ => ExitCode::from(error.exit_code() as u8),
    }
}

fn end(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say_failure(&failure);
            failure.exit_code()
        }
    }
}

/// More threads than this for each core gain nothing, and thousands of them exhaust the machine.
const THREADS_PER_CORE: usize = 4;

fn prepare(common: &CommonArguments, console: &Console) -> Result<(), Failure> {
    interrupt::listen();
    let Some(asked) = common.threads else { return Ok(()) };
    if asked == 0 {
        return Err(Failure::new(Kind::Usage, "--threads 0: at least one thread is needed"));
    }
    let cores = available_parallelism().map_or(1, usize::from);
    let threads = asked.min(THREADS_PER_CORE * cores);
    if threads < asked {
        console.warn(format!("--threads {asked}: there are {cores} cores; {threads} threads are used"));
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
    interrupt::check()
}

/// The largest resident size of this process so far; where the system does not say, nothing.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}
