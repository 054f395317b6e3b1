//! A thread that owns a pool, and does one thing after the other with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use evmachine::{Decision, Features, RunError};
use evmachine_openworld::{NewSample, Outcome, Pool, StoreError, Which};
use tokio::sync::oneshot;

use crate::live::LiveModel;
use crate::problem::Problem;
use crate::service::{PERIOD, publish, run_here, tend};
use crate::settings::StartError;

/// Calls that may wait; more are refused.
const WAITING: usize = 4096;
/// Rows that are brought to the disk together.
const TOGETHER: usize = 4096;

/// A handle of such a thread.
#[derive(Clone)]
pub(crate) struct Store {
    jobs: SyncSender<Job>,
    /// Where a version is published that has become live, before whoever made it so hears of it.
    live: Option<Arc<LiveModel>>,
    /// Whether the thread has ended.
    ended: Arc<AtomicBool>,
}

enum Job {
    Call(Box<dyn FnOnce(&mut Pool) + Send>),
    Add(Addition),
    End,
}

/// Rows to be taken in, known or not.
pub(crate) struct Addition {
    pub(crate) values: Vec<f32>,
    pub(crate) details: Vec<NewSample>,
    /// The version that decided on them, and what it said; without it, the live version decides.
    pub(crate) decided: Option<(String, Vec<Decision>)>,
    done: oneshot::Sender<Result<Vec<Outcome>, StoreError>>,
}

impl Addition {
    fn version(&self) -> Option<&str> {
        self.decided.as_ref().map(|(version, _)| version.as_str())
    }
}

impl Store {
    /// With `live`, it also does what is due when another version has become live.
    pub(crate) fn open(
        pool: Pool,
        name: &str,
        live: Option<Arc<LiveModel>>,
    ) -> Result<(Self, JoinHandle<()>), StartError> {
        let (jobs, queue) = sync_channel(WAITING);
        let ended = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn({
                let (live, ended) = (live.clone(), ended.clone());
                move || {
                    work(pool, &queue, live.as_deref());
                    // Before what still waits is dropped, and whoever waits for it asks why.
                    ended.store(true, Ordering::Release);
                }
            })
            .map_err(StartError::Threads)?;
        Ok((Self { jobs, live, ended }, thread))
    }

    /// Does something with the pool when it is its turn.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Pool) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let (job, result) = self.job(work);
        self.send(job)?;
        result.await.map_err(|_| self.lost())?.map_err(Problem::from)
    }

    /// Why nobody answered.
    fn lost(&self) -> StoreError {
        if self.ended.load(Ordering::Acquire) { StoreError::Ended } else { panicked() }
    }

    /// As [`call`](Self::call), from a thread that may wait.
    pub(crate) fn call_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Pool) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, result) = self.job(work);
        self.jobs.send(job).map_err(|_| StoreError::Ended)?;
        result.blocking_recv().map_err(|_| self.lost())?
    }

    fn job<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Pool) -> Result<T, StoreError> + Send + 'static,
    ) -> (Job, oneshot::Receiver<Result<T, StoreError>>) {
        let (done, result) = oneshot::channel();
        let live = self.live.clone();
        let job = Job::Call(Box::new(move |pool| {
            let worked = work(pool);
            if let Some(live) = live {
                publish(pool, &live);
            }
            // Whoever asked may be gone.
            let _ = done.send(worked);
        }));
        (job, result)
    }

    /// Takes rows in; they are on the disk when it returns. Rows of several calls may share one commit.
    pub(crate) async fn add(
        &self,
        values: Vec<f32>,
        details: Vec<NewSample>,
        decided: Option<(String, Vec<Decision>)>,
    ) -> Result<Vec<Outcome>, Problem> {
        let (done, result) = oneshot::channel();
        self.send(Job::Add(Addition { values, details, decided, done }))?;
        result.await.map_err(|_| self.lost())?.map_err(Problem::from)
    }

    fn send(&self, job: Job) -> Result<(), Problem> {
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => Problem::unavailable("too much waits to be written; try again"),
            TrySendError::Disconnected(_) => StoreError::Ended.into(),
        })
    }

    /// Ends the thread when all that waits is done.
    pub(crate) fn end(&self) {
        // A thread that is gone has ended.
        let _ = self.jobs.send(Job::End);
    }
}

/// Its transaction was taken back; the panic itself has told the log why.
fn panicked() -> StoreError {
    RunError::Panicked { reason: "the log of the server says why".to_owned() }.into()
}

fn work(mut pool: Pool, queue: &Receiver<Job>, live: Option<&LiveModel>) {
    let mut next: Option<Job> = None;
    let mut is_due = live.is_some();
    loop {
        let job = match next.take() {
            Some(job) => job,
            None => match queue.recv_timeout(if is_due { Duration::ZERO } else { PERIOD }) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => {
                    is_due = survived(&mut pool, |pool| live.is_some_and(|live| tend(pool, live)));
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            },
        };
        if matches!(job, Job::End) {
            return;
        }
        next = survived(&mut pool, |pool| execute(pool, queue, job));
        // However much comes, what is due gets its turn.
        is_due = survived(&mut pool, |pool| live.is_some_and(|live| tend(pool, live)));
    }
}

/// Work that panics takes nothing with it but its own transaction: the pool is opened again, and nothing came of the work.
fn survived<T: Default>(pool: &mut Pool, work: impl FnOnce(&mut Pool) -> T) -> T {
    RunError::catch(|| work(pool)).unwrap_or_else(|error| {
        tracing::error!(%error, "work on the pool");
        match Pool::open(pool.folder()) {
            Ok(opened) => *pool = opened,
            Err(error) => tracing::error!(%error, "the pool cannot be opened again"),
        }
        T::default()
    })
}

/// Does a job, and returns one that was met and is not done.
fn execute(pool: &mut Pool, queue: &Receiver<Job>, job: Job) -> Option<Job> {
    match job {
        Job::Call(call) => call(pool),
        Job::Add(first) => {
            let mut rows: usize = first.details.len();
            let mut together = vec![first];
            while rows < TOGETHER {
                match queue.try_recv() {
                    Ok(Job::Add(addition)) if addition.version() == together[0].version() => {
                        rows += addition.details.len();
                        together.push(addition);
                    }
                    Ok(other) => {
                        add(pool, together);
                        return Some(other);
                    }
                    Err(_) => break,
                }
            }
            add(pool, together);
        }
        Job::End => {}
    }
    None
}

/// Adds all at once; where that fails, one after the other, so that each hears of its own rows.
fn add(pool: &mut Pool, together: Vec<Addition>) {
    if together.len() > 1 {
        let values: Vec<f32> = together.iter().flat_map(|addition| addition.values.iter().copied()).collect();
        let details: Vec<NewSample> =
            together.iter().flat_map(|addition| addition.details.iter().cloned()).collect();
        let decisions = together.iter().filter_map(|addition| addition.decided.as_ref());
        let decisions: Vec<Decision> =
            decisions.flat_map(|(_, decisions)| decisions.iter().copied()).collect();
        let decided = together[0].version().map(|version| (version, &decisions[..]));
        if let Ok(outcomes) = add_rows(pool, values, &details, decided) {
            let mut outcomes = outcomes.into_iter();
            for addition in together {
                let own = outcomes.by_ref().take(addition.details.len()).collect();
                let _ = addition.done.send(Ok(own));
            }
            return;
        }
    }
    for Addition { values, details, decided, done } in together {
        let decided = decided.as_ref().map(|(version, decisions)| (version.as_str(), &decisions[..]));
        let _ = done.send(add_rows(pool, values, &details, decided));
    }
}

fn add_rows(
    pool: &mut Pool,
    values: Vec<f32>,
    details: &[NewSample],
    decided: Option<(&str, &[Decision])>,
) -> Result<Vec<Outcome>, StoreError> {
    let features = Features::new(values, pool.dimensions())?;
    pool.add_decided(&run_here(), &features, decided, details, Which::All)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use evmachine::{Evm, Labels, Params};

    use super::*;

    #[test]
    fn a_call_that_panics_takes_nothing_with_it() {
        let place = tempfile::tempdir().unwrap();
        let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1).unwrap();
        let labels = Labels::new(["low", "low", "low", "high", "high", "high"]).unwrap();
        let (evm, _) = Evm::fit(&Params::paper(), &features, &labels).unwrap();
        let pool = Pool::create(&place.path().join("pool"), &evm).unwrap();
        let (store, thread) = Store::open(pool, "test", None).unwrap();
        let failed = store.call_blocking(|_| -> Result<(), StoreError> { panic!("a mistake of ours") });
        assert!(failed.is_err());
        assert_eq!(store.call_blocking(|pool| Ok(pool.dimensions())).unwrap(), 1);
        store.end();
        thread.join().unwrap();
    }
}
