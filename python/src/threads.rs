//! Thread pools by size, kept from call to call.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::PyResult;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure;

/// What threads are for. A fit that has its steps done by an engine holds one of its threads meanwhile, and the engine may do steps
/// in the same process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Calls,
    Steps,
}

/// Threads do not live on in a forked process, so a pool belongs to the process that made it.
type Pools = Vec<((u32, usize, Use), Arc<ThreadPool>)>;

static POOLS: Mutex<Pools> = Mutex::new(Vec::new());

/// A pool of so many threads; 0 stands for all cores.
pub(crate) fn pool(threads: usize, purpose: Use) -> PyResult<Arc<ThreadPool>> {
    let key = (std::process::id(), threads, purpose);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = pools.iter().find(|(other, _)| *other == key) {
        return Ok(pool.clone());
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().map_err(failure::value)?);
    pools.push((key, pool.clone()));
    Ok(pool)
}
