//! The model file: safetensors, as `docs/model-format.md` specifies it.

mod beyond;
mod denied;
mod encoder;
pub(crate) mod error;
#[cfg(feature = "files")]
mod files;
mod forest;
mod kept;
mod layout;
mod metric_check;
mod tensors;
mod vectors;

use std::collections::HashSet;
use std::sync::Arc;

use safetensors::tensor::SafeTensors;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::machine::Machine;
use crate::machine::class::ClassModel;
use crate::machine::whitening::Whitening;
use crate::model::Evm;
use crate::params::{Params, TailMemory, TailSize};
use beyond::Beyond;
use encoder::Named;
pub use error::FormatError;
use evmachine_engine::metric::Metric;
use evmachine_engine::psi::{FitStatus, PoolSums, PsiModel};
use kept::Kept;
use layout::{Column, Layout, f32_slices, f32s, f64s, u8s, u64s};
use metric_check::MetricCheck;
use tensors::Tensors;
use vectors::{by_class, fits_of, tails_of, vectors_of};

/// The latest version that this library writes. It reads this one and all before it, and writes the first that holds
/// what the model has: 7 with a loss that chose the cover; 6 with a forest, vectors that are not of a class, or an encoder; 5 with a threshold from rows that were not learned, or one given as a support; 4 with one class alone, ignored samples, rows set aside, named rows or fillings; 3 with standard columns,
/// or witnesses; 2 with whitening; else 1.
pub const FORMAT_VERSION: u32 = 7;

/// Counts of rows stay exact in every number that is made of them.
const MOST_POINTS: u64 = 1 << 53;

/// The key of the metadata entry.
const KEY: &str = "evmachine";
/// What stands before the checksum's digits in the file's header, which holds the metadata as an escaped string.
const CHECKSUM_MARK: &[u8] = br#"{\"checksum\":\""#;
const CHECKSUM_DIGITS: usize = 16;

fn inconsistent(detail: impl Into<String>) -> FormatError {
    FormatError::Inconsistent { detail: detail.into() }
}

/// The metadata. The checksum comes first, so that its place in the file is known.
#[derive(Serialize, Deserialize)]
struct Header {
    checksum: String,
    format_version: u32,
    library_version: String,
    params: serde_json::Value,
    dimensions: usize,
    classes: Vec<String>,
    points_seen: u64,
    tail_memory: TailMemory,
    dropped: PoolSums,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feature_names: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label_type: Option<String>,
    #[serde(default, skip_serializing_if = "is_nothing")]
    beyond: Beyond,
    #[serde(default, skip_serializing_if = "Kept::is_nothing")]
    kept: Kept,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoder: Option<Named>,
    /// What a user's own metric measures between vectors of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metric_check: Option<MetricCheck>,
}

/// Whether a file stands in another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Outer,
    Inner,
}

fn is_nothing(beyond: &Beyond) -> bool {
    *beyond == Beyond::default()
}

/// The part of the metadata that every version has.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

/// # Save
impl Evm {
    /// The model as the bytes of a file. The same model always gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        let layout = self.layout()?;
        let mut bytes = Vec::with_capacity(layout.length());
        layout.write(&mut bytes).map_err(|error| inconsistent(error.to_string()))?;
        Ok(bytes)
    }

    /// XXH3 of the bytes of its file, which are not kept.
    pub(crate) fn fingerprint(&self) -> Result<u64, FormatError> {
        Ok(self.layout()?.hash())
    }

    fn layout(&self) -> Result<Layout<'_>, FormatError> {
        let mut params = serde_json::to_value(Params::clone(&self.machine.params))
            .map_err(|e| inconsistent(e.to_string()))?;
        let parts = if self.machine.has_pooled() {
            7
        } else if self.machine.has_denied() || self.ledger.encoder.is_some() {
            6
        } else if self.is_calibrated() {
            5
        } else if self.has_kept() {
            4
        } else if self.is_beyond() {
            3
        } else {
            1
        };
        let plain = serde_json::to_value(Params::paper()).map_err(|e| inconsistent(e.to_string()))?;
        let set = Params::LIST.iter().filter(|later| params.get(later.name) != plain.get(later.name));
        let version = set.map(|later| later.since).fold(parts, u32::max);
        if let Some(params) = params.as_object_mut() {
            // Readers of earlier versions refuse names that they do not know.
            let later = Params::LIST.iter().filter(|parameter| version < parameter.since);
            later.for_each(|parameter| drop(params.remove(parameter.name)));
        }
        let header = Header {
            checksum: "0".repeat(CHECKSUM_DIGITS),
            format_version: version,
            library_version: env!("CARGO_PKG_VERSION").to_owned(),
            params,
            dimensions: self.machine.dimensions,
            classes: self.machine.classes.iter().map(|class| class.name.clone()).collect(),
            points_seen: self.machine.points_seen,
            tail_memory: self.machine.tail_memory,
            dropped: self.machine.dropped,
            feature_names: self.ledger.feature_names.clone(),
            label_type: self.ledger.label_type.clone(),
            beyond: self.beyond(),
            kept: self.kept(),
            encoder: self.named_encoder(),
            metric_check: MetricCheck::of(&self.machine),
        };
        let text = serde_json::to_string(&header).map_err(|e| inconsistent(e.to_string()))?;
        let mut tensors = self.tensors();
        tensors.extend(self.beyond_tensors()?);
        tensors.extend(self.kept_tensors());
        tensors.extend(self.denied_tensors());
        tensors.extend(self.encoder_tensors());
        Layout::new(text, tensors)
    }

    /// Reads a model from the bytes of a file, which may be a memory map; nothing is borrowed from them.
    ///
    /// Refuses anything inconsistent, and allocates no more than a small multiple of `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::read(bytes, None, Depth::Outer)
    }

    /// As [`from_bytes`](Self::from_bytes), for a model within a model, which holds no other.
    fn from_inner_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::read(bytes, None, Depth::Inner)
    }

    /// As [`from_bytes`](Self::from_bytes), for a model with a user's own metric, which must have the name that
    /// the file says.
    pub fn from_bytes_with_metric(bytes: &[u8], metric: Metric) -> Result<Self, FormatError> {
        Self::read(bytes, Some(metric), Depth::Outer)
    }

    fn read(bytes: &[u8], metric: Option<Metric>, depth: Depth) -> Result<Self, FormatError> {
        let container = |e: safetensors::SafeTensorError| FormatError::Container { source: e.into() };
        let (_, outer) = SafeTensors::read_metadata(bytes).map_err(container)?;
        let text = outer.metadata().as_ref().and_then(|map| map.get(KEY)).ok_or(FormatError::NotAModel)?;
        let Version { format_version: found } =
            serde_json::from_str(text).map_err(|e| inconsistent(format!("metadata: {e}")))?;
        if found > FORMAT_VERSION || found == 0 {
            return Err(FormatError::Version { found, supported: FORMAT_VERSION });
        }
        let header: Header =
            serde_json::from_str(text).map_err(|e| inconsistent(format!("metadata: {e}")))?;
        let plain = header.beyond == Beyond::default() && header.kept.is_nothing();
        let plain = plain && header.format_version != 6 && header.encoder.is_none();
        let not_one = || inconsistent("the machine over logits is not one of this model");
        if depth == Depth::Inner && !plain {
            return Err(not_one());
        }
        let digits = checksum_position(bytes)?;
        if header.checksum != format!("{:016x}", checksum(bytes, digits)) {
            return Err(FormatError::Checksum);
        }
        let tensors = SafeTensors::deserialize(bytes).map_err(container)?;
        let check = header.metric_check.clone();
        let model = model_of(header, &Tensors(tensors), metric)?;
        if depth == Depth::Inner && model.machine.has_denied() {
            return Err(not_one());
        }
        check.map_or(Ok(()), |check| check.compare(&model.machine))?;
        Ok(model)
    }

    fn tensors(&self) -> Vec<(&'static str, Column<'_>)> {
        let classes = &self.machine.classes;
        let (count, d) = (self.extreme_vector_count(), self.machine.dimensions);
        let psi = || classes.iter().flat_map(|class| &class.psi);
        let tails = || classes.iter().flat_map(|class| &class.tails);
        let tail_values: usize = tails().map(|tail| tail.len()).sum();
        let each = classes.len();
        let mut tensors = vec![
            ("class_points_seen", u64s(each, classes.iter().map(|class| class.points_seen))),
            ("class_sizes", u64s(each, classes.iter().map(|class| class.len() as u64))),
            ("class_tail_sizes", u64s(each, classes.iter().map(|class| class.tail_size as u64))),
            ("gain", f32s(vec![count], classes.iter().flat_map(|class| class.gains.iter().copied()))),
            ("scale", f64s(count, psi().map(|psi| psi.scale))),
            ("shape", f64s(count, psi().map(|psi| psi.shape))),
            ("shift", f64s(count, psi().map(|psi| psi.shift))),
            ("source", u64s(count, classes.iter().flat_map(|class| class.sources.iter().copied()))),
            ("status", u8s(count, psi().map(|psi| psi.status as u8))),
            ("tail_lengths", u64s(count, tails().map(|tail| tail.len() as u64))),
            ("tails", f32_slices(vec![tail_values], tails().map(|tail| &**tail))),
            ("vectors", f32_slices(vec![count, d], classes.iter().map(|class| &class.vectors[..]))),
        ];
        let whitening = self.machine.whitening.iter();
        tensors.extend(whitening.map(|whitening| ("whitening", f32s(vec![d, d], whitening.rows()))));
        tensors
    }
}

/// Where the digits of the checksum begin.
fn checksum_position(bytes: &[u8]) -> Result<usize, FormatError> {
    let missing = || inconsistent("the metadata does not begin with a checksum");
    let length = bytes.first_chunk().map(|length| u64::from_le_bytes(*length)).ok_or_else(missing)?;
    let end = usize::try_from(length).ok().and_then(|length| length.checked_add(8)).ok_or_else(missing)?;
    let header = bytes.get(..end).ok_or_else(missing)?;
    let mark =
        header.windows(CHECKSUM_MARK.len()).position(|window| window == CHECKSUM_MARK).ok_or_else(missing)?;
    let digits = mark + CHECKSUM_MARK.len();
    if digits + CHECKSUM_DIGITS > header.len() {
        return Err(missing());
    }
    Ok(digits)
}

/// XXH3 of the file with the digits of the checksum taken as `0`.
fn checksum(bytes: &[u8], digits: usize) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&bytes[..digits]);
    hash.update(&[b'0'; CHECKSUM_DIGITS]);
    hash.update(&bytes[digits + CHECKSUM_DIGITS..]);
    hash.digest()
}

fn params_of(mut value: serde_json::Value, metric: Option<Metric>) -> Result<Params, FormatError> {
    let name = value.get("metric").and_then(|name| name.as_str());
    let name = name.ok_or_else(|| inconsistent("params: there is no metric"))?.to_owned();
    let known = Metric::from_name(&name);
    let metric = match (known, metric) {
        (Some(known), None) => known,
        (_, Some(given)) if given.name() == name => given,
        (_, Some(given)) => {
            return Err(FormatError::OtherMetric { name, given: given.name() });
        }
        (None, None) => return Err(FormatError::CustomMetric { name }),
    };
    // The rest is read with a metric that can be read.
    value["metric"] = "euclidean".into();
    let params: Params = serde_json::from_value(value).map_err(|e| inconsistent(format!("params: {e}")))?;
    Ok(Params { metric, ..params })
}

fn tail_sizes_of(
    tensors: &Tensors<'_>,
    classes: usize,
    rule: TailSize,
    points_seen: u64,
) -> Result<Vec<usize>, FormatError> {
    let sizes = tensors.counts("class_tail_sizes", classes)?;
    let longest = match rule {
        TailSize::Count(count) => count as u64,
        TailSize::Fraction(_) | TailSize::Auto => points_seen.max(1),
    };
    if sizes.iter().any(|&size| size as u64 > longest) {
        return Err(inconsistent(format!("a tail of more than {longest} values")));
    }
    Ok(sizes)
}

fn model_of(header: Header, tensors: &Tensors<'_>, metric: Option<Metric>) -> Result<Evm, FormatError> {
    let params =
        params_of(header.params, metric)?.check().map_err(|e| inconsistent(format!("params: {e}")))?;
    let count = tensors.length("shape")?;
    let d = header.dimensions;
    let fewest = if header.format_version < 4 { 2 } else { 1 };
    if d == 0 || header.classes.len() < fewest {
        return Err(inconsistent("a model has at least one dimension, and two classes or one in format 4"));
    }
    // Every row learned from is an extreme vector, or counted here, or neither; never both.
    let dropped = header.points_seen.saturating_sub(count as u64);
    if header.points_seen >= MOST_POINTS || !header.dropped.is_possible(dropped) {
        return Err(inconsistent("the counts and sums of dropped fits are not possible"));
    }
    if !header.feature_names.is_empty() && header.feature_names.len() != d {
        return Err(inconsistent(format!("{} feature names for {d} dimensions", header.feature_names.len())));
    }
    let sizes = tensors.counts("class_sizes", header.classes.len())?;
    if sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size)) != Some(count) || sizes.contains(&0)
    {
        return Err(inconsistent(format!(
            "class sizes do not add up to {count} extreme vectors, one at least each"
        )));
    }
    let tail_sizes = tail_sizes_of(tensors, sizes.len(), params.tail_size, header.points_seen)?;
    let points_seen = tensors.u64s("class_points_seen", sizes.len())?;
    let enough = points_seen.iter().zip(&sizes).all(|(&points, &size)| points >= size as u64);
    let sum = points_seen.iter().try_fold(0u64, |sum, &points| sum.checked_add(points));
    if !enough || sum.is_none_or(|sum| sum > header.points_seen) {
        return Err(inconsistent("the classes do not add up to the rows learned from"));
    }
    let whitening = whitening_of(tensors, header.format_version, params.whitening, d)?;
    let vectors = vectors_of(tensors, &params.metric, count, d)?;
    let mut vectors = by_class(&vectors, &sizes, d).into_iter();
    let psi = fits_of(tensors, count, header.format_version)?;
    let sources = tensors.u64s("source", count)?;
    let distinct: HashSet<u64> = sources.iter().copied().collect();
    if distinct.len() < count || sources.iter().any(|&source| source >= header.points_seen) {
        return Err(inconsistent("sources are not distinct rows learned from"));
    }
    let gains = tensors.f32s("gain", &[count], |value| value >= 0.0)?;
    let mut tails = tails_of(tensors, count)?.into_iter();
    // A class that is alone has nothing to remember.
    let guessed = psi.first().is_some_and(|psi| psi.status == FitStatus::WithinClass);
    if psi.iter().any(|psi| (psi.status == FitStatus::WithinClass) != guessed)
        || guessed != (sizes.len() == 1 && !tensors.has("ignored_source"))
    {
        return Err(inconsistent("margins guessed from within a class that is not alone"));
    }
    let mut start = 0;
    let mut names = HashSet::new();
    let mut classes = Vec::with_capacity(sizes.len());
    for (number, name) in header.classes.into_iter().enumerate() {
        if name.is_empty() || !names.insert(name.clone()) {
            return Err(inconsistent(format!("class name {name:?} is empty or repeated")));
        }
        let lengths = match header.tail_memory {
            TailMemory::Full if guessed => 0..=0,
            TailMemory::Full => 1..=tail_sizes[number],
            TailMemory::Max => 1..=1,
            TailMemory::None => 0..=0,
        };
        let range = start..start + sizes[number];
        start = range.end;
        classes.push(ClassModel {
            name,
            tail_size: tail_sizes[number].max(1),
            points_seen: points_seen[number],
            vectors: vectors.next().unwrap_or_default(),
            psi: psi[range.clone()].to_vec(),
            sources: sources[range.clone()].to_vec(),
            gains: gains[range].to_vec(),
            tails: tails.by_ref().take(sizes[number]).collect(),
            denied: Arc::default(),
        });
        let class = &classes[number];
        let is_wrong = |psi: &PsiModel, tail: &Arc<[f32]>| match psi.status {
            FitStatus::Pooled => !tail.is_empty(),
            _ => !lengths.contains(&tail.len()),
        };
        let mut tails = class.psi.iter().zip(&class.tails);
        if let Some((_, tail)) = tails.find(|(psi, tail)| is_wrong(psi, tail)) {
            let (memory, length) = (header.tail_memory, tail.len());
            let detail = format!("class {:?} has a tail of {length} values under {memory:?}", class.name);
            return Err(inconsistent(detail));
        }
    }
    let mut evm = Evm::from(Machine {
        classes,
        points_seen: header.points_seen,
        dropped: header.dropped,
        tail_memory: header.tail_memory,
        whitening,
        ..Machine::empty(params, d)
    });
    evm.ledger.feature_names = header.feature_names;
    evm.ledger.label_type = header.label_type;
    read_parts(&mut evm, tensors, (header.format_version, header.kept, header.encoder, &header.beyond))?;
    Ok(evm)
}

/// What later versions have, and earlier ones must not.
fn read_parts(
    evm: &mut Evm,
    tensors: &Tensors<'_>,
    (version, kept, named, beyond): (u32, Kept, Option<Named>, &Beyond),
) -> Result<(), FormatError> {
    if version >= 4 {
        evm.read_kept(tensors, kept)?;
    } else if !kept.is_nothing() || kept::is_in(tensors) {
        return Err(inconsistent(format!("parts of format 4 in a file of format {version}")));
    }
    if version >= 6 {
        evm.read_denied(tensors)?;
        evm.read_encoder(tensors, named)?;
    } else if named.is_some() || denied::is_in(tensors) || encoder::is_in(tensors) || forest::is_in(tensors) {
        return Err(inconsistent(format!("parts of format 6 in a file of format {version}")));
    }
    if version >= 3 {
        evm.read_beyond(tensors, beyond)?;
    } else if evm.is_beyond() || *beyond != Beyond::default() {
        return Err(inconsistent(format!("parts of format 3 in a file of format {version}")));
    }
    Ok(())
}

/// There where the parameters say so, and nowhere else.
fn whitening_of(
    tensors: &Tensors<'_>,
    version: u32,
    fraction: f64,
    d: usize,
) -> Result<Option<Arc<Whitening>>, FormatError> {
    const NAME: &str = "whitening";
    if fraction == 0.0 {
        return if tensors.has(NAME) {
            Err(inconsistent("tensor \"whitening\" is there, but the parameters say whitening = 0"))
        } else {
            Ok(None)
        };
    }
    if version < 2 {
        return Err(inconsistent("whitening in a file of format 1"));
    }
    let values = tensors.f32s(NAME, &[d, d], |_| true)?;
    let whitening = Whitening::from_rows(&values, d)
        .ok_or_else(|| inconsistent("tensor \"whitening\" is not the inverse of a Cholesky factor"))?;
    Ok(Some(Arc::new(whitening)))
}
