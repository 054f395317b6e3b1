//! A pool of unknowns on disk.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use evmachine_openworld::{
    Answer, EventId, GroupId, NewSample, Outcome, Picture, Pool, SampleId, State, StoreError, Target, Which,
};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{self, Matrix};
use crate::device::Means;
use crate::enrolment::{self, Captured, capture};
use crate::model::Model;
use crate::{failure, watch};

/// Number, vector, label of each sample.
type Samples<'py> = (Vec<SampleId>, Bound<'py, PyArray2<f32>>, Vec<Option<String>>);

/// What may come with a row: id, text, link, media type and bytes of a picture, and how it was captured.
type Detail = (Option<String>, Option<String>, Option<String>, Option<(String, Vec<u8>)>, Captured);

/// Samples, answers and model versions in a folder.
#[pyclass(frozen, module = "evmachine._native")]
pub(crate) struct Store {
    pool: Mutex<Pool>,
}

fn raised(error: StoreError) -> PyErr {
    match error {
        StoreError::Io { path, error } => failure::format(evmachine::FormatError::Io { path, error }),
        StoreError::Database { .. } | StoreError::Busy { .. } => PyOSError::new_err(error.to_string()),
        other => failure::value(other),
    }
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(failure::value)
}

impl Store {
    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new(pool: Result<Pool, StoreError>) -> PyResult<Self> {
        Ok(Self { pool: Mutex::new(pool.map_err(raised)?) })
    }
}

#[pymethods]
impl Store {
    #[staticmethod]
    fn create(path: PathBuf, model: &Model) -> PyResult<Self> {
        Self::new(Pool::create(&path, &model.evm))
    }

    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<Self> {
        Self::new(Pool::open(&path))
    }

    #[staticmethod]
    fn restore(backup: PathBuf, path: PathBuf) -> PyResult<Self> {
        Self::new(Pool::restore(&backup, &path))
    }

    /// The number of each row, or why the rule of the pool left it out, as JSON; nothing for one that is known.
    #[pyo3(signature = (samples, details, only_unknown, means))]
    fn add(
        &self,
        py: Python<'_>,
        samples: Matrix<'_>,
        details: Vec<Detail>,
        only_unknown: bool,
        means: Means,
    ) -> PyResult<Vec<(Option<SampleId>, Option<String>)>> {
        let features = arrays::features(&samples)?;
        let details: Vec<NewSample> = details
            .into_iter()
            .map(|(id, text, link, picture, captured)| NewSample {
                capture: capture(captured),
                id,
                text,
                link,
                picture: picture.map(|(media_type, bytes)| Picture { media_type, bytes }),
            })
            .collect();
        let which = if only_unknown { Which::Unknown } else { Which::All };
        let added = watch::run(py, &means, None, |run, _| self.lock().add(run, &features, &details, which))?;
        let row = |outcome: Outcome| {
            let reason = if let Outcome::HeldBack(reason) = &outcome { Some(json(reason)?) } else { None };
            Ok((outcome.sample(), reason))
        };
        added.map_err(raised)?.into_iter().map(row).collect()
    }

    /// Groups, as JSON.
    #[pyo3(signature = (count, only_new, means))]
    fn next_groups(&self, py: Python<'_>, count: usize, only_new: bool, means: Means) -> PyResult<String> {
        let groups = watch::run(py, &means, None, |run, _| self.lock().next_groups(run, count, only_new))?;
        json(&groups.map_err(raised)?)
    }

    /// An answer to a group or, without one, to samples; the event and how many samples it is about.
    #[pyo3(signature = (kind, label, samples, group, person, means))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn answer(
        &self,
        py: Python<'_>,
        kind: &str,
        label: &str,
        samples: Vec<SampleId>,
        group: Option<GroupId>,
        person: Option<&str>,
        means: Means,
    ) -> PyResult<(EventId, usize)> {
        let answer = match kind {
            "label" => Answer::Label(label),
            "propose" => Answer::Propose(label),
            "ignore" => Answer::Ignore,
            "discard" => Answer::Discard,
            "reopen" => Answer::Reopen,
            other => return Err(failure::value(format!("there is no answer {other:?}"))),
        };
        let target = match group {
            Some(group) => Target::Group { group, except: &samples },
            None => Target::Samples(&samples),
        };
        let answered =
            watch::run(py, &means, None, |run, _| self.lock().answer(run, &target, answer, person))?;
        answered.map_err(raised)
    }

    /// Refuses a name that no class may have, or that would found a class and is close to one that is known.
    fn check_label(&self, name: &str, new_class: bool) -> PyResult<()> {
        self.lock().check_label(name, new_class).map_err(|error| match error {
            StoreError::Slip(slip) => failure::slip(&slip),
            other => raised(other),
        })
    }

    #[pyo3(signature = (event, person))]
    fn undo(&self, event: Option<EventId>, person: Option<&str>) -> PyResult<(EventId, EventId)> {
        self.lock().undo(event, person).map_err(raised)
    }

    /// The rule by which samples are held back, as JSON.
    fn enrolment(&self) -> PyResult<String> {
        json(&self.lock().enrolment().map_err(raised)?)
    }

    fn set_enrolment(&self, rule: &str) -> PyResult<()> {
        self.lock().set_enrolment(&enrolment::read(rule)?).map_err(raised)
    }

    /// Labelled samples that an update would hold back, as JSON.
    fn held_back(&self, py: Python<'_>, means: Means) -> PyResult<String> {
        let held = watch::run(py, &means, None, |run, _| self.lock().held_back(run))?;
        json(&held.map_err(raised)?)
    }

    /// As JSON the report of what was learned, null where nothing was labelled; none where all is held back.
    #[pyo3(signature = (person, means, progress = None))]
    fn update(
        &self,
        py: Python<'_>,
        person: Option<&str>,
        means: Means,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Option<String>> {
        let learned = watch::run(py, &means, progress.as_ref(), |run, _| self.lock().update(run, person))?;
        match learned {
            Err(StoreError::HeldBack { .. }) => Ok(None),
            learned => json(&learned.map_err(raised)?.report).map(Some),
        }
    }

    #[pyo3(signature = (version, person))]
    fn promote(&self, version: &str, person: Option<&str>) -> PyResult<EventId> {
        self.lock().promote(version, person).map_err(raised)
    }

    fn status(&self) -> PyResult<String> {
        json(&self.lock().status().map_err(raised)?)
    }

    fn events(&self) -> PyResult<String> {
        json(&self.lock().events().map_err(raised)?)
    }

    fn check(&self) -> PyResult<String> {
        json(&self.lock().check().map_err(raised)?)
    }

    fn backup(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        py.detach(|| self.lock().backup(&folder)).map_err(raised)
    }

    /// Samples that wait, or are labelled and not learned yet.
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Samples<'py>> {
        let pool = self.lock();
        let (mut ids, mut values, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        let to_learn: HashSet<SampleId> =
            pool.to_learn().map_err(raised)?.into_iter().map(|answered| answered.sample).collect();
        let walked = pool.for_each_sample::<StoreError>(|sample| {
            let label = match sample.state {
                State::Waiting => None,
                State::Labelled { label } if to_learn.contains(&sample.number) => Some(label),
                _ => return Ok(()),
            };
            ids.push(sample.number);
            values.extend(sample.features);
            labels.push(label);
            Ok(())
        });
        walked.map_err(raised)?;
        let shape = [ids.len(), pool.dimensions()];
        Ok((ids, values.into_pyarray(py).reshape(shape)?, labels))
    }

    /// All of one sample but its vector and picture, as JSON.
    fn sample(&self, sample: SampleId) -> PyResult<String> {
        json(&self.lock().sample(sample).map_err(raised)?)
    }

    /// Media type and bytes.
    fn picture<'py>(
        &self,
        py: Python<'py>,
        sample: SampleId,
    ) -> PyResult<Option<(String, Bound<'py, PyBytes>)>> {
        let picture = self.lock().sample(sample).map_err(raised)?.picture;
        Ok(picture.map(|picture| (picture.media_type, PyBytes::new(py, &picture.bytes))))
    }
}
