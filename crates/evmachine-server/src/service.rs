//! What all routes share.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use evmachine::device::Device;
use evmachine::{Features, Run, RunError};
use evmachine_openworld::Pool;

use crate::drift::DriftWatch;
use crate::guard::Guard;
use crate::learner::Learner;
use crate::live::LiveModel;
use crate::metrics::Metrics;
use crate::predictor::Predictor;
use crate::problem::Problem;
use crate::recent::Recent;
use crate::settings::{Limits, Settings, StartError};
use crate::store::Store;
use crate::v1::health::Pairs;
use crate::v1::people::People;
use crate::v1::versions::Sizes;

/// A pool that is being served.
pub(crate) struct Service {
    /// Writes, one thing after the other.
    pub(crate) writer: Store,
    /// Reads, and never waits for who writes.
    pub(crate) reader: Store,
    pub(crate) live: Arc<LiveModel>,
    pub(crate) predictor: Predictor,
    pub(crate) recent: Recent,
    pub(crate) drift: Arc<DriftWatch>,
    pub(crate) learner: Learner,
    /// The threads that learn, which give way to those that predict.
    pub(crate) learning: rayon::ThreadPool,
    device: Option<Arc<dyn Device>>,
    pub(crate) metrics: Metrics,
    pub(crate) sizes: Sizes,
    pub(crate) pairs: Pairs,
    pub(crate) people: People,
    pub(crate) guard: Guard,
    pub(crate) dimensions: usize,
    pub(crate) limits: Limits,
    pub(crate) model_name: String,
    pub(crate) backups: Option<PathBuf>,
    pub(crate) demo: bool,
}

/// The threads that own the pool.
pub(crate) struct Threads {
    writing: JoinHandle<()>,
    reading: JoinHandle<()>,
}

/// How much threads that learn give way: the nice value that is added.
const NICE: i32 = 10;
/// How often it is looked whether another process has changed the live version.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);

impl Service {
    /// Opens the pool and starts the threads; those that are returned end with [`Service::end`].
    pub(crate) fn start(settings: &Settings, guard: Guard) -> Result<(Arc<Self>, Threads), StartError> {
        let mut pool = Pool::open(&settings.pool)?;
        let dimensions = pool.dimensions();
        let live = Arc::new(LiveModel::new(pool.live_hash()?, pool.live()?));
        let minutes = pool.minutes()?;
        let (writer, writing) = Store::open(pool, "write", Some(live.clone()))?;
        let (reader, reading) = Store::open(Pool::open(&settings.pool)?, "read", None)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let device = settings.device.clone();
        // Laid out, or brought to the device, before others ask it.
        let nothing = Features::new(Vec::new(), dimensions).map_err(RunError::from)?;
        live.get().model.decide_with(&run_on(device.as_ref()), &nothing)?;
        let predictor = Predictor::start(&live, device.clone(), threads).map_err(StartError::Threads)?;
        let learning = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|number| format!("learn-{number}"))
            .start_handler(|_| give_way())
            .build()
            .map_err(|error| StartError::Threads(std::io::Error::other(error)))?;
        let drift = Arc::new(DriftWatch::open(&settings.pool, &live.get()));
        let service = Self {
            writer,
            reader,
            live,
            predictor,
            recent: Recent::new(dimensions, minutes),
            drift,
            learner: Learner::default(),
            learning,
            device,
            metrics: Metrics::default(),
            sizes: Sizes::default(),
            pairs: Pairs::default(),
            people: People::default(),
            guard,
            dimensions,
            limits: settings.limits,
            model_name: settings.model_name.clone(),
            backups: settings.backups.clone(),
            demo: settings.demo,
        };
        Ok((Arc::new(service), Threads { writing, reading }))
    }

    /// How what takes long is done.
    pub(crate) fn run(&self) -> Run<'_> {
        run_on(self.device.as_ref())
    }

    /// Does what takes longer than a route may hold a thread of the runtime.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| {
            tracing::error!("{error}");
            Problem::internal("the log of the server says more")
        })?
    }

    /// Brings the rate of unknowns to the disk. Where that fails, it is of the minutes since that the next start knows nothing.
    pub(crate) fn save_minutes(&self) {
        let minutes = self.recent.take_unsaved();
        if let Err(error) = self.writer.call_blocking(move |pool| pool.add_minutes(&minutes)) {
            tracing::warn!(%error, "the rate of unknowns was not kept");
        }
    }

    /// Ends the threads when they have done what waits. What is being learned is dropped; its samples stay to be learned.
    pub(crate) fn end(&self, threads: Threads) {
        self.learner.stop();
        self.drift.write();
        self.save_minutes();
        // One after the other: who closes a database last brings its log into it and removes it, and of two that close it at the
        // same moment neither is the last.
        for (store, thread) in [(&self.reader, threads.reading), (&self.writer, threads.writing)] {
            store.end();
            // A thread that has panicked has ended.
            let _ = thread.join();
        }
    }
}

/// A call that uses the device, if there is one.
pub(crate) fn run_on(device: Option<&Arc<dyn Device>>) -> Run<'_> {
    device.map_or(run_here(), |device| run_here().device(device.as_ref()))
}

/// A call of the processor alone. Groups are kept by it, so that they are the same with a device and without.
#[expect(clippy::disallowed_methods, reason = "the one place where runs are made")]
pub(crate) fn run_here() -> Run<'static> {
    Run::new()
}

/// Lowers the priority of this thread, where the system lets each thread have its own.
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        // Where it is refused, threads compete as equals.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
    }
}

/// Publishes the live version where it has changed, and does a part of what is due since; whether more is.
pub(crate) fn tend(pool: &mut Pool, live: &LiveModel) -> bool {
    publish(pool, live);
    match pool.refresh_some(&run_here()) {
        Ok(done) => !done,
        Err(error) => {
            tracing::error!("{error}");
            false
        }
    }
}

/// Publishes the live version where it has changed.
pub(crate) fn publish(pool: &mut Pool, live: &LiveModel) {
    let published = pool.live_hash().and_then(|hash| {
        if live.get().hash != hash {
            live.set(hash, pool.live()?);
        }
        Ok(())
    });
    if let Err(error) = published {
        tracing::error!("{error}");
    }
}
