//! Feature tables made of Arrow record batches, as Parquet and Arrow files deliver them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Schema as ArrowSchema};

use crate::batch::{Collector, RowText, WantedTexts};
use crate::cells::{is_numeric, is_printable, numbers, texts};
use crate::columns::{Plan, check_count, vector_column};
use crate::error::DataError;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::problem::{Place, RowProblem};
use crate::reader::{Opened, RowSource, Schema};

/// The record batches of a file, with only the columns asked for.
pub(crate) type RecordBatches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Which columns of a file are read, and what they become.
pub(crate) struct Layout {
    names: Vec<String>,
    plan: Plan,
    /// Whether the features are the elements of one column of lists.
    vectors: bool,
    /// The columns to read, ascending.
    pub(crate) needed: Vec<usize>,
    /// The names that the integers of the label column stand for.
    classes: Option<Vec<String>>,
}

impl Layout {
    /// Finds the columns the options ask for and checks their types.
    pub(crate) fn new(file: &str, schema: &ArrowSchema, options: &ReadOptions) -> Result<Self, DataError> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let indexes = indexes(schema, &names);
        let plan = match vector_column(&names, options.wanted_names()) {
            Some(vector) => {
                let options = ReadOptions { expected: vec![vector], ..options.clone() };
                Plan::by_name(file, &names, &indexes, &options)?
            }
            None => Plan::by_name(file, &names, &indexes, options)?,
        };
        let kind = |column: usize| schema.field(column).data_type();
        let kept = plan.kept.iter().map(|&column| (Some(column), "column to keep"));
        for (column, purpose) in [(plan.label, "label"), (plan.id, "id")].into_iter().chain(kept) {
            if let Some(column) = column.filter(|&column| !is_printable(kind(column))) {
                return Err(DataError::UnprintableColumn {
                    file: file.to_owned(),
                    column: names[column].clone(),
                    purpose,
                    kind: kind(column).to_string(),
                });
            }
        }
        let mut vectors = None;
        for &column in &plan.features {
            match list_element(kind(column)) {
                Some(element) if is_numeric(element) => vectors = vectors.or(Some(column)),
                None if is_numeric(kind(column)) => {}
                _ => {
                    return Err(DataError::ColumnType {
                        file: file.to_owned(),
                        column: names[column].clone(),
                        kind: kind(column).to_string(),
                    });
                }
            }
        }
        let other = vectors.and_then(|list| plan.features.iter().find(|&&column| column != list));
        if let Some((list, &other)) = vectors.zip(other) {
            return Err(DataError::MixedFeatures {
                file: file.to_owned(),
                list: names[list].clone(),
                other: names[other].clone(),
            });
        }
        let others = plan.label.into_iter().chain(plan.id).chain(plan.kept.iter().copied());
        let mut needed: Vec<usize> = plan.features.iter().copied().chain(others).collect();
        needed.sort_unstable();
        let classes = plan.label.filter(|&column| kind(column).is_integer());
        let classes = classes.and_then(|column| class_names(schema, &names[column]));
        Ok(Self { names, plan, vectors: vectors.is_some(), needed, classes })
    }

    /// How many rows to decode at a time.
    pub(crate) fn rows_at_once(&self, options: &ReadOptions) -> usize {
        ((16 << 20) / self.plan.features.len()).min(options.batch_rows).clamp(1, 8192)
    }

    /// Makes a reader of the batches; `total` is the number of rows where the format tells it.
    pub(crate) fn open(
        self,
        file: &str,
        format: Format,
        mut batches: RecordBatches,
        total: Option<u64>,
    ) -> Result<Opened, DataError> {
        let mut schema = Schema::from_plan(format, &self.names, &self.plan);
        let wanted = WantedTexts::of(&self.plan);
        let position = |column: usize| self.needed.partition_point(|&needed| needed < column);
        let mut rows = TableRows {
            features: self.plan.features.iter().map(|&column| position(column)).collect(),
            label: self.plan.label.map(position),
            id: self.plan.id.map(position),
            kept: self.plan.kept.iter().map(|&column| position(column)).collect(),
            vectors: None,
            classes: self.classes,
            current: None,
            batches: Box::new(std::iter::empty()),
        };
        if self.vectors {
            let name = self.names[self.plan.features[0]].clone();
            let (mut width, mut seen) = (0, 0);
            while width == 0 {
                let Some(batch) = next_batch(file, &mut batches)? else {
                    return Err(no_vectors(file, name, seen));
                };
                seen += batch.num_rows();
                width = first_length(batch.column(rows.features[0]));
                let earlier = std::mem::replace(&mut rows.batches, Box::new(std::iter::empty()));
                rows.batches = Box::new(earlier.chain(std::iter::once(Ok(batch))));
            }
            check_count(file, width as u64)?;
            schema.feature_names = (0..width).map(|element| format!("{name}_{element}")).collect();
            rows.vectors = Some(Vectors { name, width });
        }
        rows.batches = Box::new(rows.batches.chain(batches));
        let opened = Opened::new(schema, wanted, Box::new(rows));
        Ok(match total {
            Some(total) => opened.with_rows(total),
            None => opened,
        })
    }
}

/// The columns that were the index of a data frame, by what pandas writes into the metadata of the schema: names of columns, or
/// ranges, which have none. An index without a name is known by the one it gets.
fn indexes(schema: &ArrowSchema, names: &[String]) -> Vec<usize> {
    let metadata = schema.metadata().get("pandas");
    let metadata: Option<serde_json::Value> = metadata.and_then(|text| serde_json::from_str(text).ok());
    let columns = metadata.as_ref().and_then(|found| found.get("index_columns")?.as_array());
    let is_named = |name: &str| columns.is_some_and(|columns| columns.iter().any(|column| column == name));
    (0..names.len()).filter(|&column| is_index_name(&names[column]) || is_named(&names[column])).collect()
}

/// What pandas calls an index without a name.
fn is_index_name(name: &str) -> bool {
    let level = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    level.is_some_and(|level| !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The names of a column of `ClassLabel`s, which Hugging Face datasets store as integers, from the metadata of the schema.
fn class_names(schema: &ArrowSchema, column: &str) -> Option<Vec<String>> {
    let metadata: serde_json::Value = serde_json::from_str(schema.metadata().get("huggingface")?).ok()?;
    let names = metadata.get("info")?.get("features")?.get(column)?.get("names")?.as_array()?;
    names.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The name of a class by its number; that of no class is -1, and a number without a name stands for itself.
fn named(label: String, classes: &[String]) -> Option<String> {
    if label == "-1" {
        return None;
    }
    let number: Option<usize> = label.parse().ok();
    Some(number.and_then(|number| classes.get(number)).cloned().unwrap_or(label))
}

/// The error of a column of lists that has no list with elements.
fn no_vectors(file: &str, column: String, rows: usize) -> DataError {
    let file = file.to_owned();
    if rows == 0 {
        return DataError::NoRows { file };
    }
    let place = Place { row: 1, line: None };
    DataError::BadRow { file, place, problem: RowProblem::Missing { column } }
}

/// Runs a decoder that panics over some kinds of damage, and makes an error of that.
pub(crate) fn contained<T>(
    file: &str,
    decode: impl FnOnce() -> Result<T, DataError>,
) -> Result<T, DataError> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| {
        Err(DataError::Damaged {
            file: file.to_owned(),
            detail: "its contents contradict each other".to_owned(),
        })
    })
}

/// The next record batch.
fn next_batch(file: &str, batches: &mut RecordBatches) -> Result<Option<RecordBatch>, DataError> {
    contained(file, || batches.next().transpose().map_err(|error| arrow_error(file, error)))
}

/// Sorts an error of the Arrow libraries into its variant.
pub(crate) fn arrow_error(file: &str, error: ArrowError) -> DataError {
    match error {
        ArrowError::IoError(_, error) => DataError::reading(file, error),
        other => DataError::Damaged { file: file.to_owned(), detail: other.to_string() },
    }
}

/// The type of the elements of lists; lists that are all empty by their type are none. A file need not hold a
/// byte for each of those, and could claim any number of them.
fn list_element(kind: &DataType) -> Option<&DataType> {
    match kind {
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, 1..) => {
            Some(element.data_type())
        }
        _ => None,
    }
}

/// The length of the first list that has elements; 0 when there is none.
fn first_length(column: &ArrayRef) -> usize {
    let lists = Lists::new(column.clone());
    let lengths = lists.lengths.iter().enumerate().filter(|&(row, _)| column.is_valid(row));
    lengths.map(|(_, &length)| length).find(|&length| length > 0).unwrap_or(0)
}

/// A column of lists as one array of all their elements.
struct Lists {
    values: ArrayRef,
    lengths: Vec<usize>,
    column: ArrayRef,
}

impl Lists {
    fn new(column: ArrayRef) -> Self {
        let rows = column.len();
        let cut = |values: &ArrayRef, offsets: Vec<usize>| {
            let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
            let lengths = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
            (values.slice(first, last - first), lengths)
        };
        let (values, lengths) = match column.data_type() {
            DataType::FixedSizeList(_, _) => {
                let list = column.as_fixed_size_list();
                let length = list.value_length() as usize;
                let first = if rows == 0 { 0 } else { list.value_offset_at(0) };
                (list.values().slice(first, rows * length), vec![length; rows])
            }
            DataType::LargeList(_) => {
                let list = column.as_list::<i64>();
                cut(list.values(), list.value_offsets().iter().map(|&offset| offset as usize).collect())
            }
            _ => {
                let list = column.as_list::<i32>();
                cut(list.values(), list.value_offsets().iter().map(|&offset| offset as usize).collect())
            }
        };
        Self { values, lengths, column }
    }
}

/// The column of lists the features come from.
struct Vectors {
    name: String,
    width: usize,
}

struct TableRows {
    /// Positions in the record batches.
    features: Vec<usize>,
    label: Option<usize>,
    id: Option<usize>,
    kept: Vec<usize>,
    vectors: Option<Vectors>,
    classes: Option<Vec<String>>,
    /// What is left of the present record batch.
    current: Option<RecordBatch>,
    batches: RecordBatches,
}

impl RowSource for TableRows {
    fn fill(&mut self, collector: &mut Collector) -> Result<bool, DataError> {
        loop {
            let room = collector.room();
            if room == 0 {
                return Ok(true);
            }
            let current = match self.current.take() {
                Some(rest) => rest,
                None => match next_batch(collector.file(), &mut self.batches)? {
                    None => return Ok(false),
                    Some(batch) => batch,
                },
            };
            let count = room.min(current.num_rows());
            if count == 0 {
                continue;
            }
            let rest = current.num_rows() - count;
            if rest > 0 {
                self.current = Some(current.slice(count, rest));
            }
            self.deliver(&current.slice(0, count), collector)?;
        }
    }
}

impl TableRows {
    fn deliver(&self, rows: &RecordBatch, collector: &mut Collector) -> Result<(), DataError> {
        let text = |column: Option<usize>| column.map(|column| texts(rows.column(column)));
        let mut labels = text(self.label);
        if let (Some(labels), Some(classes)) = (&mut labels, &self.classes) {
            for label in labels {
                *label = label.take().and_then(|label| named(label, classes));
            }
        }
        let mut labels = labels.map(Vec::into_iter);
        let mut ids = text(self.id).map(Vec::into_iter);
        let kept = self.kept.iter().map(|&column| texts(rows.column(column)).into_iter());
        let mut kept: Vec<_> = kept.collect();
        let mut texts = move || {
            let label = labels.as_mut().and_then(Iterator::next).flatten();
            let id = ids.as_mut().and_then(Iterator::next).flatten();
            let kept = kept.iter_mut().map(|column| column.next().flatten().map(Into::into)).collect();
            RowText { line: None, label: label.map(Into::into), id: id.map(Into::into), kept }
        };
        match &self.vectors {
            None => self.deliver_scalars(rows, collector, &mut texts),
            Some(vectors) => deliver_vectors(rows.column(self.features[0]), vectors, collector, &mut texts),
        }
    }

    fn deliver_scalars(
        &self,
        rows: &RecordBatch,
        collector: &mut Collector,
        texts: &mut impl FnMut() -> RowText<'static>,
    ) -> Result<(), DataError> {
        let arrays: Vec<&ArrayRef> = self.features.iter().map(|&column| rows.column(column)).collect();
        let columns: Vec<Vec<f64>> = arrays.iter().map(|array| numbers(array)).collect();
        let any_null = arrays.iter().any(|array| array.null_count() > 0);
        for row in 0..rows.num_rows() {
            let text = texts();
            let null = if any_null { arrays.iter().position(|array| array.is_null(row)) } else { None };
            if let Some(feature) = null.filter(|_| !collector.takes_missing()) {
                collector.reject(None, RowProblem::Missing { column: collector.name(feature) })?;
                continue;
            }
            let value = |feature: usize| {
                if null.is_some() && arrays[feature].is_null(row) { f64::NAN } else { columns[feature][row] }
            };
            collector.features().extend((0..columns.len()).map(|feature| value(feature) as f32));
            collector.accept(text, value)?;
        }
        Ok(())
    }
}

fn deliver_vectors(
    column: &ArrayRef,
    vectors: &Vectors,
    collector: &mut Collector,
    texts: &mut impl FnMut() -> RowText<'static>,
) -> Result<(), DataError> {
    let lists = Lists::new(column.clone());
    let values = numbers(&lists.values);
    let any_null = lists.values.null_count() > 0;
    let mut start = 0;
    for (row, &found) in lists.lengths.iter().enumerate() {
        let text = texts();
        let elements = start..start + found;
        start = elements.end;
        let problem = if lists.column.is_null(row) {
            Some(RowProblem::Missing { column: vectors.name.clone() })
        } else if found != vectors.width {
            Some(RowProblem::VectorLength { column: vectors.name.clone(), expected: vectors.width, found })
        } else if any_null && !collector.takes_missing() {
            let null = elements.clone().position(|element| lists.values.is_null(element));
            null.map(|element| RowProblem::Missing { column: collector.name(element) })
        } else {
            None
        };
        if let Some(problem) = problem {
            collector.reject(None, problem)?;
            continue;
        }
        let value = |element: usize| {
            if any_null && lists.values.is_null(element) { f64::NAN } else { values[element] }
        };
        let row: Vec<f64> = elements.map(value).collect();
        collector.features().extend(row.iter().map(|&value| value as f32));
        collector.accept(text, |element| row[element])?;
    }
    Ok(())
}
