//! `evmachine pool backup` and `restore`

use std::path::PathBuf;

use clap::Args;
use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_openworld::Pool;

use crate::failure::OrFail;

/// Copy a pool, as it is at one moment, while others use it
///
/// Example: evmachine pool backup pool pool-backup
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The pool.
    pool: PathBuf,

    /// The folder to copy it to; made if it is not there.
    folder: PathBuf,
}

/// Make a pool of a backup
///
/// Example: evmachine pool restore pool-backup restored
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The backup.
    backup: PathBuf,

    /// The folder of the pool; made if it is not there.
    pool: PathBuf,
}

impl Backup {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        Pool::open(&self.pool).or_fail()?.backup(&self.folder).or_fail()?;
        console.say(format!("{} is a copy of {}", self.folder.display(), self.pool.display()));
        Ok(())
    }
}

impl Restore {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        Pool::restore(&self.backup, &self.pool).or_fail()?;
        console.say(format!("{} is as {} was", self.pool.display(), self.backup.display()));
        Ok(())
    }
}
