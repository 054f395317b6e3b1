//! Samples: what comes in, and what is known of each.

use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;
use std::borrow::Cow;

use evmachine::{Capture, Decision, EnrolmentRule, Evm, Features, HeldReason, Run};

use crate::error::StoreError;
use crate::groups::GroupId;
use crate::picture::{LARGEST_PICTURE, Picture};
use crate::pool::{Pool, Write, now};
use crate::search::{SampleFilter, SampleOrder};

/// Identifies a sample, for as long as the pool lives.
pub type SampleId = i64;

/// What may come with the features of a sample, for the person who will look at it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewSample {
    /// What its owner calls it. Adding it again changes nothing.
    pub id: Option<String>,
    /// A text to show.
    pub text: Option<String>,
    /// Where the original is.
    pub link: Option<String>,
    /// A picture to show, of [`LARGEST_PICTURE`] bytes at most.
    pub picture: Option<Picture>,
    /// How it was captured; unless a time is given, it is the one at which it came.
    pub capture: Capture,
}

/// Which of the rows are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those that the live model does not know.
    Unknown,
    /// All of them.
    All,
}

/// What became of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It waits in the pool.
    Added(SampleId),
    /// It was there already.
    Present(SampleId),
    /// The live model knows it as that class, and it was left out.
    Known(String),
    /// The rule of the pool asks for a better quality ([`Pool::set_enrolment`]), and it was left out.
    HeldBack(HeldReason),
}

impl Outcome {
    /// The sample, where there is one.
    pub fn sample(&self) -> Option<SampleId> {
        match *self {
            Self::Added(sample) | Self::Present(sample) => Some(sample),
            Self::Known(_) | Self::HeldBack(_) => None,
        }
    }
}

/// What the answers to a sample come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Nobody answered.
    Waiting,
    /// It is of that class.
    Labelled {
        /// The class.
        label: String,
    },
    /// It is a stranger, and is to stay one.
    Ignored,
    /// It is of no use.
    Discarded,
}

impl State {
    pub(crate) fn from_columns(state: &str, label: Option<String>) -> Option<Self> {
        match (state, label) {
            ("waiting", None) => Some(Self::Waiting),
            ("labelled", Some(label)) => Some(Self::Labelled { label }),
            ("ignored", None) => Some(Self::Ignored),
            ("discarded", None) => Some(Self::Discarded),
            _ => None,
        }
    }

    pub(crate) fn columns(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Waiting => ("waiting", None),
            Self::Labelled { label } => ("labelled", Some(label)),
            Self::Ignored => ("ignored", None),
            Self::Discarded => ("discarded", None),
        }
    }
}

/// A sample of the pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sample {
    /// Its number.
    pub number: SampleId,
    /// What its owner calls it.
    pub id: Option<String>,
    /// When it came, in seconds since 1970.
    pub added: i64,
    /// What the answers come to.
    #[serde(flatten)]
    pub state: State,
    /// Whether nobody but the system gave its label.
    pub proposed: bool,
    /// How it was captured.
    #[serde(flatten)]
    pub capture: Capture,
    /// The class, when it was last decided; `None` is unknown.
    pub class: Option<String>,
    /// The class of the highest support then.
    pub best: String,
    /// How far that class lay above the threshold, which is what decides: known at 0 and above. `None` of samples that were decided
    /// before the pool kept it.
    pub support: Option<f64>,
    /// Psi of that class, the paper's probability.
    pub psi: f64,
    /// Whether that class was supported enough to be known.
    pub known: bool,
    /// The version that decided.
    pub model: String,
    /// The group that it is in.
    pub group: GroupId,
    /// The text to show.
    pub text: Option<String>,
    /// Where the original is.
    pub link: Option<String>,
    /// The vector.
    #[serde(skip)]
    pub features: Vec<f32>,
    /// The picture to show.
    #[serde(skip)]
    pub picture: Option<Picture>,
    /// Its hash, as [`Picture::hash`] has it.
    #[serde(skip)]
    pub picture_hash: Option<String>,
}

const COLUMNS: &str = "number, client_id, added, state, label, proposed, quality, occasion, time, class, ln_probability, support, known, model, group_number, \
                       text, link, features, media_type, picture, picture_hash";

impl Pool {
    /// Takes rows in, each with what `details` says of it; no details at all is fine. All are on the disk when it returns, or on an
    /// error none.
    pub fn add(
        &mut self,
        run: &Run<'_>,
        features: &Features<'_>,
        details: &[NewSample],
        which: Which,
    ) -> Result<Vec<Outcome>, StoreError> {
        self.add_decided(run, features, None, details, which)
    }

    /// As [`add`](Self::add), with decisions that were made already, by the version of that hash. They are made again only if another
    /// version has become live meanwhile.
    pub fn add_decided(
        &mut self,
        run: &Run<'_>,
        features: &Features<'_>,
        decided: Option<(&str, &[Decision])>,
        details: &[NewSample],
        which: Which,
    ) -> Result<Vec<Outcome>, StoreError> {
        self.check_rows(features, details)?;
        let rule = self.enrolment()?;
        if let Some((_, decisions)) = decided.filter(|(_, decisions)| decisions.len() != features.rows()) {
            return Err(StoreError::DecisionCount { rows: features.rows(), found: decisions.len() });
        }
        loop {
            let hash = self.names()?.live;
            let live = self.live()?;
            let decisions = match decided {
                Some((version, decisions)) if version == hash => Cow::Borrowed(decisions),
                _ => Cow::Owned(live.decide_with(run, features)?),
            };
            let added = self.write(|write| {
                if write.live_hash()? != hash {
                    return Err(StoreError::ChangedMeanwhile);
                }
                write.add(run, &live, (features, &decisions), details, (which, &rule))
            });
            match added {
                Err(StoreError::ChangedMeanwhile) => {}
                done => return done,
            }
        }
    }

    fn check_rows(&self, features: &Features<'_>, details: &[NewSample]) -> Result<(), StoreError> {
        let (rows, found) = (features.rows(), details.len());
        if !details.is_empty() && found != rows {
            return Err(StoreError::DetailCount { rows, found });
        }
        let (expected, found) = (self.dimensions(), features.columns());
        if expected != found {
            return Err(evmachine::FeatureError::Dimensions { expected, found }.into());
        }
        details.iter().enumerate().try_for_each(|(row, detail)| detail.capture.check(row))?;
        let size = |detail: &NewSample| detail.picture.as_ref().map_or(0, |picture| picture.bytes.len());
        match details.iter().position(|detail| size(detail) > LARGEST_PICTURE) {
            Some(row) => {
                Err(StoreError::LargePicture { row, bytes: size(&details[row]), limit: LARGEST_PICTURE })
            }
            None => Ok(()),
        }
    }

    /// One sample, with all that is known of it.
    pub fn sample(&self, sample: SampleId) -> Result<Sample, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM samples JOIN contents USING (number) WHERE number = ?");
        let found = self
            .database()
            .prepare_cached(&query)
            .and_then(|mut query| query.query_row([sample], read).optional());
        found.map_err(|error| self.failed(error))?.ok_or(StoreError::NoSample { sample })
    }

    /// Up to so many samples, in the order in which they came, from the one behind `after` on; of one state by its name, or of any.
    pub fn samples(
        &self,
        state: Option<&str>,
        after: SampleId,
        count: usize,
    ) -> Result<Vec<Sample>, StoreError> {
        let filter = SampleFilter { state: state.map(str::to_owned), ..SampleFilter::default() };
        self.search(&filter, SampleOrder::Came, after, count)
    }

    /// Calls `each` with the number and the vector of samples that wait and are unknown, the latest first, until so many were met.
    pub fn for_each_unknown(
        &self,
        count: usize,
        mut each: impl FnMut(SampleId, Vec<f32>),
    ) -> Result<(), StoreError> {
        let query = "SELECT number, features FROM samples JOIN contents USING (number) \
                     WHERE state = 'waiting' AND known = 0 ORDER BY number DESC LIMIT ?";
        self.list(query, [i64::try_from(count).unwrap_or(i64::MAX)], |row| {
            each(row.get(0)?, vector(row.get_ref(1)?.as_blob()?));
            Ok(())
        })?;
        Ok(())
    }

    /// The unknown sample that waits and came nearest to being known.
    pub fn closest_stranger(&self) -> Result<Option<Sample>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM samples JOIN contents USING (number) \
             WHERE state = 'waiting' AND known = 0 ORDER BY support IS NULL, support DESC, score DESC, number LIMIT 1"
        );
        Ok(self.list(&query, [], read)?.pop())
    }

    /// Calls `each` for every sample, in the order in which they came, until it says no.
    pub fn for_each_sample<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(Sample) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = |error| E::from(self.failed(error));
        let query = format!("SELECT {COLUMNS} FROM samples JOIN contents USING (number) ORDER BY number");
        let mut query = self.database().prepare(&query).map_err(failed)?;
        let mut rows = query.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(read(row).map_err(failed)?)?;
        }
        Ok(())
    }
}

/// A query for samples as [`read`] reads them.
pub(crate) fn select(condition: &str) -> String {
    format!("SELECT {COLUMNS} FROM samples JOIN contents USING (number) WHERE {condition}")
}

pub(crate) fn read(row: &Row<'_>) -> Result<Sample, rusqlite::Error> {
    let state = State::from_columns(&row.get::<_, String>("state")?, row.get("label")?);
    let picture = match (row.get("media_type")?, row.get("picture")?) {
        (Some(media_type), Some(bytes)) => Some(Picture { media_type, bytes }),
        _ => None,
    };
    let (best, known): (String, bool) = (row.get("class")?, row.get("known")?);
    Ok(Sample {
        number: row.get("number")?,
        id: row.get("client_id")?,
        added: row.get("added")?,
        state: state.ok_or(rusqlite::Error::InvalidQuery)?,
        proposed: row.get("proposed")?,
        capture: Capture {
            quality: row.get("quality")?,
            occasion: row.get("occasion")?,
            time: row.get("time")?,
        },
        class: known.then(|| best.clone()),
        best,
        support: row.get("support")?,
        psi: row.get::<_, f64>("ln_probability")?.exp(),
        known,
        model: row.get("model")?,
        group: row.get("group_number")?,
        text: row.get("text")?,
        link: row.get("link")?,
        features: vector(row.get_ref("features")?.as_blob()?),
        picture,
        picture_hash: row.get("picture_hash")?,
    })
}

pub(crate) fn blob(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(crate) fn vector(blob: &[u8]) -> Vec<f32> {
    blob.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect()
}

impl Write<'_> {
    fn add(
        &mut self,
        run: &Run<'_>,
        live: &Evm,
        (features, decisions): (&Features<'_>, &[Decision]),
        details: &[NewSample],
        (which, rule): (Which, &EnrolmentRule),
    ) -> Result<Vec<Outcome>, StoreError> {
        let nothing = NewSample::default();
        let mut first_rows: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
        let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(features.rows());
        for (row, decision) in decisions.iter().enumerate() {
            let id = details.get(row).and_then(|detail| detail.id.as_deref());
            let present = match id {
                Some(id) => self.sample_of_id(row, id, features.row(row))?,
                None => None,
            };
            let doubt = rule.doubts_quality(&details.get(row).unwrap_or(&nothing).capture);
            outcomes.push(match (present, decision.class(), doubt) {
                (Some(sample), ..) => Some(Outcome::Present(sample)),
                (None, Some(class), _) if which == Which::Unknown => {
                    Some(Outcome::Known(live.class_name(class).to_owned()))
                }
                (None, _, Some(reason)) => Some(Outcome::HeldBack(reason)),
                (None, _, None) => {
                    if let Some(id) = id
                        && let Some(&first) = first_rows.get(id)
                        && features.row(first) != features.row(row)
                    {
                        return Err(StoreError::RepeatedId { row, id: id.to_owned() });
                    }
                    id.map(|id| first_rows.entry(id).or_insert(row));
                    None
                }
            });
        }
        let id_of = |row: usize| details.get(row).and_then(|detail| detail.id.as_deref());
        let is_repeated = |row: usize| id_of(row).is_some_and(|id| first_rows[id] != row);
        let new: Vec<usize> =
            (0..features.rows()).filter(|&row| outcomes[row].is_none() && !is_repeated(row)).collect();
        let first: SampleId = self.value("SELECT ifnull(max(number), 0) + 1 FROM samples")?;
        let numbers: Vec<SampleId> = (first..).take(new.len()).collect();
        let memberships = self.join_groups(run, live, &features.select(&new), &numbers)?;
        let (added, version) = (now(), self.live_hash()?);
        for ((&row, &number), membership) in new.iter().zip(&numbers).zip(memberships) {
            let (detail, decision) = (details.get(row).unwrap_or(&nothing), &decisions[row]);
            let (class, score) = (live.class_name(decision.best()), decision.score());
            self.execute(
                "INSERT INTO samples (number, client_id, added, class, ln_probability, score, support, known, model, \
                 group_number, distance, quality, occasion, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    number,
                    detail.id,
                    added,
                    class,
                    score.ln_probability,
                    score.support,
                    decision.support(),
                    decision.class().is_some(),
                    version,
                    membership.group.cast_signed(),
                    membership.distance,
                    detail.capture.quality,
                    detail.capture.occasion,
                    detail.capture.time.unwrap_or(added as f64)
                ],
            )?;
            let picture = detail.picture.as_ref();
            self.execute(
                "INSERT INTO contents (number, features, text, link, media_type, picture, picture_hash) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
                params![
                    number,
                    blob(features.row(row)),
                    detail.text,
                    detail.link,
                    picture.map(|picture| &picture.media_type),
                    picture.map(|picture| &picture.bytes),
                    picture.map(Picture::hash)
                ],
            )?;
            self.execute(
                "UPDATE groups SET waiting = waiting + 1, unknown = unknown + ? WHERE number = ?",
                params![decision.class().is_none(), membership.group.cast_signed()],
            )?;
            outcomes[row] = Some(Outcome::Added(number));
        }
        let first_outcome = |row: usize| -> Option<Outcome> {
            let first = first_rows[id_of(row)?];
            outcomes[first].as_ref()?.sample().map(Outcome::Present)
        };
        let repeated: Vec<(usize, Option<Outcome>)> = (0..features.rows())
            .filter(|&row| outcomes[row].is_none())
            .map(|row| (row, first_outcome(row)))
            .collect();
        for (row, outcome) in repeated {
            outcomes[row] = outcome;
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    /// The sample that has that identifier, if its features are these.
    fn sample_of_id(&self, row: usize, id: &str, features: &[f32]) -> Result<Option<SampleId>, StoreError> {
        let query = "SELECT number, features FROM samples JOIN contents USING (number) WHERE client_id = ?";
        let read = |found: &Row<'_>| Ok((found.get(0)?, found.get_ref(1)?.as_blob()? == blob(features)));
        let found: Option<(SampleId, bool)> = self.find(query, [id], read)?;
        match found {
            Some((sample, false)) => Err(StoreError::DuplicateId { row, id: id.to_owned(), sample }),
            Some((sample, true)) => Ok(Some(sample)),
            None => Ok(None),
        }
    }
}
