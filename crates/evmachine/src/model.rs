//! The model: classes, their extreme vectors, and the Psi-model of each.

pub(crate) mod aside;
pub(crate) mod format;
pub(crate) mod job;
pub(crate) mod origin;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use serde::Serialize;

use crate::error::FeatureError;
use crate::heldout::calibration::Calibration;
use crate::heldout::sample::Sample;
use crate::input::labels;
use crate::input::standard::Standard;
use crate::machine::ignored::Ignored;
use crate::machine::reach::Reach;
use crate::machine::support::{Estimates, Search};
use crate::machine::sweep::NearVectors;
use crate::machine::whitening::Whitening;
use crate::model::aside::Aside;
use crate::model::origin::Origins;
use crate::params::{CheckedParams, TailMemory};
use crate::witness::Witnesses;
use evmachine_engine::device::SupportModel;
use evmachine_engine::distance::{Columns, Kept};
use evmachine_engine::metric::MetricError;
use evmachine_engine::once;
use evmachine_engine::points::Points;
use evmachine_engine::psi::curve::{Curve, Curves};
use evmachine_engine::psi::{PoolSums, PsiModel};

/// The Extreme Value Machine.
///
/// Trained by [`fit`](Evm::fit), grown by [`update`](Evm::update), asked by [`decide`](Evm::decide). Immutable
/// but for those that take `&mut self`; cloning is cheap next to training and copies the extreme vectors.
#[derive(Debug)]
pub struct Evm {
    pub(crate) params: CheckedParams,
    pub(crate) dimensions: usize,
    pub(crate) classes: Vec<ClassModel>,
    /// Rows ever given, those of forgotten classes and ignored ones included: the next row gets this as its number.
    pub(crate) points_seen: u64,
    /// Pooling sums of the points that are not extreme vectors any more.
    pub(crate) dropped: PoolSums,
    /// What tails are remembered as.
    pub(crate) tail_memory: TailMemory,
    /// Estimated from the first batch, where [`Params::standardize`](crate::Params::standardize) says so.
    pub(crate) standard: Option<Arc<Standard>>,
    /// Estimated from the first batch, where [`Params::whitening`](crate::Params::whitening) is above 0.
    pub(crate) whitening: Option<Arc<Whitening>>,
    /// Where [`Params::logit_weight`](crate::Params::logit_weight) or that of the probe ask for them.
    pub(crate) witnesses: Option<Arc<Witnesses>>,
    /// Rows as they came, where the threshold is set on held-out ones or there is a probe.
    pub(crate) sample: Option<Arc<Sample>>,
    pub(crate) calibration: Option<Arc<Calibration>>,
    pub(crate) ignored: Arc<Ignored>,
    pub(crate) aside: Arc<Vec<Aside>>,
    pub(crate) origins: Arc<Origins>,
    /// By column, what stands in for a missing value.
    pub(crate) fill: Option<Arc<Vec<f32>>>,
    /// One for each dimension, or none at all.
    pub(crate) feature_names: Vec<String>,
    pub(crate) label_type: Option<String>,
    pub(crate) cache: Cache,
}

/// One class. Columns of equal length, an entry for each extreme vector, in order of choice.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ClassModel {
    pub(crate) name: String,
    pub(crate) tail_size: usize,
    pub(crate) points_seen: u64,
    /// Row after row, ready for the metric. Models that one became of another share what did not change.
    pub(crate) vectors: Arc<Vec<f32>>,
    pub(crate) psi: Vec<PsiModel>,
    /// Number of the training row, counted over all data ever learned from.
    pub(crate) sources: Vec<u64>,
    pub(crate) gains: Vec<f32>,
    /// By tail memory: all distances, sorted; the largest alone, `OPEN_TAIL` if the tail is not full yet; none.
    pub(crate) tails: Vec<Arc<[f32]>>,
}

impl ClassModel {
    pub(crate) fn len(&self) -> usize {
        self.psi.len()
    }
}

/// What is computed once for a model, when it is first needed.
#[derive(Clone, Default)]
pub(crate) struct Cache {
    columns: OnceLock<Arc<Kept>>,
    lookup: OnceLock<Arc<Lookup>>,
    supports: OnceLock<Arc<SupportModel>>,
    near: OnceLock<Option<Arc<NearVectors>>>,
}

impl Cache {
    /// Has cells made anew when decisions next ask for them.
    pub(crate) fn forget_near(&mut self) {
        self.near = OnceLock::new();
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cache").field("lookup", &self.lookup).finish_non_exhaustive()
    }
}

/// What decisions need.
pub(crate) struct Lookup {
    pub(crate) columns: Arc<dyn Columns>,
    pub(crate) curves: Curves,
    /// Of the curves, over the ranks that the columns give.
    pub(crate) estimates: Estimates,
    /// By class, its extreme vectors among the columns.
    pub(crate) ranges: Vec<Range<usize>>,
    reach: Result<Option<Reach>, MetricError>,
    /// Ignored samples, where there are any.
    pub(crate) ignored: Option<Arc<dyn Columns>>,
}

impl Lookup {
    /// For the `fused` largest supports of each class.
    pub(crate) fn search(&self, fused: usize) -> Search<'_> {
        Search { curves: &self.curves, estimates: &self.estimates, ranges: &self.ranges, fused }
    }

    /// `None` where there is no beyond.
    pub(crate) fn reach(&self) -> Result<Option<&Reach>, MetricError> {
        self.reach.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }
}

impl std::fmt::Debug for Lookup {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Lookup").field("columns", &self.columns.len()).finish_non_exhaustive()
    }
}

/// A class of a model, as seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ClassInfo<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of extreme vectors.
    pub extreme_vectors: usize,
    /// Rows learned from.
    pub points_seen: u64,
    /// tau of its tails.
    pub tail_size: usize,
}

/// An extreme vector of a model, as seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExtremeVector<'a> {
    /// Class, by position in [`Evm::classes`].
    pub class: usize,
    /// The vector: whitened where whitening is on, of unit length for cosine, moved where smoothing is on.
    pub vector: &'a [f32],
    /// The fitted Psi-model, before pooling.
    pub psi: PsiModel,
    /// The training row it came from, counted from 0 over all data ever learned from.
    pub source: u64,
    /// Points of its class that it was the first to cover, less its risk ([`Params::cover_risk`](crate::Params::cover_risk)); for the
    /// weighted cover, what it added to the sum of psi.
    pub gain: f32,
}

impl Evm {
    /// A model that knows nothing yet.
    pub(crate) fn empty(params: CheckedParams, dimensions: usize) -> Self {
        let tail_memory = params.tail_memory;
        Self {
            params,
            dimensions,
            classes: Vec::new(),
            points_seen: 0,
            dropped: PoolSums::default(),
            tail_memory,
            standard: None,
            whitening: None,
            witnesses: None,
            sample: None,
            calibration: None,
            ignored: Arc::default(),
            aside: Arc::default(),
            origins: Arc::default(),
            fill: None,
            feature_names: Vec::new(),
            label_type: None,
            cache: Cache::default(),
        }
    }

    /// The parameters it was trained with.
    pub fn params(&self) -> &CheckedParams {
        &self.params
    }

    /// Dimension of the vectors.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Names of the features, one for each dimension; empty where nobody gave them.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// Names the features, so that whoever loads the model can put columns in the same order: one name for each dimension,
    /// or none at all, which takes them away.
    ///
    /// ```
    /// # use evmachine::{Evm, FeatureError, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// # let (mut evm, _) = Evm::fit(&Params::default(), &features, &labels)?;
    /// evm.set_feature_names(vec!["height".to_owned()])?;
    /// assert_eq!(evm.feature_names(), ["height"]);
    /// let two = vec!["height".to_owned(), "width".to_owned()];
    /// assert_eq!(evm.set_feature_names(two), Err(FeatureError::NameCount { expected: 1, found: 2 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_feature_names(&mut self, names: Vec<String>) -> Result<(), FeatureError> {
        if !names.is_empty() && names.len() != self.dimensions {
            return Err(FeatureError::NameCount { expected: self.dimensions, found: names.len() });
        }
        self.feature_names = names;
        Ok(())
    }

    /// What labels were before they became class names, in the words of whoever trained the model, such as `uint8`.
    pub fn label_type(&self) -> Option<&str> {
        self.label_type.as_deref()
    }

    /// Notes the type of the labels, so that whoever loads the model can give them back as they came. Class names are text
    /// whatever it is.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["0", "0", "0", "1", "1", "1"])?;
    /// # let (mut evm, _) = Evm::fit(&Params::default(), &features, &labels)?;
    /// evm.set_label_type(Some("int64".to_owned()));
    /// assert_eq!(Evm::from_bytes(&evm.to_bytes()?)?.label_type(), Some("int64"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_label_type(&mut self, label_type: Option<String>) {
        self.label_type = label_type;
    }

    /// The matrix W that features are whitened with, row after row, where [`Params::whitening`](crate::Params::whitening)
    /// is above 0: a query x, of unit length for cosine, becomes W x. Lower triangular.
    pub fn whitening_matrix(&self) -> Option<Vec<f32>> {
        self.whitening.as_ref().map(|whitening| whitening.rows().collect())
    }

    /// What the model remembers of tails.
    pub fn tail_memory(&self) -> TailMemory {
        self.tail_memory
    }

    /// Rows ever given to the model, those of forgotten classes and ignored ones included.
    pub fn points_seen(&self) -> u64 {
        self.points_seen
    }

    /// The classes, in the order in which they were learned.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = ClassInfo<'_>> {
        self.classes.iter().map(|class| ClassInfo {
            name: &class.name,
            extreme_vectors: class.len(),
            points_seen: class.points_seen,
            tail_size: class.tail_size,
        })
    }

    /// The name of a class.
    ///
    /// # Panics
    ///
    /// If there are not so many classes.
    pub fn class_name(&self, class: usize) -> &str {
        &self.classes[class].name
    }

    /// The position of the class of a name, or of another name of the same [`key`](labels::key).
    pub fn class_index(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| labels::are_same(&class.name, name))
    }

    /// All extreme vectors, class by class, in order of choice within a class.
    pub fn extreme_vectors(&self) -> impl Iterator<Item = ExtremeVector<'_>> {
        self.classes.iter().enumerate().flat_map(move |(number, class)| {
            (0..class.len()).map(move |i| ExtremeVector {
                class: number,
                vector: &class.vectors[i * self.dimensions..(i + 1) * self.dimensions],
                psi: class.psi[i],
                source: class.sources[i],
                gain: class.gains[i],
            })
        })
    }

    /// Number of extreme vectors.
    pub fn extreme_vector_count(&self) -> usize {
        self.classes.iter().map(ClassModel::len).sum()
    }

    /// Extreme vectors by rows learned from, those of forgotten classes not counted.
    pub fn vector_ratio(&self) -> f64 {
        self.extreme_vector_count() as f64 / self.points_held().max(1) as f64
    }

    /// Rows learned from, of the classes that are here.
    pub(crate) fn points_held(&self) -> u64 {
        self.classes.iter().map(|class| class.points_seen).sum()
    }

    /// The same model, remembering nothing of its tails.
    pub(crate) fn clone_without_tails(&self) -> Self {
        let classes = self
            .classes
            .iter()
            .map(|class| ClassModel {
                name: class.name.clone(),
                vectors: class.vectors.clone(),
                psi: class.psi.clone(),
                sources: class.sources.clone(),
                gains: class.gains.clone(),
                tails: vec![Arc::default(); class.len()],
                ..*class
            })
            .collect();
        Self {
            params: self.params.clone(),
            classes,
            tail_memory: TailMemory::None,
            standard: self.standard.clone(),
            whitening: self.whitening.clone(),
            witnesses: None,
            sample: None,
            calibration: None,
            ignored: self.ignored.clone(),
            aside: self.aside.clone(),
            origins: self.origins.clone(),
            fill: self.fill.clone(),
            feature_names: self.feature_names.clone(),
            label_type: self.label_type.clone(),
            cache: Cache::default(),
            ..*self
        }
    }

    /// All extreme vectors.
    pub(crate) fn points(&self) -> Points<'_> {
        let rows = self.classes.iter().flat_map(|class| class.vectors.chunks_exact(self.dimensions));
        Points::rows(rows.collect(), self.dimensions)
    }

    /// By class, its extreme vectors among all.
    pub(crate) fn ranges(&self) -> Vec<Range<usize>> {
        self.classes
            .iter()
            .scan(0, |start, class| {
                let range = *start..*start + class.len();
                *start = range.end;
                Some(range)
            })
            .collect()
    }

    /// Sums over all points ever learned from, as far as their fits are known.
    pub(crate) fn pool_sums(&self) -> PoolSums {
        let mut sums = PoolSums::default();
        for class in &self.classes {
            class.psi.iter().for_each(|psi| sums.add(psi));
        }
        self.dropped.merge(sums)
    }

    /// The Psi-models as decisions use them, after pooling, in the order of
    /// [`extreme_vectors`](Self::extreme_vectors).
    pub fn pooled_psi(&self) -> impl Iterator<Item = PsiModel> {
        let (sums, model, rho) = (self.pool_sums(), self.params.tail_model, self.params.pooling);
        self.classes.iter().flat_map(|class| &class.psi).map(move |psi| sums.pooled(model, psi, rho))
    }

    /// All extreme vectors.
    pub(crate) fn columns(&self) -> &dyn Columns {
        self.shared_columns().as_ref()
    }

    /// Whether they are laid out already.
    pub(crate) fn has_columns(&self) -> bool {
        self.cache.columns.get().is_some_and(|columns| columns.is_laid_out())
    }

    fn shared_columns(&self) -> &Arc<Kept> {
        once::computed(&self.cache.columns, || {
            let vectors = self.classes.iter().map(|class| class.vectors.clone()).collect();
            Arc::new(Kept::new(&self.params.metric, self.dimensions, vectors))
        })
    }

    /// What a device needs for decisions, and may keep.
    pub(crate) fn support_model(&self) -> &Arc<SupportModel> {
        let lookup = self.lookup();
        once::computed(&self.cache.supports, || {
            Arc::new(SupportModel {
                vectors: self.shared_columns().clone(),
                curves: lookup.curves.values(),
                tail_model: self.params.tail_model,
                classes: lookup.ranges.clone(),
            })
        })
    }

    /// The extreme vectors in cells, or that there are none; made if that is not known yet.
    pub(crate) fn cached_near_vectors<E>(
        &self,
        make: impl FnOnce() -> Result<Option<NearVectors>, E>,
    ) -> Result<Option<&NearVectors>, E> {
        let near = if let Some(near) = self.cache.near.get() {
            near
        } else {
            let made = make()?.map(Arc::new);
            self.cache.near.get_or_init(|| made)
        };
        Ok(near.as_deref())
    }

    pub(crate) fn lookup(&self) -> &Lookup {
        let lookup: &Arc<Lookup> = once::computed(&self.cache.lookup, || {
            let model = self.params.tail_model;
            let curves = Curves::new(model, self.pooled_psi().map(|psi| Curve::new(model, &psi)).collect());
            Arc::new(Lookup {
                columns: self.shared_columns().clone(),
                estimates: Estimates::new(&curves, self.dimensions, self.params.metric.ranks_are_squares()),
                curves,
                ranges: self.ranges(),
                reach: Reach::of(&self.params.metric, &self.points()),
                ignored: self.ignored.columns(&self.params.metric, self.dimensions),
            })
        });
        lookup
    }
}

impl Clone for Evm {
    /// On all threads: a model that remembers its tails is made of many small pieces.
    fn clone(&self) -> Self {
        Self {
            params: self.params.clone(),
            classes: self.classes.par_iter().cloned().collect(),
            feature_names: self.feature_names.clone(),
            label_type: self.label_type.clone(),
            standard: self.standard.clone(),
            whitening: self.whitening.clone(),
            witnesses: self.witnesses.clone(),
            sample: self.sample.clone(),
            calibration: self.calibration.clone(),
            ignored: self.ignored.clone(),
            aside: self.aside.clone(),
            origins: self.origins.clone(),
            fill: self.fill.clone(),
            cache: self.cache.clone(),
            ..*self
        }
    }
}

impl PartialEq for Evm {
    /// Whether two models are the same in every number.
    fn eq(&self, other: &Self) -> bool {
        self.params == other.params
            && self.dimensions == other.dimensions
            && self.classes == other.classes
            && self.points_seen == other.points_seen
            && self.dropped == other.dropped
            && self.tail_memory == other.tail_memory
            && self.standard == other.standard
            && self.whitening == other.whitening
            && self.witnesses == other.witnesses
            && self.sample == other.sample
            && self.calibration == other.calibration
            && self.ignored == other.ignored
            && self.aside == other.aside
            && self.origins == other.origins
            && self.fill == other.fill
            && self.feature_names == other.feature_names
            && self.label_type == other.label_type
    }
}
