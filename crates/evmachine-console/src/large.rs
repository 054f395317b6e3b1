//! Data that does not fit the memory: rows go to a scratch folder as they are read, and training works there.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use evmachine::scratch::{Scratch as _, ScratchFolder, ScratchRoom};
use evmachine::{Evm, Features, Fill, Labels, Params, Run, scratch};
use evmachine_data::{Batch, Gathering, ReadOptions};

use crate::console::Console;
use crate::failure::{Failure, Kind};
use crate::hint::Hint;
use crate::text::counted;

/// Where what does not fit the memory goes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Data larger than memory")]
pub struct ScratchArguments {
    /// The folder for rows and tails that do not fit --memory; OUTPUT.scratch unless given, and removed in the end. Given, it is used
    /// whatever --memory is. The model is the same.
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,

    /// Go on from where a run with the same data and parameters was interrupted.
    #[arg(long)]
    resume: bool,
}

impl ScratchArguments {
    /// For a command that writes that file.
    pub fn store(&self, console: &Console, output: &Path) -> Store {
        let beside = || {
            let mut name = output.as_os_str().to_owned();
            name.push(".scratch");
            PathBuf::from(name)
        };
        Store {
            path: self.scratch.clone().unwrap_or_else(beside),
            always: self.scratch.is_some() || self.resume,
            resume: self.resume,
            memory: console.memory(),
            folder: OnceCell::new(),
            begun: Cell::new(false),
        }
    }
}

/// A scratch folder that is made when something has to go there.
pub struct Store {
    path: PathBuf,
    always: bool,
    resume: bool,
    /// Bytes, where a limit was given.
    memory: Option<usize>,
    folder: OnceCell<ScratchFolder>,
    begun: Cell<bool>,
}

impl Store {
    /// Bytes of features beyond which they go to the folder: training lays out as much again and keeps as much.
    fn share(&self) -> usize {
        match self.memory {
            _ if self.always => 0,
            Some(memory) => memory / 4,
            None => usize::MAX,
        }
    }

    fn open(&self) -> Result<&ScratchFolder, Failure> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        let folder = ScratchFolder::open(&self.path)?;
        Ok(self.folder.get_or_init(|| folder))
    }

    /// Has a run use the folder, if something is there, and says so.
    pub fn begin<'a>(
        &'a self,
        console: &Console,
        run: Run<'a>,
        (features, labels): (&Features<'_>, &Labels),
        params: &Params,
        besides: &[&Features<'_>],
        evm: Option<&Evm>,
    ) -> Result<Run<'a>, Failure> {
        let Some(folder) = self.folder.get() else { return Ok(run) };
        self.refuse_witnesses(params, features, labels)?;
        let job = scratch::job(params, features, labels, besides, evm)
            .map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
        let first = !self.begun.replace(true);
        if first && !self.resume && folder.holds(&job)? {
            let path = self.path.display();
            let found = format!("{path} has the work of an interrupted run of this very command");
            return Err(Failure::new(Kind::Usage, found).hint(
                Hint::flags(&["resume"], "--resume goes on from it")
                    .then(format!("remove {path} to begin anew")),
            ));
        }
        let goes_on = folder.begin(&job, self.resume && first)?;
        if goes_on {
            console.say(format!("going on from what is in {}", self.path.display()));
        } else if self.resume {
            console.say(format!("nothing to go on from in {}; from the beginning", self.path.display()));
        }
        let bytes = features.values().len() as u64 * 4;
        console.detail(format!(
            "{} MB of features lie in {}; --resume goes on from there after an interruption",
            bytes >> 20,
            self.path.display()
        ));
        Ok(run.scratch(folder))
    }

    /// The coefficients of a probe are in memory, whatever rows are not.
    fn refuse_witnesses(
        &self,
        params: &Params,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<(), Failure> {
        let Some(memory) = self.memory else { return Ok(()) };
        let needed = params.witness_memory(features.rows(), features.columns(), labels.names().len());
        if needed <= memory {
            return Ok(());
        }
        Err(Failure::new(
            Kind::Usage,
            format!(
                "the linear probe works on the coefficients of {} in memory, about {} MB, and --memory allows {}",
                counted(labels.names().len() as u64, "class"),
                needed >> 20,
                memory >> 20
            ),
        )
        .hint(
            Hint::flags(
                &["logit-weight", "probe-weight"],
                "--logit-weight 0 --probe-weight 0 leaves it out",
            )
            .then(Hint::flags(&["preset"], "so do --preset plain and --preset paper")),
        ))
    }

    /// Removes the folder, once the output is written.
    pub fn clear(self) -> Result<(), Failure> {
        self.folder.into_inner().map_or(Ok(()), |folder| Ok(folder.clear()?))
    }
}

/// Rows as they are read: in memory, or in the folder of a store once they take more than their share.
pub(crate) struct Sink<'a> {
    store: Option<&'a Store>,
    gathering: Gathering,
    /// Values that were written there.
    written: Option<(Box<dyn ScratchRoom>, usize)>,
    /// Bytes of features in memory.
    held: usize,
    /// Labels by number: many rows have few.
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    labels: Vec<u32>,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(options: &ReadOptions, store: Option<&'a Store>) -> Self {
        Self {
            store,
            gathering: Gathering::new(options),
            written: None,
            held: 0,
            names: Vec::new(),
            numbers: HashMap::new(),
            labels: Vec::new(),
        }
    }

    /// Whether so many more bytes of features have to go to the folder.
    fn spills(&self, more: usize) -> Option<&'a Store> {
        self.store.filter(|store| self.written.is_none() && self.held.saturating_add(more) > store.share())
    }

    /// Makes room for rows that a file announces.
    pub(crate) fn expect(&mut self, file: &str, rows: u64, columns: usize) -> Result<(), Failure> {
        let bytes = usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(4 * columns);
        if self.spills(bytes).is_some() || self.written.is_some() {
            return Ok(());
        }
        Ok(self.gathering.expect(file, rows, columns)?)
    }

    pub(crate) fn add(&mut self, file: &str, mut batch: Batch) -> Result<(), Failure> {
        if let Some(labels) = &mut batch.labels {
            for label in labels.drain(..) {
                let number = self.numbers.get(&label).copied().unwrap_or_else(|| {
                    let number = self.names.len() as u32;
                    self.numbers.insert(label.clone(), number);
                    self.names.push(label);
                    number
                });
                self.labels.push(number);
            }
        }
        if let Some(store) = self.spills(4 * batch.features.len()) {
            let mut room = store.open()?.room().map_err(|error| store.failure(&error))?;
            let before = self.gathering.take_features();
            room.write(0, &before).map_err(|error| store.failure(&error))?;
            self.written = Some((room, before.len()));
        }
        if let (Some((room, written)), Some(store)) = (&mut self.written, self.store) {
            let values = std::mem::take(&mut batch.features);
            room.write(*written, &values).map_err(|error| store.failure(&error))?;
            *written += values.len();
        }
        self.held += 4 * batch.features.len();
        Ok(self.gathering.add(file, batch)?)
    }

    /// All rows, with missing values filled by a rule, if there is one.
    pub(crate) fn finish(self, fill: Option<Fill>) -> Result<SpooledRows, Failure> {
        let mut batch = self.gathering.finish();
        let labels = batch.labels.take().map(|_| Texts { names: self.names, numbers: self.labels });
        let (features, fill) = if let (Some((room, _)), Some(store)) = (self.written, self.store) {
            store.values(room, batch.columns, fill)?
        } else {
            let mut values = std::mem::take(&mut batch.features);
            let fill = fill.map(|rule| rule.learn(&values, batch.columns));
            if let Some(numbers) = &fill {
                evmachine::fill(&mut values, numbers);
            }
            (Features::new(values, batch.columns)?, fill)
        };
        Ok(SpooledRows { batch, features, labels, fill })
    }
}

/// Rows that were read.
pub(crate) struct SpooledRows {
    /// Numbers and identifiers alone.
    pub(crate) batch: Batch,
    pub(crate) features: Features<'static>,
    pub(crate) labels: Option<Texts>,
    pub(crate) fill: Option<Vec<f32>>,
}

/// The labels of rows, each text once.
pub(crate) struct Texts {
    names: Vec<String>,
    numbers: Vec<u32>,
}

impl Texts {
    /// The label of each row.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.numbers.iter().map(|&number| &self.names[number as usize][..])
    }
}

impl Store {
    /// Values that were written, with missing ones filled by a rule, if there is one.
    fn values(
        &self,
        room: Box<dyn ScratchRoom>,
        columns: usize,
        fill: Option<Fill>,
    ) -> Result<(Features<'static>, Option<Vec<f32>>), Failure> {
        let failed = |error: std::io::Error| self.failure(&error);
        let mut values = room.finish().map_err(failed)?;
        let fill = fill.map(|rule| rule.learn(&values, columns));
        if let Some(numbers) = &fill {
            let mut filled = self.open()?.room().map_err(failed)?;
            let part = ((1 << 20) / columns.max(1)).max(1) * columns;
            for (number, values) in values.chunks(part.max(1)).enumerate() {
                let mut values = values.to_vec();
                evmachine::fill(&mut values, numbers);
                filled.write(number * part, &values).map_err(failed)?;
            }
            values = filled.finish().map_err(failed)?;
        }
        Ok((Features::shared(values, columns)?, fill))
    }

    fn failure(&self, error: &std::io::Error) -> Failure {
        Failure::new(Kind::Other, format!("{}: {error}", self.path.display()))
            .hint(Hint::flags(&["scratch"], "make room there, or name another folder with --scratch"))
    }
}
