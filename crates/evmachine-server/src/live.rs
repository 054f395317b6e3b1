//! The model that answers.

use std::sync::{Arc, PoisonError, RwLock};

use evmachine::Evm;

/// A model version.
pub(crate) struct Live {
    pub(crate) hash: String,
    pub(crate) model: Arc<Evm>,
}

/// Which version is live. Held for as long as a pointer is copied; nobody waits for learning.
pub(crate) struct LiveModel(RwLock<Arc<Live>>);

impl LiveModel {
    pub(crate) fn new(hash: String, model: Arc<Evm>) -> Self {
        Self(RwLock::new(Arc::new(Live { hash, model })))
    }

    pub(crate) fn get(&self) -> Arc<Live> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, hash: String, model: Arc<Evm>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Live { hash, model });
    }
}
