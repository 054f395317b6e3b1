//! Learning what was labelled.

use evmachine::{Evm, Features, Labels, Report, Run};
use rusqlite::{Row, params};

use crate::error::StoreError;
use crate::events::{EventId, EventKind};
use crate::pool::{Pool, now};
use crate::samples::SampleId;
use crate::versions::{self, LINEAGE};

/// What an update came to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Learned {
    /// The version that was made, and is live.
    pub version: String,
    /// The event.
    pub event: EventId,
    /// What was learned, and how long it took.
    pub report: Report,
}

/// The model that comes of the labelled samples.
fn teach(
    run: &Run<'_>,
    model: &Evm,
    features: &Features<'_>,
    labels: &Labels,
) -> Result<(Evm, Report), StoreError> {
    Ok(model.updated(run, features, labels)?)
}

impl Pool {
    /// Makes a version of what was labelled and not learned yet, makes it live, and decides and groups anew what waits
    /// ([`refresh`](Self::refresh)). The pool can be used by others while the model learns.
    pub fn update(&mut self, run: &Run<'_>, person: Option<&str>) -> Result<Learned, StoreError> {
        let before = self.names()?.live;
        let live = self.live()?;
        let batch = self.to_learn()?;
        if batch.is_empty() {
            return Err(StoreError::NothingToLearn);
        }
        let samples: Vec<SampleId> = batch.iter().map(|(sample, _)| *sample).collect();
        let mut values = Vec::with_capacity(samples.len() * self.dimensions());
        for &sample in &samples {
            values.extend(self.sample(sample)?.features);
        }
        let features = Features::new(values, self.dimensions())?;
        let labels = Labels::new(batch.iter().map(|(_, label)| label)).map_err(|_| StoreError::EmptyName)?;
        let (model, report) = teach(run, &live, &features, &labels)?;
        let version = versions::write(self.folder(), &model)?;
        let event = self.write(|write| {
            let query = "SELECT 1 FROM samples WHERE number = ? AND state = 'labelled' AND label = ?";
            for (sample, label) in &batch {
                write.find(query, params![sample, label], |_| Ok(()))?.ok_or(StoreError::ChangedMeanwhile)?;
            }
            if write.live_hash()? != before {
                return Err(StoreError::ChangedMeanwhile);
            }
            // The same samples, learned again after a rollback, may make the same file.
            let statement = "INSERT INTO models (hash, parent, made) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
            write.execute(statement, params![version, before, now()])?;
            let event = write.make_live(EventKind::Updated, &version, person)?;
            for sample in &samples {
                write.execute("INSERT INTO event_samples (event, sample) VALUES (?, ?)", [event, *sample])?;
            }
            Ok(event)
        })?;
        self.model = Some((version.clone(), std::sync::Arc::new(model)));
        self.refresh(run)?;
        Ok(Learned { version, event, report })
    }

    /// Labelled samples that no version on the way to the live one has learned, with their labels.
    pub fn to_learn(&self) -> Result<Vec<(SampleId, String)>, StoreError> {
        let query = format!(
            "{LINEAGE} SELECT number, label FROM samples WHERE state = 'labelled' AND number NOT IN (\
             SELECT sample FROM event_samples JOIN events ON events.number = event \
             WHERE kind = 'updated' AND model IN (SELECT hash FROM lineage)) ORDER BY number"
        );
        self.list(&query, [], |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?)))
    }
}
