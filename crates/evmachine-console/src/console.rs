//! Words to the standard error, tables and progress for a person; data alone goes to the standard output.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use evmachine::device::Device;
use evmachine::{Observer, Run, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::{Failure, Kind};
use crate::interrupt;
use crate::text::{escaped, escaped_json, escaped_lines};

/// How much is said.
#[derive(Debug)]
pub struct Console {
    quiet: bool,
    verbose: bool,
    terminal: bool,
    /// Bytes.
    memory: Option<usize>,
    device: Option<Arc<dyn Device>>,
}

impl Console {
    /// For a program that says nothing but errors, or more than usual. `memory`: bytes that a library call may take.
    pub fn new(quiet: bool, verbose: bool, memory: Option<usize>) -> Self {
        Self { quiet, verbose, terminal: io::stderr().is_terminal(), memory, device: None }
    }

    /// Has library calls use the device.
    pub fn use_device(&mut self, device: Arc<dyn Device>) {
        self.device = Some(device);
    }

    /// The device, if one is used.
    pub fn device(&self) -> Option<&Arc<dyn Device>> {
        self.device.as_ref()
    }

    /// A library call that is watched, keeps to the memory it was given, and uses the device that was asked for.
    pub fn run<'a>(&'a self, progress: &'a Progress) -> Run<'a> {
        self.run_for(progress)
    }

    /// As [`run`](Self::run), without a bar: one of many calls, or a short one.
    pub fn quiet_run(&self) -> Run<'_> {
        self.run_for(&interrupt::Watch)
    }

    #[expect(clippy::disallowed_methods, reason = "the one place where runs are made")]
    fn run_for<'a>(&'a self, observer: &'a dyn Observer) -> Run<'a> {
        let run = Run::new().observer(observer);
        let run = self.memory.map_or(run, |bytes| run.memory(bytes));
        self.device.as_ref().map_or(run, |device| run.device(device.as_ref()))
    }

    /// Bytes that a command may take, where that was said.
    pub fn memory(&self) -> Option<usize> {
        self.memory
    }

    /// A line for a person.
    pub fn say(&self, line: impl AsRef<str>) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{}", escaped_lines(line.as_ref()));
        }
    }

    /// A line for a person who wants to know more.
    pub fn detail(&self, line: impl AsRef<str>) {
        if self.verbose {
            self.say(line);
        }
    }

    /// A line about what looks wrong.
    pub fn warn(&self, line: impl AsRef<str>) {
        self.say(format!("warning: {}", line.as_ref()));
    }

    /// As [`warn`](Self::warn), where there is something to say.
    pub fn warn_if(&self, line: Option<String>) {
        if let Some(line) = line {
            self.warn(line);
        }
    }

    /// A bar that follows the stages of a library call; silent where nobody watches.
    pub fn progress(&self) -> Progress {
        Progress { bar: Mutex::new(None), shown: self.terminal && !self.quiet }
    }

    /// A bar for work counted by the program itself.
    pub fn bar(&self, total: Option<u64>, what: &'static str) -> ProgressBar {
        if self.terminal && !self.quiet { bar(total, what) } else { ProgressBar::hidden() }
    }
}

/// What went wrong with the standard output, once something did. From then on nothing is written to it.
static OUTPUT: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints what was asked for, for a person. Where that fails, `printed` knows.
pub fn print(text: impl AsRef<str>) {
    print_bytes((escaped_lines(text.as_ref()) + "\n").as_bytes());
}

/// As [`print()`], for a program.
pub fn print_json(json: &serde_json::Value) {
    print_bytes((escaped_json(&format!("{json:#}")) + "\n").as_bytes());
}

/// As [`print()`], as it is.
pub fn print_bytes(bytes: &[u8]) {
    let mut failed = OUTPUT.lock().unwrap_or_else(PoisonError::into_inner);
    if failed.is_some() {
        return;
    }
    let mut output = io::stdout().lock();
    *failed = output.write_all(bytes).and_then(|()| output.flush()).err();
}

/// Whether all that was printed has arrived. A reader that had enough is no failure, and no reason to leave undone what else the
/// command does.
pub(crate) fn printed() -> Result<(), Failure> {
    match &*OUTPUT.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => output_failure(error),
        None => Ok(()),
    }
}

/// What an error of the standard output comes to.
pub(crate) fn output_failure(error: &io::Error) -> Result<(), Failure> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Failure::new(Kind::Other, format!("standard output could not be written: {error}"))),
    }
}

/// Errors are said however quiet the program is asked to be.
pub(crate) fn say_failure(failure: &Failure) {
    let mut error = io::stderr();
    let _ = writeln!(error, "error: {}", escaped_lines(&failure.message));
    if let Some(hint) = &failure.hint {
        let _ = writeln!(error, "hint: {}", escaped_lines(&hint.to_string()));
    }
}

fn bar(total: Option<u64>, what: &'static str) -> ProgressBar {
    let template = match total {
        Some(_) => "{msg:28} {bar:40} {human_pos}/{human_len} {eta}",
        None => "{msg:28} {spinner} {human_pos} rows, {per_sec}",
    };
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(8));
    let style = ProgressStyle::with_template(template).expect("the templates above are well-formed");
    bar.set_style(style);
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Draws the progress of library calls and passes Ctrl-C on to them.
#[derive(Debug)]
pub struct Progress {
    bar: Mutex<Option<(Stage, ProgressBar)>>,
    shown: bool,
}

impl Observer for Progress {
    fn progress(&self, stage: Stage, done: u64, total: u64) -> ControlFlow<()> {
        if self.shown
            && let Ok(mut current) = self.bar.lock()
        {
            if current.as_ref().is_none_or(|(shown, _)| *shown != stage) {
                if let Some((_, old)) = current.take() {
                    old.finish_and_clear();
                }
                *current = Some((stage, bar(Some(total), name(stage))));
            }
            if let Some((_, bar)) = current.as_ref() {
                bar.set_length(total);
                bar.set_position(done.max(bar.position().min(total)));
            }
        }
        interrupt::flow()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Ok(bar) = self.bar.get_mut()
            && let Some((_, bar)) = bar.take()
        {
            bar.finish_and_clear();
        }
    }
}

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Whitening => "whitening",
        Stage::Smoothing => "smoothing",
        Stage::Tails => "fitting tails",
        Stage::Refit => "refitting",
        Stage::Cover => "choosing extreme vectors",
        Stage::Probe => "fitting the probe",
        Stage::Predict => "predicting",
        _ => "working",
    }
}

/// A table without lines between rows; all columns but the first are numbers and stand to the right. A cell is one line, whatever
/// names are in it.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(|cell| escaped(cell)));
    for row in rows {
        table.add_row(row.iter().map(|cell| escaped(cell)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

/// A rate with four digits, or a dash.
pub fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}
