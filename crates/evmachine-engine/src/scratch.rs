//! Room on a disk for what does not fit the memory, and for what a run that was interrupted has found already.
//!
//! With [`Run::scratch`](crate::Run::scratch) a fit or an update holds no copy of its rows: they stay where [`Features::shared`](crate::Features::shared) has
//! them, what is made of them goes to the scratch, and so do the tails that blocks of rows have found in each other, under names by which
//! the next run finds them again. The model is the same, bit for bit.

#[cfg(feature = "files")]
mod folder;

use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::error::RunError;

#[cfg(feature = "files")]
pub use self::folder::{FolderError, ScratchFolder};

/// Values that lie elsewhere than in a vector of their own: in a file that is mapped, or in another's memory.
pub type SharedValues = Arc<dyn Deref<Target = [f32]> + Send + Sync>;

/// A folder, or what serves as one.
///
/// Whoever makes one for a run that is to be gone on with sees to it that it holds results of the same rows and parameters alone.
pub trait Scratch: Send + Sync {
    /// Where it is, for people.
    fn place(&self) -> String;

    /// What was kept under that name, by this run or by one before it.
    fn load(&self, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// Keeps bytes under a name, whole or not at all.
    fn keep(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Lets go of what was kept, if anything was.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Room for values that this run needs and no other.
    fn room(&self) -> io::Result<Box<dyn ScratchRoom>>;
}

/// A scratch in which several problems of one run have names of their own.
pub struct Within<'a> {
    scratch: &'a dyn Scratch,
    problem: &'static str,
}

impl<'a> Within<'a> {
    /// Names end with `problem`.
    pub fn new(scratch: &'a dyn Scratch, problem: &'static str) -> Self {
        Self { scratch, problem }
    }

    fn name(&self, name: &str) -> String {
        format!("{name}-{}", self.problem)
    }
}

impl Scratch for Within<'_> {
    fn place(&self) -> String {
        self.scratch.place()
    }

    fn load(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.scratch.load(&self.name(name))
    }

    fn keep(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.scratch.keep(&self.name(name), bytes)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.scratch.remove(&self.name(name))
    }

    fn room(&self) -> io::Result<Box<dyn ScratchRoom>> {
        self.scratch.room()
    }
}

/// Values on their way to the scratch.
pub trait ScratchRoom: Send {
    /// Writes values that begin at a place, counted in values.
    fn write(&mut self, first: usize, values: &[f32]) -> io::Result<()>;

    /// All of them, to be read.
    fn finish(self: Box<Self>) -> io::Result<SharedValues>;
}

/// Values that are made at once before they are written.
const PART: usize = 4 << 20;

/// What went wrong in the scratch.
pub fn failed(scratch: &dyn Scratch, error: &io::Error) -> RunError {
    RunError::Disk { place: scratch.place(), reason: error.to_string() }
}

/// Rows of so many values that are made part by part and written one after the other.
pub fn made(
    scratch: &dyn Scratch,
    rows: usize,
    width: usize,
    mut fill: impl FnMut(Range<usize>, &mut [f32]) -> Result<(), RunError>,
) -> Result<SharedValues, RunError> {
    let failed = |error: io::Error| failed(scratch, &error);
    let height = (PART / width).max(1);
    let mut room = scratch.room().map_err(failed)?;
    let mut part = vec![0.0; height.min(rows) * width];
    for first in (0..rows).step_by(height) {
        let rows = first..(first + height).min(rows);
        let part = &mut part[..rows.len() * width];
        fill(rows, part)?;
        room.write(first * width, part).map_err(failed)?;
    }
    room.finish().map_err(failed)
}
