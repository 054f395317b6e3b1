//! Watches the rows that are decided on for drift, as long as one version is live.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use evmachine::{Decision, DriftAlarm, DriftError, DriftMonitor, DriftReport, Features};
use serde::{Deserialize, Serialize};

use crate::live::Live;
use crate::service::run_here;

/// The chance, at most, that a version without drift ever raises an alarm.
const RATE: f64 = 0.01;
/// How often the state is written; a server that is killed forgets what came since.
const PERIOD: Duration = Duration::from_secs(60);
/// The state, in the folder of the pool.
const FILE: &str = "drift.json";

/// A monitor, and the version that it is for.
#[derive(Clone, Serialize, Deserialize)]
struct Watched {
    version: String,
    monitor: DriftMonitor,
}

/// What is there when somebody asks, without asking the model.
pub(crate) struct Standing {
    pub(crate) rows: u64,
    pub(crate) evidence: f64,
    pub(crate) alarm: Option<DriftAlarm>,
}

/// The monitor of the live version. One that has become live is watched from the moment on at which its reference rows are ranked.
pub(crate) struct DriftWatch {
    path: PathBuf,
    watched: Mutex<Option<Watched>>,
    /// Whether a thread makes a monitor.
    starts: AtomicBool,
    written: Mutex<Instant>,
    /// The last report; it holds as long as no row has come.
    last: Mutex<Option<(String, DriftReport)>>,
}

impl DriftWatch {
    /// Goes on with what was written, if it is of the live version.
    pub(crate) fn open(pool: &Path, live: &Live) -> Self {
        let path = pool.join(FILE);
        let read = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Watched>(&text).ok());
        let watched = match read {
            // A state that was damaged is not one of this version.
            Some(watched)
                if watched.version == live.hash
                    && watched.monitor.report_with(&run_here(), &live.model).is_ok() =>
            {
                Some(watched)
            }
            _ => begun(live),
        };
        Self {
            path,
            watched: Mutex::new(watched),
            starts: AtomicBool::new(false),
            written: Mutex::new(Instant::now()),
            last: Mutex::new(None),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes rows in that a version has decided on.
    pub(crate) fn observe(self: &Arc<Self>, live: &Arc<Live>, values: &[f32], decisions: &[Decision]) {
        let mut watched = self.lock();
        match watched.as_mut().filter(|watched| watched.version == live.hash) {
            Some(watched) => {
                let alarmed = watched.monitor.alarm().is_some();
                let rows = Features::new(values, live.model.dimensions());
                let taken = rows
                    .map_err(evmachine::RunError::from)
                    .map_err(DriftError::from)
                    .and_then(|rows| watched.monitor.observe_decided(&live.model, &rows, decisions));
                if let Err(error) = taken {
                    tracing::error!(%error, "drift is not watched");
                }
                if let Some(alarm) = watched.monitor.alarm().filter(|_| !alarmed) {
                    tracing::warn!(
                        row = alarm.row,
                        since = alarm.since,
                        watch = alarm.watch,
                        class = alarm.class,
                        "drift"
                    );
                }
            }
            None => self.start(live),
        }
        drop(watched);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.elapsed() >= PERIOD {
            *written = Instant::now();
            let here = self.clone();
            std::thread::spawn(move || here.write());
        }
    }

    /// Makes a monitor for a version that has become live, which asks it about its reference rows.
    fn start(self: &Arc<Self>, live: &Arc<Live>) {
        if self.starts.swap(true, Ordering::AcqRel) {
            return;
        }
        let (here, live) = (self.clone(), live.clone());
        std::thread::spawn(move || {
            *here.lock() = begun(&live);
            here.starts.store(false, Ordering::Release);
        });
    }

    /// How it stands with a version; `None` while it is not watched.
    pub(crate) fn standing(&self, live: &Live) -> Option<Standing> {
        let watched = self.lock();
        let monitor = &watched.as_ref().filter(|watched| watched.version == live.hash)?.monitor;
        Some(Standing { rows: monitor.rows(), evidence: monitor.evidence(), alarm: monitor.alarm().cloned() })
    }

    /// The report on a version; `None` while it is not watched. Asks the model about some hundred rows if there was an alarm.
    pub(crate) fn report(&self, live: &Live) -> Result<Option<DriftReport>, DriftError> {
        let Some(Watched { version, monitor }) =
            self.lock().clone().filter(|watched| watched.version == live.hash)
        else {
            return Ok(None);
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, report)) =
            last.as_ref().filter(|(of, report)| *of == version && report.rows == monitor.rows())
        {
            return Ok(Some(report.clone()));
        }
        let report = monitor.report_with(&run_here(), &live.model)?;
        *last = Some((version, report.clone()));
        Ok(Some(report))
    }

    /// Brings the state to the disk.
    pub(crate) fn write(&self) {
        let watched = self.lock().clone();
        let written = watched.map(|watched| {
            let text = serde_json::to_vec(&watched).map_err(std::io::Error::other)?;
            evmachine_files::write(&self.path, &text)
        });
        if let Some(Err(error)) = written {
            tracing::error!(%error, "the state of drift cannot be written");
        }
    }
}

fn begun(live: &Live) -> Option<Watched> {
    let monitor = DriftMonitor::new_with(&run_here(), &live.model, RATE);
    let monitor = monitor.inspect_err(|error| tracing::error!(%error, "drift is not watched"));
    Some(Watched { version: live.hash.clone(), monitor: monitor.ok()? })
}
