//! New versions: learning what was answered, and corrections.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use evmachine::{
    Edit, EnrolmentRule, Evm, Features, HeldBack, Labels, Report, RowNames, Run, UNKNOWN, class_name,
};
use rusqlite::{Row, params};

use crate::enrolment::{examine, label_of};
use crate::error::StoreError;
use crate::events::{EventId, EventKind};
use crate::pool::{Pool, Write, now};
use crate::samples::{Sample, SampleId};
use crate::versions::{self, LINEAGE};

/// What an update came to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Learned {
    /// The version that was made, and is live.
    pub version: String,
    /// The event.
    pub event: EventId,
    /// What was learned of labelled samples, and how long it took; `None` where none was labelled.
    pub report: Option<Report>,
    /// Samples that the version ignores from now on.
    pub ignored: usize,
    /// Labelled samples that were not learned yet, and why ([`Pool::set_enrolment`]).
    pub held_back: Vec<HeldBack<SampleId>>,
}

/// A sample that was answered and not learned yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToLearn {
    /// The sample.
    pub sample: SampleId,
    /// Its class; `None` for a stranger that stays one.
    pub label: Option<String>,
}

impl ToLearn {
    fn of(sample: &Sample) -> Self {
        Self { sample: sample.number, label: label_of(sample).map(str::to_owned) }
    }
}

/// The model that comes of samples: the strangers among them first, so that labelled ones are measured against them too.
fn teach(
    run: &Run<'_>,
    model: &Evm,
    strangers: &LearnedSamples,
    labelled: &LearnedSamples,
    labels: &Labels,
) -> Result<(Evm, Option<Report>), StoreError> {
    let mut model = model.clone();
    if !strangers.is_empty() {
        let first = model.points_seen();
        model.ignore_with(run, &strangers.features()?)?;
        strangers.name(&mut model, first)?;
    }
    if labelled.is_empty() {
        return Ok((model, None));
    }
    let first = model.points_seen();
    let report = model.update_with(run, &labelled.features()?, labels)?;
    labelled.name(&mut model, first)?;
    Ok((model, Some(report)))
}

/// Samples that are learned together.
#[derive(Default)]
struct LearnedSamples {
    dimensions: usize,
    values: Vec<f32>,
    ids: Vec<String>,
    numbers: Vec<u64>,
}

impl LearnedSamples {
    fn of(samples: Vec<Sample>) -> Self {
        let mut learned = Self::default();
        for sample in samples {
            learned.push(sample);
        }
        learned
    }

    fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    fn push(&mut self, sample: Sample) {
        self.dimensions = sample.features.len();
        self.values.extend(sample.features);
        self.ids.push(sample.id.unwrap_or_default());
        self.numbers.push(sample.number.unsigned_abs());
    }

    fn features(&self) -> Result<Features<'_>, StoreError> {
        Ok(Features::new(&self.values, self.dimensions)?)
    }

    /// Has the model keep which samples these are: client ids, and numbers in the pool.
    fn name(&self, model: &mut Evm, first: u64) -> Result<(), StoreError> {
        let names = RowNames {
            batch: Some("pool".to_owned()),
            time: Some(now()),
            numbers: Some(self.numbers.clone()),
            ids: Some(self.ids.clone()),
        };
        Ok(model.name_rows(first, self.ids.len() as u64, names)?)
    }
}

/// What there is to learn, apart from the pool: others may use it meanwhile.
pub struct Lesson {
    folder: PathBuf,
    before: String,
    live: Arc<Evm>,
    rule: EnrolmentRule,
    ignored: Vec<Sample>,
    labelled: Vec<Sample>,
}

impl Lesson {
    /// Learns it: takes as long as it takes, and writes the file of the version. Nobody uses it before
    /// [`Pool::take`]. What the rule of the pool holds back is not in it.
    pub fn learn(self, run: &Run<'_>) -> Result<NewVersion, StoreError> {
        let Self { folder, before, live, rule, ignored, labelled } = self;
        let held_back = examine(run, &live, &rule, &labelled)?;
        let is_held: HashSet<SampleId> = held_back.iter().map(|held| held.sample).collect();
        let labelled: Vec<Sample> =
            labelled.into_iter().filter(|sample| !is_held.contains(&sample.number)).collect();
        if labelled.is_empty() && ignored.is_empty() {
            return Err(StoreError::HeldBack { held: held_back });
        }
        let mut batch: Vec<ToLearn> = labelled.iter().chain(&ignored).map(ToLearn::of).collect();
        batch.sort_by_key(|answered| answered.sample);
        let (strangers, labelled) = (LearnedSamples::of(ignored), LearnedSamples::of(labelled));
        let names = batch.iter().filter_map(|answered| answered.label.as_ref());
        let labels = Labels::new(names).map_err(|_| StoreError::EmptyName)?;
        let (model, report) = teach(run, &live, &strangers, &labelled, &labels)?;
        let version = versions::write(&folder, &model)?;
        let ignored = strangers.ids.len();
        let learned = Learned { version, event: 0, report, ignored, held_back };
        Ok(NewVersion { before, model: Arc::new(model), learned, origin: Origin::Lesson(batch) })
    }
}

/// A correction to make, apart from the pool.
pub struct Correction {
    folder: PathBuf,
    before: String,
    live: Arc<Evm>,
    change: Change,
}

/// What is corrected.
enum Change {
    Edit(Edit),
    Denial { class: String, features: Vec<f32>, names: RowNames },
}

impl Correction {
    /// Makes it: as [`Lesson::learn`]. `description` is kept with the event.
    pub fn make(self, run: &Run<'_>, description: String) -> Result<NewVersion, StoreError> {
        let model = match self.change {
            Change::Edit(edit) => self.live.edited_with(run, &edit)?.0,
            Change::Denial { class, features, names } => {
                let (mut model, first) = (Evm::clone(&self.live), self.live.points_seen());
                let features = Features::new(features, model.dimensions())?;
                model.deny(&features, &class)?;
                model.name_rows(first, features.rows() as u64, names)?;
                model
            }
        };
        let version = versions::write(&self.folder, &model)?;
        let learned = Learned { version, event: 0, report: None, ignored: 0, held_back: Vec::new() };
        let origin = Origin::Correction(description);
        Ok(NewVersion { before: self.before, model: Arc::new(model), learned, origin })
    }
}

/// A version that was made and is not live yet.
pub struct NewVersion {
    before: String,
    model: Arc<Evm>,
    learned: Learned,
    origin: Origin,
}

enum Origin {
    Lesson(Vec<ToLearn>),
    Correction(String),
}

impl NewVersion {
    /// The model itself.
    pub fn model(&self) -> &Arc<Evm> {
        &self.model
    }
}

impl Pool {
    /// Makes a version of what was labelled or ignored and not learned yet, makes it live, and decides and groups anew what waits
    /// ([`refresh`](Self::refresh)). The pool can be used by others while the model learns.
    pub fn update(&mut self, run: &Run<'_>, person: Option<&str>) -> Result<Learned, StoreError> {
        let version = self.lesson()?.learn(run)?;
        let learned = self.take(version, person)?;
        self.refresh(run)?;
        Ok(learned)
    }

    /// What [`update`](Self::update) would learn now, for who learns on another thread.
    pub fn lesson(&mut self) -> Result<Lesson, StoreError> {
        let (before, live) = (self.live_hash()?, self.live()?);
        let batch = self.to_learn()?;
        if batch.is_empty() {
            return Err(StoreError::NothingToLearn);
        }
        let (mut ignored, mut labelled) = (Vec::new(), Vec::new());
        for answered in &batch {
            // A pool of an earlier program may hold it.
            if answered.label.as_deref() == Some(UNKNOWN) {
                class_name::check(UNKNOWN)?;
            }
            let part = if answered.label.is_some() { &mut labelled } else { &mut ignored };
            // What is shown of it is not learned, and may be large.
            part.push(Sample { picture: None, ..self.sample(answered.sample)? });
        }
        let rule = self.enrolment()?;
        Ok(Lesson { folder: self.folder().to_owned(), before, live, rule, ignored, labelled })
    }

    /// Refuses a change of a class while samples wait to be learned under its name: learning them would bring it back.
    pub fn refuse_unlearned(&self, class: &str) -> Result<(), StoreError> {
        let waiting =
            self.to_learn()?.into_iter().filter(|answered| answered.label.as_deref() == Some(class));
        match waiting.count() as u64 {
            0 => Ok(()),
            samples => Err(StoreError::NotLearnedYet { class: class.to_owned(), samples }),
        }
    }

    /// A correction of the live version, for who makes it on another thread.
    pub fn correction(&mut self, edit: Edit) -> Result<Correction, StoreError> {
        let (before, live) = (self.live_hash()?, self.live()?);
        Ok(Correction { folder: self.folder().to_owned(), before, live, change: Change::Edit(edit) })
    }

    /// As [`correction`](Self::correction): a row is not of a class ([`Evm::deny`]). `id` is what clients call it.
    pub fn denial(
        &mut self,
        class: String,
        features: Vec<f32>,
        id: Option<String>,
    ) -> Result<Correction, StoreError> {
        let (before, live) = (self.live_hash()?, self.live()?);
        let names = RowNames {
            batch: Some("corrections".to_owned()),
            time: Some(now()),
            numbers: None,
            ids: id.map(|id| vec![id]),
        };
        let change = Change::Denial { class, features, names };
        Ok(Correction { folder: self.folder().to_owned(), before, live, change })
    }

    /// Makes a new version live, in one step, if nothing that it rests on was changed meanwhile. What waits is decided anew by
    /// [`refresh`](Self::refresh).
    pub fn take(&mut self, version: NewVersion, person: Option<&str>) -> Result<Learned, StoreError> {
        let NewVersion { before, model, mut learned, origin } = version;
        learned.event = self.write(|write| {
            if write.live_hash()? != before {
                return Err(StoreError::ChangedMeanwhile);
            }
            // The same samples, learned again after a rollback, may make the same file.
            let statement = "INSERT INTO models (hash, parent, made) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
            write.execute(statement, params![learned.version, before, now()])?;
            match &origin {
                Origin::Lesson(batch) => write.take_lesson(&learned.version, batch, person),
                Origin::Correction(label) => {
                    write.make_live(EventKind::Edited, &learned.version, person, Some(label), &[])
                }
            }
        })?;
        self.model = Some((learned.version.clone(), model));
        Ok(learned)
    }

    /// Labelled and ignored samples that no version on the way to the live one has learned.
    pub fn to_learn(&self) -> Result<Vec<ToLearn>, StoreError> {
        let query = format!(
            "{LINEAGE} SELECT number, label FROM samples WHERE state IN ('labelled', 'ignored') AND number NOT IN (\
             SELECT sample FROM event_samples JOIN events ON events.number = event \
             WHERE kind = 'updated' AND model IN (SELECT hash FROM lineage)) ORDER BY number"
        );
        self.list(&query, [], |row: &Row<'_>| Ok(ToLearn { sample: row.get(0)?, label: row.get(1)? }))
    }
}

impl Write<'_> {
    fn take_lesson(
        &mut self,
        version: &str,
        batch: &[ToLearn],
        person: Option<&str>,
    ) -> Result<EventId, StoreError> {
        let query = "SELECT 1 FROM samples WHERE number = ? AND state = ? AND label IS ?";
        for ToLearn { sample, label } in batch {
            let state = if label.is_some() { "labelled" } else { "ignored" };
            let same = self.find(query, params![sample, state, label], |_| Ok(()))?;
            same.ok_or(StoreError::ChangedMeanwhile)?;
        }
        let samples: Vec<SampleId> = batch.iter().map(|answered| answered.sample).collect();
        self.make_live(EventKind::Updated, version, person, None, &samples)
    }
}
