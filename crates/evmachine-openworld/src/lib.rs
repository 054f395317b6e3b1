//! A pool of unknowns that lasts: samples, the answers that people gave, and the model versions that came of them, in one folder.
//!
//! ```text
//! POOL/pool.sqlite                samples, groups, events, names of versions
//! POOL/models/HASH.safetensors    model versions, never changed
//! ```
//!
//! A call that has returned is on the disk. Several processes may use one pool; who writes waits for the others.
//!
//! ```
//! use evmachine::{Evm, Features, Labels, Params, Run};
//! use evmachine_openworld::{Answer, Pool, Target, Which};
//!
//! # let place = tempfile::tempdir()?;
//! # let folder = place.path().join("pool");
//! let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
//! let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
//! let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
//!
//! let run = Run::new();
//! let mut pool = Pool::create(&folder, &evm)?;
//! pool.add(&run, &Features::new(vec![0.1, 20.0, 20.05, 40.0], 1)?, &[], Which::Unknown)?;
//! let group = pool.next_groups(&run, 1, false)?.remove(0);
//! assert_eq!(group.members.len(), 2, "20.0 and 20.05 lie together, and 0.1 is known");
//! let target = Target::Group { group: group.number, except: &[] };
//! pool.answer(&run, &target, Answer::Label("far"), None)?;
//! pool.update(&run, None)?;
//! assert_eq!(pool.live()?.classes().len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod arrangement;
mod backup;
mod check;
mod enrolment;
mod error;
mod events;
mod groups;
mod migrate;
mod minutes;
mod naming;
mod notes;
mod opinions;
mod parting;
mod picture;
mod pool;
mod principal;
mod queue;
mod regroup;
mod samples;
mod schema;
mod search;
mod update;
mod versions;

pub use answers::{Answer, AnsweredAlready, Target};
pub use check::Finding;
pub use error::StoreError;
pub use events::{Event, EventId, EventKind};
pub use groups::{Group, GroupId, Member, Neighbor};
pub use migrate::{MigratedVersion, PoolMigration};
pub use minutes::Minute;
pub use notes::{LONGEST_NOTE, Note};
pub use opinions::{Agreement, Disagreement, Opinion};
pub use picture::{LARGEST_PICTURE, Picture};
pub use pool::{Pool, Status};
pub use principal::Plane;
pub use queue::{Holding, NoPlace, QueueAsked, QueuePart, QueuePlace};
pub use samples::{NewSample, Outcome, Sample, SampleId, State, Which};
pub use schema::SCHEMA_VERSION;
pub use search::{Recognised, SampleFilter, SampleOrder};
pub use update::{Correction, Learned, Lesson, NewVersion, ToLearn};
pub use versions::Version;
