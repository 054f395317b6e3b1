//! What can go wrong with a pool on disk.

use std::path::{Path, PathBuf};

use evmachine::{
    ClassNameError, EditError, EnrolmentError, FeatureError, FitError, FormatError, HeldBack, HeldReason,
    NamesError, PoolError, RunError, SlipError,
};

use crate::answers::AnsweredAlready;
use crate::events::{EventId, EventKind};
use crate::groups::GroupId;
use crate::samples::SampleId;

/// A pool that could not do what it was asked for; it is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no pool in the folder.
    #[error("{} holds no pool: there is no pool.sqlite in it", path.display())]
    NotAPool {
        /// The folder.
        path: PathBuf,
    },
    /// There is something already.
    #[error("{} is there already and is not an empty folder; name another one", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A file of another program.
    #[error("{} is no database of a pool", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Made by a later version of this program.
    #[error("{} has schema {found}; this program reads up to {supported}, use a newer one", path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest that can be read.
        supported: i64,
    },
    /// A pool is written even by who only looks: the database keeps its log beside itself.
    #[error("{} cannot be written: it lies on a read-only file system, or is not yours to write", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Another process writes, for longer than one waits.
    #[error("{} is being written by another process; try again when it is done", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The database says no: a full disk, no right to write, damage.
    #[error("{}: {error}", path.display())]
    Database {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: rusqlite::Error,
    },
    /// A file or folder cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A model file is bad.
    #[error("{}: {error}", path.display())]
    Model {
        /// Which.
        path: PathBuf,
        /// Why.
        error: FormatError,
    },
    /// A model file does not have the hash that it is named by.
    #[error("{} was changed after it was written; restore it from a backup", path.display())]
    Changed {
        /// Which.
        path: PathBuf,
    },
    /// A name that would found a class, and is close to one that is known.
    #[error(transparent)]
    Slip(#[from] SlipError),
    /// No sample of that number.
    #[error("the pool has no sample {sample}")]
    NoSample {
        /// The number asked for.
        sample: SampleId,
    },
    /// No samples were named.
    #[error("no sample was named, or none of the group is left")]
    NoSamples,
    /// No group of that number waits for an answer.
    #[error("no group {group} waits for an answer; `next` says which do")]
    NoGroup {
        /// The number asked for.
        group: GroupId,
    },
    /// Samples that were to be answered as they were seen, and that somebody has answered meanwhile.
    #[error("{} of {meant} samples were answered meanwhile: {}", answered.len(), listed(answered))]
    AnsweredAlready {
        /// Those that wait no more.
        answered: Vec<AnsweredAlready>,
        /// How many were to be answered.
        meant: usize,
    },
    /// A sample that waits, of which a second opinion makes no sense.
    #[error("sample {sample} waits for its first answer; a second opinion is about one that was answered")]
    NotAnswered {
        /// The sample.
        sample: SampleId,
    },
    /// A second opinion by who gave the first.
    #[error("you have answered sample {sample} yourself; a second opinion is for somebody else to give")]
    OwnAnswer {
        /// The sample.
        sample: SampleId,
    },
    /// A note that is empty, long or cannot be read.
    #[error("a note has 1 to {limit} characters, and no control characters but line breaks")]
    NoteText {
        /// The most that it may have.
        limit: usize,
    },
    /// Labels that a change of a class would leave behind.
    #[error("{samples} samples are named {class:?} and not learned yet; learn or undo them first")]
    NotLearnedYet {
        /// The class.
        class: String,
        /// How many samples these are.
        samples: u64,
    },
    /// An exception that is not of the group.
    #[error("sample {sample} is not in group {group}")]
    NotInGroup {
        /// The sample.
        sample: SampleId,
        /// The group.
        group: GroupId,
    },
    /// A radius that leaves nothing on one side.
    #[error("a radius of {radius} does not part group {group}: {inside} of its {members} members lie within")]
    NoParting {
        /// The group.
        group: GroupId,
        /// The radius asked for.
        radius: f64,
        /// Members within it.
        inside: usize,
        /// Members in all.
        members: usize,
    },
    /// No event of that number.
    #[error("the pool has no event {event}")]
    NoEvent {
        /// The number asked for.
        event: EventId,
    },
    /// Nothing is left that could be undone.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// An event that is not in force.
    #[error("event {event} is undone already; to have it again, undo the event that undid it")]
    AlreadyUndone {
        /// The number asked for.
        event: EventId,
    },
    /// What the live model has learned is not answered anew under its feet.
    #[error(
        "sample {sample} was learned by the live model; go back to a version before it first (`undo` or `rollback`)"
    )]
    AlreadyLearned {
        /// The sample.
        sample: SampleId,
    },
    /// Versions are undone from the last to the first.
    #[error(
        "event {event} ({kind}) is not the last that changed the live version; `promote` the version you want"
    )]
    NotTheLast {
        /// The number asked for.
        event: EventId,
        /// What it did.
        kind: EventKind,
    },
    /// Groups are arranged back from the last change to the first.
    #[error("event {event} ({kind}) cannot be undone: its groups were changed since; undo that first")]
    RearrangedSince {
        /// The number asked for.
        event: EventId,
        /// What it did.
        kind: EventKind,
    },
    /// No version of that name.
    #[error("the pool has no version {name:?}; `status` lists them")]
    NoVersion {
        /// A name or the beginning of a hash.
        name: String,
    },
    /// A beginning that several hashes have.
    #[error("several versions begin with {name:?}; give more digits")]
    AmbiguousVersion {
        /// The beginning.
        name: String,
    },
    /// Nothing would change.
    #[error("version {hash} is live already")]
    AlreadyLive {
        /// The version.
        hash: String,
    },
    /// There is no version to go back to.
    #[error("there is no previous version")]
    NoPrevious,
    /// A rule of enrolment, or a description of a row, that cannot be followed.
    #[error(transparent)]
    Enrolment(#[from] EnrolmentError),
    /// The rule of the pool holds back all that was labelled.
    #[error("nothing was learned: the rule of the pool holds all {} samples back ({})", held.len(), HeldReason::summary(held.iter().map(|held| &held.reason)))]
    HeldBack {
        /// The samples, and why.
        held: Vec<HeldBack<SampleId>>,
    },
    /// Nothing was labelled since the live version was made.
    #[error("nothing is labelled that the live version has not learned")]
    NothingToLearn,
    /// Samples were answered, or versions changed, while the model learned.
    #[error("the pool was changed by somebody else meanwhile; try again")]
    ChangedMeanwhile,
    /// Whoever works on the pool has ended.
    #[error("the pool is closed")]
    Ended,
    /// An identifier of another sample.
    #[error("row {row}: the id {id:?} belongs to sample {sample} already, which has other features")]
    DuplicateId {
        /// The row, from 0.
        row: usize,
        /// The identifier.
        id: String,
        /// Whose it is.
        sample: SampleId,
    },
    /// An identifier that two rows share.
    #[error("row {row}: the id {id:?} is that of an earlier row too, which has other features")]
    RepeatedId {
        /// The row, from 0.
        row: usize,
        /// The identifier.
        id: String,
    },
    /// Not as many details as rows.
    #[error("{found} details for {rows} rows")]
    DetailCount {
        /// Rows given.
        rows: usize,
        /// Details given.
        found: usize,
    },
    /// Not as many decisions as rows.
    #[error("{found} decisions for {rows} rows")]
    DecisionCount {
        /// Rows given.
        rows: usize,
        /// Decisions given.
        found: usize,
    },
    /// A picture that is no small one.
    #[error(
        "row {row}: a picture of {bytes} bytes; at most {limit} are kept, so make it smaller or keep a link"
    )]
    LargePicture {
        /// The row, from 0.
        row: usize,
        /// Its size.
        bytes: usize,
        /// The largest that is kept.
        limit: usize,
    },
    /// An empty class name.
    #[error("the name of a class cannot be empty")]
    EmptyName,
    /// A name that no class may have.
    #[error(transparent)]
    ClassName(#[from] ClassNameError),
    /// The folder was removed, or another one put in its place.
    #[error(
        "{} is not the pool that was opened: it was removed or replaced while it was in use; restore it from a backup and start anew", path.display()
    )]
    Gone {
        /// The folder.
        path: PathBuf,
    },
    /// The samples do not suit the model.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// Grouping failed.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// Learning failed.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A stranger could not be ignored.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// What was learned could not be named.
    #[error(transparent)]
    Names(#[from] NamesError),
    /// The model could not be asked.
    #[error(transparent)]
    Predict(#[from] RunError),
    /// Something is stored that cannot have been: `check` says more.
    #[error("{}: {detail}; `check` says more", path.display())]
    Inconsistent {
        /// The folder.
        path: PathBuf,
        /// What.
        detail: String,
    },
}

/// Samples that are named in a sentence.
const LISTED: usize = 3;

fn listed(answered: &[AnsweredAlready]) -> String {
    let said: Vec<String> = answered.iter().take(LISTED).map(ToString::to_string).collect();
    let more = answered.len().saturating_sub(LISTED);
    said.join("; ") + &if more > 0 { format!("; and {more} more") } else { String::new() }
}

impl StoreError {
    /// What the database said about a pool.
    pub(crate) fn database(path: &Path, error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
                Self::Busy { path: path.to_owned() }
            }
            Some(rusqlite::ErrorCode::NotADatabase) => Self::Foreign { path: path.to_owned() },
            _ => Self::Database { path: path.to_owned(), error },
        }
    }

    /// Whether there is no room on the disk.
    pub fn is_full_disk(&self) -> bool {
        match self {
            Self::Database { error, .. } => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::Io { error, .. } => error.kind() == std::io::ErrorKind::StorageFull,
            _ => false,
        }
    }

    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        |error| Self::Io { path: path.to_owned(), error }
    }
}
