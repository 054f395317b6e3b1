//! Learning beside serving: one thread, started when somebody asks for it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evmachine::{Features, HeldBack, Observer, RunError, Stage};
use evmachine_openworld::{SampleId, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::recent::now;
use crate::service::Service;

/// How far learning is.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Learning {
    /// When it began, in seconds since 1970.
    pub(crate) started: i64,
    /// Units of the stage that are done.
    pub(crate) done: u64,
    /// Units that it has.
    pub(crate) total: u64,
    /// What is being done.
    pub(crate) stage: String,
}

/// What came of the last time.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct LastLearning {
    /// The version that was made and is live.
    pub(crate) version: Option<String>,
    /// The event.
    pub(crate) event: Option<i64>,
    /// Unknown samples that waited before.
    pub(crate) before_waiting: u64,
    /// Samples that wait and are known now.
    pub(crate) known_now: u64,
    /// Recent decisions that the new version decides differently.
    pub(crate) changed_decisions: u64,
    /// Labelled samples that were not learned yet, and why.
    #[schema(value_type = Vec<Object>)]
    pub(crate) held_back: Vec<HeldBack<SampleId>>,
    /// Why nothing came of it.
    pub(crate) error: Option<String>,
}

/// The state that the routes see.
#[derive(Default)]
pub(crate) struct Learner {
    running: Mutex<Option<Arc<Progress>>>,
    last: Mutex<Option<LastLearning>>,
}

#[derive(Default)]
struct Progress {
    started: i64,
    stage: Mutex<Option<Stage>>,
    done: AtomicU64,
    total: AtomicU64,
    stop: AtomicBool,
}

impl Observer for Progress {
    fn progress(&self, stage: Stage, done: u64, total: u64) -> ControlFlow<()> {
        *lock(&self.stage) = Some(stage);
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Learner {
    /// How far it is; `None` while nothing is being learned.
    pub(crate) fn progress(&self) -> Option<Learning> {
        lock(&self.running).as_ref().map(|progress| Learning {
            started: progress.started,
            done: progress.done.load(Ordering::Relaxed),
            total: progress.total.load(Ordering::Relaxed),
            stage: lock(&progress.stage).map_or_else(|| "preparing".to_owned(), |stage| stage.to_string()),
        })
    }

    pub(crate) fn last(&self) -> Option<LastLearning> {
        lock(&self.last).clone()
    }

    /// Stops what is being learned; whether there was anything.
    pub(crate) fn stop(&self) -> bool {
        let running = lock(&self.running);
        if let Some(progress) = running.as_ref() {
            progress.stop.store(true, Ordering::Relaxed);
        }
        running.is_some()
    }
}

/// Begins to learn what was answered, and returns when it began.
pub(crate) fn start(service: &Arc<Service>, person: Option<String>) -> Result<i64, Problem> {
    let progress = Arc::new(Progress { started: now(), ..Progress::default() });
    {
        let mut running = lock(&service.learner.running);
        if running.is_some() {
            return Err(Problem::conflict("learning is under way; GET /v1/status says how far it is"));
        }
        *running = Some(progress.clone());
    }
    let started = progress.started;
    let spawned = std::thread::Builder::new().name("learn".to_owned()).spawn({
        let service = service.clone();
        move || {
            // A panic in it must not leave the server saying for ever that learning is under way.
            let learned = RunError::catch(|| learn_anyway(&service, &progress, person.as_deref()))
                .unwrap_or_else(|error| Err(error.into()));
            match &learned {
                Ok(last) => tracing::info!(
                    version = last.version.as_deref(),
                    known_now = last.known_now,
                    changed_decisions = last.changed_decisions,
                    "learned"
                ),
                Err(error) => tracing::warn!(%error, "nothing was learned"),
            }
            let last = learned.unwrap_or_else(|error| {
                let text = Some(error.to_string());
                let held_back = if let StoreError::HeldBack { held } = error { held } else { Vec::new() };
                LastLearning { error: text, held_back, ..LastLearning::default() }
            });
            *lock(&service.learner.last) = Some(last);
            *lock(&service.learner.running) = None;
        }
    });
    if let Err(error) = spawned {
        *lock(&service.learner.running) = None;
        return Err(Problem::unavailable(format!("no thread could be started: {error}")));
    }
    Ok(started)
}

/// How often it is looked whether what waits has been decided anew.
const PERIOD: Duration = Duration::from_millis(20);

/// How often it is tried where samples are answered anew while they are being learned.
const TRIES: usize = 3;

fn learn_anyway(
    service: &Service,
    progress: &Progress,
    person: Option<&str>,
) -> Result<LastLearning, StoreError> {
    for _ in 1..TRIES {
        match learn(service, progress, person) {
            Err(StoreError::ChangedMeanwhile) => {}
            done => return done,
        }
    }
    learn(service, progress, person)
}

fn learn(service: &Service, progress: &Progress, person: Option<&str>) -> Result<LastLearning, StoreError> {
    let run = service.run().observer(progress);
    let (lesson, (_, before_waiting)) =
        service.writer.call_blocking(|pool| Ok((pool.lesson()?, pool.waiting()?)))?;
    let version = service.learning.install(|| lesson.learn(&run))?;
    let recent = service.recent.last(usize::MAX);
    let rows: Vec<f32> = recent.iter().flat_map(|decision| decision.features.iter().copied()).collect();
    let features = Features::new(rows, service.dimensions)?;
    // Whatever the new model lays out for its first query is laid out here, before others ask it.
    let before = service.live.get();
    let differences =
        service.learning.install(|| before.model.differences_with(&run, version.model(), &features))?;
    let person = person.map(str::to_owned);
    let learned = service.writer.call_blocking(move |pool| pool.take(version, person.as_deref()))?;
    while !service.writer.call_blocking(|pool| pool.is_refreshed())? {
        std::thread::sleep(PERIOD);
    }
    let (waiting, unknown) = service.writer.call_blocking(|pool| pool.waiting())?;
    Ok(LastLearning {
        version: Some(learned.version),
        event: Some(learned.event),
        before_waiting,
        known_now: waiting - unknown,
        changed_decisions: differences.len() as u64,
        held_back: learned.held_back,
        error: None,
    })
}
