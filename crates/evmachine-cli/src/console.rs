//! Words to the standard error, tables and progress for a person; data alone goes to the standard output.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use evmachine::{Observer, Run, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;
use crate::interrupt;

/// How much is said.
#[derive(Debug)]
pub struct Console {
    quiet: bool,
    verbose: bool,
    terminal: bool,
    /// Bytes.
    memory: Option<usize>,
}

impl Console {
    pub(crate) fn new(quiet: bool, verbose: bool, memory: Option<usize>) -> Self {
        Self { quiet, verbose, terminal: std::io::stderr().is_terminal(), memory }
    }

    /// A library call that is watched and keeps to the memory it was given.
    pub fn run<'a>(&self, progress: &'a Progress) -> Run<'a> {
        let run = Run::new().observer(progress);
        match self.memory {
            Some(bytes) => run.memory(bytes),
            None => run,
        }
    }

    /// A line for a person.
    pub fn say(&self, line: impl AsRef<str>) {
        if !self.quiet {
            let _ = writeln!(std::io::stderr(), "{}", line.as_ref());
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

    /// A bar that follows the stages of a library call; silent where nobody watches.
    pub fn progress(&self) -> Progress {
        Progress { bar: Mutex::new(None), shown: self.terminal && !self.quiet }
    }

    /// A bar for work counted by the program itself.
    pub fn bar(&self, total: Option<u64>, what: &'static str) -> ProgressBar {
        if self.terminal && !self.quiet { bar(total, what) } else { ProgressBar::hidden() }
    }
}

/// Prints a line of what was asked for. A reader that had enough ends the program, and that is no failure.
pub(crate) fn print(text: impl AsRef<str>) {
    let mut output = std::io::stdout().lock();
    if writeln!(output, "{}", text.as_ref()).and_then(|()| output.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Errors are said however quiet the program is asked to be.
pub(crate) fn say_failure(failure: &Failure) {
    let mut error = std::io::stderr();
    let _ = writeln!(error, "error: {}", failure.message);
    if let Some(hint) = &failure.hint {
        let _ = writeln!(error, "hint: {hint}");
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

/// A table without lines between rows; all columns but the first are numbers and stand to the right.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

/// A rate with four digits, or a dash.
pub(crate) fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}
