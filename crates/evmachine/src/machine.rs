//! Classes, their extreme vectors and Psi-models: how they are fitted, updated and asked.

pub(crate) mod alone;
pub(crate) mod batch;
pub(crate) mod choose;
pub(crate) mod class;
pub(crate) mod denied;
pub(crate) mod exchange;
pub(crate) mod fit;
pub(crate) mod forget;
pub(crate) mod ignored;
pub(crate) mod lookup;
pub(crate) mod margin_columns;
pub(crate) mod margins;
pub(crate) mod measured;
pub(crate) mod one;
pub(crate) mod reach;
pub(crate) mod refit;
pub(crate) mod report;
pub(crate) mod samples;
pub(crate) mod score;
pub(crate) mod smoothing;
pub(crate) mod space;
pub(crate) mod support;
pub(crate) mod sweep;
pub(crate) mod table;
pub(crate) mod tail_memory;
pub(crate) mod whitening;

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use self::class::{ClassInfo, ClassModel, ExtremeVector};
use self::lookup::Cache;
use self::samples::Samples;
use self::whitening::Whitening;
use crate::input::labels;
use crate::input::standard::Standard;
use crate::params::{CheckedParams, TailMemory};
use evmachine_engine::points::Points;
use evmachine_engine::psi::{FitStatus, PoolSums, PsiModel};

/// Classes, their extreme vectors, and the Psi-model of each: what supports in one space are made of. A model has one over its features,
/// and may have another over logits.
#[derive(Debug)]
pub struct Machine {
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
    pub(crate) ignored: Arc<Samples>,
    pub(crate) cache: Cache,
}

impl Machine {
    /// A machine that knows nothing yet.
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
            ignored: Arc::default(),
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
        let sums = self.pool_sums();
        self.classes.iter().enumerate().flat_map(move |(number, class)| {
            let psi = self.psi_of(number);
            let mean = move |psi: &PsiModel| match psi.status {
                FitStatus::Pooled => sums.pooled(self.params.tail_model, psi, 1.0),
                _ => *psi,
            };
            (0..class.len()).map(move |i| ExtremeVector {
                class: number,
                vector: &class.vectors[i * self.dimensions..(i + 1) * self.dimensions],
                psi: mean(&psi[i]),
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

    /// The same, remembering nothing of its tails.
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
                denied: class.denied.clone(),
                tails: vec![Arc::default(); class.len()],
                ..*class
            })
            .collect();
        Self { classes, tail_memory: TailMemory::None, cache: Cache::default(), ..self.clone_but_classes() }
    }

    fn clone_but_classes(&self) -> Self {
        Self {
            params: self.params.clone(),
            classes: Vec::new(),
            standard: self.standard.clone(),
            whitening: self.whitening.clone(),
            ignored: self.ignored.clone(),
            cache: self.cache.clone(),
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

    /// Sums over all points ever learned from, as far as their fits are known, without what denials change.
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
        let mut sums = PoolSums::default();
        let fits = || (0..self.classes.len()).flat_map(|number| self.psi_of(number));
        fits().for_each(|psi| sums.add(psi));
        let (sums, model, rho) = (self.dropped.merge(sums), self.params.tail_model, self.params.pooling);
        fits().map(move |psi| sums.pooled(model, psi, rho))
    }
}

impl Clone for Machine {
    /// On all threads: a machine that remembers its tails is made of many small pieces.
    fn clone(&self) -> Self {
        Self { classes: self.classes.par_iter().cloned().collect(), ..self.clone_but_classes() }
    }
}

impl PartialEq for Machine {
    /// Whether two are the same in every number.
    fn eq(&self, other: &Self) -> bool {
        self.params == other.params
            && self.dimensions == other.dimensions
            && self.classes == other.classes
            && self.points_seen == other.points_seen
            && self.dropped == other.dropped
            && self.tail_memory == other.tail_memory
            && self.standard == other.standard
            && self.whitening == other.whitening
            && self.ignored == other.ignored
    }
}
