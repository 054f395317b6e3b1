//! What decisions need of a machine, computed once, when it is first needed.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::machine::Machine;
use crate::machine::reach::Reach;
use crate::machine::support::{Estimates, SupportSearch};
use crate::machine::sweep::NearVectors;
use evmachine_engine::device::SupportModel;
use evmachine_engine::distance::{Columns, Kept};
use evmachine_engine::metric::MetricError;
use evmachine_engine::once;
use evmachine_engine::psi::PsiModel;
use evmachine_engine::psi::curve::{Curve, Curves};

/// What is computed once for a model, when it is first needed.
#[derive(Clone, Default)]
pub(crate) struct Cache {
    columns: OnceLock<Arc<Kept>>,
    lookup: OnceLock<Arc<Lookup>>,
    supports: OnceLock<Arc<SupportModel>>,
    near: OnceLock<Option<Arc<NearVectors>>>,
    denied: OnceLock<Arc<Vec<Vec<PsiModel>>>>,
}

impl Cache {
    /// Has cells made anew when decisions next ask for them.
    pub(crate) fn forget_near(&mut self) {
        self.near = OnceLock::new();
    }

    /// Forgets all but the layout of the extreme vectors, which stay where they are.
    pub(crate) fn keep_columns(&mut self) {
        *self = Self { columns: std::mem::take(&mut self.columns), ..Self::default() };
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
    /// Denials, by the classes that have any.
    pub(crate) denied: Vec<(u32, Arc<dyn Columns>)>,
}

impl Lookup {
    /// For the `fused` largest supports of each class.
    pub(crate) fn search(&self, fused: usize) -> SupportSearch<'_> {
        SupportSearch { curves: &self.curves, estimates: &self.estimates, ranges: &self.ranges, fused }
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

impl Machine {
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

    /// By class, the Psi-models with the denials of the class among the negatives; empty for a class without any.
    pub(crate) fn cached_denied_psi(&self, make: impl FnOnce() -> Vec<Vec<PsiModel>>) -> &[Vec<PsiModel>] {
        let made: &Arc<Vec<Vec<PsiModel>>> = once::computed(&self.cache.denied, || Arc::new(make()));
        made
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
                denied: self.denied_columns(),
            })
        });
        lookup
    }
}
