//! Long calls: the work runs on a pool without the interpreter lock, while the calling thread waits, looks for Ctrl-C
//! and reports progress.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use evmachine::{Observer, Run, RunError, Stage};
use evmachine_eval::TuneProgress;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::device::{self, Chosen, Means};
use crate::threads::{self, Use};

/// How long the waiting thread sleeps between looks.
const TICK: Duration = Duration::from_millis(50);

/// What the work shares with the thread that waits for it.
#[derive(Default)]
pub(crate) struct Watch {
    stopped: AtomicBool,
    latest: Mutex<Option<(Step, u64, u64)>>,
}

/// What is being counted.
#[derive(Clone, Copy)]
enum Step {
    Stage(Stage),
    /// With the best objective so far, if there is any.
    Tuning(Option<f64>),
}

impl Watch {
    fn note(&self, step: Step, done: u64, total: u64) -> ControlFlow<()> {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((step, done, total));
        if self.stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Steps of a search; whether to go on.
    pub(crate) fn tuning(&self, at: &TuneProgress<'_>) -> ControlFlow<()> {
        let (leader, mean) = at.leader;
        let step = Step::Tuning((!leader.is_empty()).then_some(mean));
        self.note(step, at.done as u64, at.total as u64)
    }

    /// Tells Python what was done last, and asks whether a signal came.
    fn look(&self, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            let latest = *self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Some(progress), Some((step, done, total))) = (progress, latest) {
                let name = match step {
                    Step::Stage(stage) => stage.to_string(),
                    Step::Tuning(None) => "tuning".to_owned(),
                    Step::Tuning(Some(best)) => format!("tuning, best {best:.3}"),
                };
                progress.call1(py, (name, done, total))?;
            }
            Ok(())
        })
    }
}

impl Observer for Watch {
    fn progress(&self, stage: Stage, done: u64, total: u64) -> ControlFlow<()> {
        self.note(Step::Stage(stage), done, total)
    }
}

/// Runs the work with the threads and on the device that are asked for. A signal, or an exception of `progress`, stops it and
/// is raised, and so is what ends the work of a device that was named; where it was not, it is a warning.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    means: &Means,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Run<'_>, &Watch) -> T + Send,
) -> PyResult<T> {
    let pool = threads::pool(means.threads(), Use::Calls)?;
    let device = py.detach(|| device::open(means.device()))?;
    let done = watched(py, &pool, device.as_ref(), progress, work)?;
    device.map_or(Ok(()), |device| device.report(py))?;
    Ok(done)
}

/// Does a step of a fit on so many threads of the processor. A signal stops it and is raised.
pub(crate) fn step<T: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce(&Run<'_>) -> T + Send,
) -> PyResult<T> {
    watched(py, &*threads::pool(threads, Use::Steps)?, None, None, |run, _| work(run))
}

fn watched<T: Send>(
    py: Python<'_>,
    pool: &ThreadPool,
    device: Option<&Chosen>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Run<'_>, &Watch) -> T + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    py.detach(|| {
        let (send, receive) = sync_channel(1);
        let watch = &watch;
        pool.in_place_scope(move |scope| {
            scope.spawn(move |_| {
                // Nobody listens any more only if the waiting thread has panicked.
                let run = Run::new().observer(watch);
                let run = device.map_or(run, |device| run.device(device));
                let _ = send.send(RunError::catch(|| work(&run, watch)));
            });
            let mut raised = None;
            loop {
                match receive.recv_timeout(TICK) {
                    Ok(result) => return raised.map_or_else(|| result.map_err(failed), Err),
                    // What drops the sender without a word is a panic, which is caught above.
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(failed(RunError::Panicked { reason: "it gave no result".to_owned() }));
                    }
                    Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                        raised = watch.look(progress).err();
                        watch.stopped.store(raised.is_some(), Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    })
}

/// What the work could not foresee, and the caller cannot mend.
fn failed(error: RunError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
