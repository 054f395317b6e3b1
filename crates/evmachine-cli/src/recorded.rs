//! Every command hands its heavy work to the device that was asked for: one that takes notes, and leaves the work to the processor.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use clap::{CommandFactory, Parser};
use evmachine::device::{
    CoverWork, Deliver, DeliverMoved, Device, DeviceError, Loss, LossWork, ScatterWork, SmoothingWork,
    SupportWork, TailWork, Tails, TransformWork, WorkKind,
};
use evmachine_console::console::Console;

use crate::arguments::Arguments;
use crate::commands;

/// What was asked for.
#[derive(Default)]
struct Recorder {
    asked: Mutex<BTreeSet<&'static str>>,
}

impl Recorder {
    fn note<T>(&self, what: &'static str) -> Result<T, DeviceError> {
        self.asked.lock().expect("nobody panics with it").insert(what);
        Err(DeviceError::NotAsked { device: "recorder".to_owned() })
    }
}

impl Device for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn does(&self, _: WorkKind) -> bool {
        true
    }

    fn takes(&self, _: u64) -> bool {
        true
    }

    fn gives_way(&self, _: &DeviceError) -> bool {
        true
    }

    fn tails(&self, _: &TailWork<'_>) -> Result<Tails, DeviceError> {
        self.note("tails")
    }

    fn covers(&self, _: &CoverWork<'_>) -> Result<Vec<Vec<(u32, u32)>>, DeviceError> {
        self.note("covers")
    }

    fn supports(&self, _: &SupportWork<'_>, _: &mut Deliver<'_>) -> Result<(), DeviceError> {
        self.note("supports")
    }

    fn scatter(&self, _: &ScatterWork<'_>) -> Result<Vec<f64>, DeviceError> {
        self.note("scatter")
    }

    fn transform(&self, _: &TransformWork<'_>, _: &mut [f32]) -> Result<(), DeviceError> {
        self.note("transform")
    }

    fn smooth(&self, _: &SmoothingWork<'_>, _: &mut DeliverMoved<'_>) -> Result<(), DeviceError> {
        self.note("smooth")
    }

    fn loss<'a>(&'a self, _: &LossWork<'_>) -> Result<Box<dyn Loss + 'a>, DeviceError> {
        self.note("loss")
    }
}

/// Rows around three places, in two columns; every tenth far from them if strangers are wanted.
fn drawn(rows: usize, with_strangers: bool) -> String {
    let mut text = "class,x,y\n".to_owned();
    for row in 0..rows {
        let (class, at) = (row % 3, row as f64 * 0.618_034 % 1.0);
        let far = if with_strangers && row % 10 == 0 { 60.0 } else { 0.0 };
        let (x, y) = (class as f64 * 9.0 + at + far, (at * 7.0) % 1.0 + far);
        writeln!(text, "c{class},{x},{y}").expect("a string takes it");
    }
    text
}

/// The rows with a name each.
fn named(rows: &str) -> String {
    let line = |(number, row): (usize, &str)| match number {
        0 => format!("name,{row}"),
        _ => format!("r{number},{row}"),
    };
    rows.lines().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

fn asked(folder: &Path, line: &str) -> BTreeSet<&'static str> {
    let recorder = Arc::new(Recorder::default());
    let mut console = Console::new(true, false, None);
    console.use_device(recorder.clone());
    let path = |word: &str| match word.strip_prefix('@') {
        Some(name) => folder.join(name).display().to_string(),
        None => word.to_owned(),
    };
    let words = std::iter::once("evmachine".to_owned()).chain(line.split_whitespace().map(path));
    let arguments = Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
    commands::run(&arguments.command, &console).unwrap_or_else(|failure| panic!("{line}: {failure:?}"));
    recorder.asked.lock().expect("nobody panics with it").clone()
}

#[test]
fn every_command_uses_the_device_that_was_asked_for() {
    let place = tempfile::tempdir().expect("room for files");
    let folder = place.path();
    std::fs::write(folder.join("train.csv"), drawn(240, false)).expect("room");
    std::fs::write(folder.join("new.csv"), drawn(90, true)).expect("room");
    std::fs::write(folder.join("named.csv"), named(&drawn(240, false))).expect("room");
    std::fs::write(folder.join("moved.csv"), named(&drawn(240, true))).expect("room");
    std::fs::write(folder.join("plain.csv"), drawn(30, false).replace("class,", "name,")).expect("room");
    let lines = [
        ("train @train.csv --label class --preset plain -o @m", "tails"),
        ("train @train.csv --label class -o @robust", "tails"),
        ("update @robust --ignore @plain.csv --drop name -o @ignoring", "tails"),
        ("predict @robust @new.csv --drop class -o @predicted.csv", "supports"),
        ("forget @robust c2 -o @forgotten", "tails"),
        ("train @train.csv --label class --cover-threshold 0.5 --delta 0.05 -o @covered", "covers"),
        ("update @m @new.csv --label class -o @updated", "tails"),
        ("update @m --ignore @plain.csv --drop name -o @ignoring", "supports"),
        ("predict @m @new.csv --drop class -o @predicted.csv", "supports"),
        ("predict @m @new.csv --drop class --fdr 0.1 -o @found.csv", "supports"),
        ("evaluate @m @new.csv --label class", "supports"),
        ("calibrate @m @new.csv --label class -o @calibrated", "supports"),
        ("reduce @m --cover-threshold 0.5 -o @reduced", "covers"),
        ("forget @m c2 -o @forgotten", "supports"),
        ("edit set-aside @m --row 2 -o @edited --compare @new.csv", "supports"),
        ("doubt @m @new.csv --drop class", "supports"),
        ("suspects @train.csv --label class", "tails"),
        ("set @m --n-fused 2 -o @fused", "supports"),
        ("plot @m --queries @new.csv -o @plane.svg", "supports"),
        ("drift @m @new.csv --drop class", "supports"),
        ("train @named.csv --label class --id name -o @named", "tails"),
        ("migrate @named @named.csv --id name --drop class -o @migrated --compare @named.csv", "supports"),
        ("tune @train.csv --label class --trials 1 --space paper --max-rows 90 -o @tuned.toml", "tails"),
        ("evaluate @m @new.csv --label class --rivals @train.csv", "supports"),
        ("pool init @pool @m", ""),
        ("pool add @pool @new.csv --drop class", "supports"),
        ("pool next @pool --count 1", ""),
        ("pool label @pool stranger --group 1 --new-class", ""),
        ("pool update @pool", "tails"),
        ("pool rollback @pool", "supports"),
        ("pool promote @pool previous", "supports"),
        ("pool enrolment @pool", ""),
        ("pool init @named-pool @named", ""),
        ("pool migrate @named-pool @moved.csv @moved-pool --id name --drop class", "tails"),
    ];
    let mut ran = BTreeSet::new();
    for (line, expected) in lines {
        let found = asked(folder, line);
        assert!(expected.is_empty() || found.contains(expected), "{line}: {found:?}");
        let words: Vec<&str> = line.split_whitespace().collect();
        ran.insert(if words[0] == "pool" { words[..2].join(" ") } else { words[0].to_owned() });
    }
    let missing: Vec<String> = names().into_iter().filter(|name| !ran.contains(name)).collect();
    assert_eq!(
        missing, ELSEWHERE,
        "a new command is to be run here, or to be listed with what it does not do"
    );
}

/// Commands that ask no device, or are asked elsewhere, in the order of the help.
const ELSEWHERE: &[&str] = &[
    // As `train`, `pool add`, `pool update` and `evaluate`, for half a minute.
    "demo",
    "rows",
    "inspect",
    "export",
    // Groups are kept by the processor, so that they are the same on every machine.
    "pool ignore",
    "pool discard",
    "pool undo",
    "pool status",
    "pool events",
    "pool check",
    "pool export",
    "pool backup",
    "pool restore",
    // The server's own tests have a device.
    #[cfg(feature = "serve")]
    "serve",
    "completions",
    "man",
];

/// All commands, those of the pool with its name before them.
fn names() -> Vec<String> {
    let program = Arguments::command();
    let mut names = Vec::new();
    for command in program.get_subcommands() {
        if command.get_name() == "pool" {
            names.extend(command.get_subcommands().map(|inner| format!("pool {}", inner.get_name())));
        } else {
            names.push(command.get_name().to_owned());
        }
    }
    names
}
