//! Samples by what is known of them.

use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};
use serde::Serialize;

use crate::error::StoreError;
use crate::pool::Pool;
use crate::samples::{Sample, SampleId, read, select};

/// What samples are looked for: those for which all holds that is given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SampleFilter {
    /// waiting, labelled, ignored or discarded.
    pub state: Option<String>,
    /// The class that people gave them.
    pub label: Option<String>,
    /// The class of the highest support, when they were last decided.
    pub best: Option<String>,
    /// Whether that class was supported enough to be known.
    pub known: Option<bool>,
    /// What their owner calls them, or a part of it, in small letters or capitals.
    pub id: Option<String>,
    /// A part of their text, in small letters or capitals.
    pub text: Option<String>,
    /// Those that came at this time or later, in seconds since 1970.
    pub since: Option<i64>,
    /// Those that came before this time.
    pub until: Option<i64>,
    /// Those of this support or more; samples without one are left out.
    pub least_support: Option<f64>,
    /// Those of this support or less.
    pub most_support: Option<f64>,
}

/// Which comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SampleOrder {
    /// The first that came.
    #[default]
    Came,
    /// The least supported: among those that are known, the most doubtful.
    Doubtful,
}

impl SampleOrder {
    fn clause(self) -> &'static str {
        match self {
            Self::Came => "number",
            Self::Doubtful => "support IS NULL, support, number",
        }
    }
}

impl SampleFilter {
    /// The condition, and what it is about.
    fn condition(&self) -> (String, Vec<Value>) {
        let part = |text: &String| {
            let mut pattern = String::from("%");
            for letter in text.chars() {
                if ['%', '_', '\\'].contains(&letter) {
                    pattern.push('\\');
                }
                pattern.push(letter);
            }
            Value::from(pattern + "%")
        };
        let own = |text: &String| Value::from(text.clone());
        let given = [
            ("state = ?", self.state.as_ref().map(own)),
            ("label = ?", self.label.as_ref().map(own)),
            ("class = ?", self.best.as_ref().map(own)),
            ("known = ?", self.known.map(Value::from)),
            ("client_id LIKE ? ESCAPE '\\'", self.id.as_ref().map(part)),
            ("text LIKE ? ESCAPE '\\'", self.text.as_ref().map(part)),
            ("added >= ?", self.since.map(Value::from)),
            ("added < ?", self.until.map(Value::from)),
            ("support >= ?", self.least_support.map(Value::from)),
            ("support <= ?", self.most_support.map(Value::from)),
        ];
        let (mut condition, mut values) = (String::from("1"), Vec::new());
        for (clause, value) in given {
            if let Some(value) = value {
                condition.extend([" AND ", clause]);
                values.push(value);
            }
        }
        (condition, values)
    }
}

/// Samples that wait and that the live version knows as one class.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Recognised {
    /// The class.
    pub class: String,
    /// How many they are.
    pub samples: u64,
    /// The support of the most doubtful of them.
    pub least_support: Option<f64>,
}

impl Pool {
    /// Up to so many samples that a filter lets through. `after` goes on behind a sample, in the order in which they came.
    pub fn search(
        &self,
        filter: &SampleFilter,
        order: SampleOrder,
        after: SampleId,
        count: usize,
    ) -> Result<Vec<Sample>, StoreError> {
        let (condition, mut values) = filter.condition();
        values.extend([after.into(), i64::try_from(count).unwrap_or(i64::MAX).into()]);
        let query = select(&format!("{condition} AND number > ? ORDER BY {} LIMIT ?", order.clause()));
        self.list(&query, params_from_iter(values), read)
    }

    /// The numbers of up to so many samples that a filter lets through.
    pub fn search_numbers(
        &self,
        filter: &SampleFilter,
        order: SampleOrder,
        count: usize,
    ) -> Result<Vec<SampleId>, StoreError> {
        let (condition, mut values) = filter.condition();
        values.push(i64::try_from(count).unwrap_or(i64::MAX).into());
        let order = order.clause();
        let query = format!(
            "SELECT number FROM samples JOIN contents USING (number) WHERE {condition} ORDER BY {order} LIMIT ?"
        );
        self.list(&query, params_from_iter(values), |row| row.get(0))
    }

    /// How many samples a filter lets through.
    pub fn search_count(&self, filter: &SampleFilter) -> Result<u64, StoreError> {
        let (condition, values) = filter.condition();
        let query = format!("SELECT count(*) FROM samples JOIN contents USING (number) WHERE {condition}");
        let counted = self.list(&query, params_from_iter(values), |row| row.get::<_, i64>(0))?;
        Ok(counted.first().map_or(0, |count| *count as u64))
    }

    /// What waits and is known, by class, the class with most samples first.
    pub fn recognised(&self) -> Result<Vec<Recognised>, StoreError> {
        let query = "SELECT class, count(*), min(support) FROM samples WHERE state = 'waiting' AND known = 1 \
                     GROUP BY class ORDER BY count(*) DESC, class";
        let read = |row: &Row<'_>| {
            let samples = row.get::<_, i64>(1)? as u64;
            Ok(Recognised { class: row.get(0)?, samples, least_support: row.get(2)? })
        };
        self.list(query, [], read)
    }
}
