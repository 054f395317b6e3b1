//! What is counted, and how Prometheus reads it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use evmachine::{CauseKind, Decision, DriftCause, UnknownShare};

use crate::drift::Standing;

/// Upper bounds of latencies, in seconds.
const LATENCIES: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];
/// Upper bounds of supports: what lies below 0 is unknown.
const SUPPORTS: [f64; 13] = [-100.0, -30.0, -10.0, -3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
/// Supports beyond this count as this, so that one that is infinite leaves the sum a number.
const MOST_SUPPORT: f64 = 1e6;

/// Counts by bound, the sum, and how many there were.
#[derive(Debug, Clone, Default)]
struct Histogram {
    counts: Vec<u64>,
    sum: f64,
    count: u64,
}

impl Histogram {
    fn observe(&mut self, bounds: &[f64], value: f64) {
        self.counts.resize(bounds.len(), 0);
        if let Some(at) = bounds.iter().position(|bound| value <= *bound) {
            self.counts[at] += 1;
        }
        self.sum += value;
        self.count += 1;
    }

    fn write(&self, text: &mut String, name: &str, labels: &str, bounds: &[f64]) {
        let separator = if labels.is_empty() { "" } else { "," };
        let mut below = 0;
        for (bound, count) in bounds.iter().zip(&self.counts) {
            below += count;
            let _ = writeln!(text, "{name}_bucket{{{labels}{separator}le=\"{bound}\"}} {below}");
        }
        let _ = writeln!(text, "{name}_bucket{{{labels}{separator}le=\"+Inf\"}} {}", self.count);
        let braced = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(text, "{name}_sum{braced} {}\n{name}_count{braced} {}", self.sum, self.count);
    }
}

/// Methods that are counted by their names. Clients may invent others, of which every one would be kept for ever.
const METHODS: [&str; 7] = ["GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"];

/// A method, a route and a status.
type Answered = (&'static str, String, u16);

/// All counts since the start.
#[derive(Default)]
pub(crate) struct Metrics {
    known: AtomicU64,
    unknown: AtomicU64,
    supports: Mutex<Histogram>,
    requests: Mutex<BTreeMap<Answered, Histogram>>,
}

/// What is measured when somebody asks.
pub(crate) struct Gauges<'a> {
    pub(crate) waiting: u64,
    pub(crate) waiting_unknown: u64,
    pub(crate) groups: u64,
    /// Seconds since the oldest sample that waits came.
    pub(crate) oldest: Option<i64>,
    pub(crate) version: &'a str,
    pub(crate) classes: usize,
    pub(crate) extreme_vectors: usize,
    /// The share of known queries that may be called unknown, where the threshold was set by it.
    pub(crate) calibrated: Option<f64>,
    pub(crate) recent_rows: u64,
    pub(crate) recent_unknown: u64,
    /// The share of unknowns among them, as their p-values estimate it.
    pub(crate) estimated: Option<UnknownShare>,
    pub(crate) learning: bool,
    /// Of the live version, if it is watched.
    pub(crate) drift: Option<Standing>,
    pub(crate) drift_cause: Option<DriftCause>,
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

impl Gauges<'_> {
    /// What is known of drift; nothing while the live version is not watched.
    fn write_drift(&self, text: &mut String) {
        let Some(drift) = &self.drift else { return };
        let values = [
            (
                "evmachine_drift_rows",
                "Rows of the live version that were watched for drift.",
                drift.rows as f64,
            ),
            (
                "evmachine_drift_evidence",
                "Evidence of drift since the live version decides, by what an alarm takes: 1 and above is an alarm.",
                drift.evidence,
            ),
            (
                "evmachine_drift_alarm",
                "1 from the first alarm of drift on, until another version is live.",
                f64::from(u8::from(drift.alarm.is_some())),
            ),
        ];
        for (name, help, value) in values {
            head(text, name, "gauge", help);
            let _ = writeln!(text, "{name} {value}");
        }
        let name = "evmachine_drift_cause";
        head(text, name, "gauge", "1 for the cause of drift that the last rows tell.");
        for kind in CauseKind::ALL {
            let is_cause = self.drift_cause.as_ref().is_some_and(|cause| cause.kind == kind);
            let _ = writeln!(text, "{name}{{kind=\"{}\"}} {}", kind.name(), u8::from(is_cause));
        }
    }
}

impl Metrics {
    pub(crate) fn decided(&self, decisions: &[Decision]) {
        let mut supports = self.supports.lock().unwrap_or_else(PoisonError::into_inner);
        for decision in decisions {
            let counter = if decision.class().is_some() { &self.known } else { &self.unknown };
            counter.fetch_add(1, Ordering::Relaxed);
            supports.observe(&SUPPORTS, decision.support().clamp(-MOST_SUPPORT, MOST_SUPPORT));
        }
    }

    pub(crate) fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        let method = METHODS.into_iter().find(|known| *known == method).unwrap_or("other");
        let key = (method, route.to_owned(), status);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.entry(key).or_default().observe(&LATENCIES, took.as_secs_f64());
    }

    pub(crate) fn text(&self, gauges: &Gauges<'_>) -> String {
        let mut text = String::new();
        head(&mut text, "evmachine_decisions_total", "counter", "Rows decided, by outcome.");
        for (outcome, counter) in [("known", &self.known), ("unknown", &self.unknown)] {
            let count = counter.load(Ordering::Relaxed);
            let _ = writeln!(text, "evmachine_decisions_total{{outcome=\"{outcome}\"}} {count}");
        }
        head(
            &mut text,
            "evmachine_support",
            "histogram",
            "How far the best class lies above the threshold; unknown below 0.",
        );
        let supports = self.supports.lock().unwrap_or_else(PoisonError::into_inner).clone();
        supports.write(&mut text, "evmachine_support", "", &SUPPORTS);
        head(&mut text, "evmachine_request_seconds", "histogram", "Time to answer, by route and status.");
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for ((method, route, status), histogram) in &requests {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            histogram.write(&mut text, "evmachine_request_seconds", &labels, &LATENCIES);
        }
        let rate = (gauges.recent_rows > 0).then(|| gauges.recent_unknown as f64 / gauges.recent_rows as f64);
        let values: [(&str, &str, Option<f64>); 12] = [
            ("evmachine_pool_waiting", "Samples that wait for an answer.", Some(gauges.waiting as f64)),
            (
                "evmachine_pool_unknown",
                "Those of them that are unknown.",
                Some(gauges.waiting_unknown as f64),
            ),
            ("evmachine_pool_groups", "Groups that wait for an answer.", Some(gauges.groups as f64)),
            (
                "evmachine_pool_oldest_seconds",
                "Age of the oldest sample that waits.",
                gauges.oldest.map(|age| age as f64),
            ),
            ("evmachine_model_classes", "Classes of the live version.", Some(gauges.classes as f64)),
            (
                "evmachine_model_extreme_vectors",
                "Extreme vectors of the live version.",
                Some(gauges.extreme_vectors as f64),
            ),
            ("evmachine_unknown_rate_recent", "Share of unknowns among the last decisions.", rate),
            (
                "evmachine_unknown_rate_calibrated",
                "Share of known queries that the threshold calls unknown; a recent rate far above it is drift, or something new.",
                gauges.calibrated,
            ),
            (
                "evmachine_unknown_share_estimated",
                "Share of the last decisions whose query is unknown, as their p-values estimate it.",
                gauges.estimated.map(|found| found.share),
            ),
            (
                "evmachine_unknown_share_error",
                "Standard error of that estimate.",
                gauges.estimated.map(|found| found.error),
            ),
            (
                "evmachine_recent_rows",
                "Decisions that the recent rate is of.",
                Some(gauges.recent_rows as f64),
            ),
            ("evmachine_learning", "1 while a version is being learned.", Some(f64::from(gauges.learning))),
        ];
        for (name, help, value) in values {
            if let Some(value) = value {
                head(&mut text, name, "gauge", help);
                let _ = writeln!(text, "{name} {value}");
            }
        }
        gauges.write_drift(&mut text);
        head(&mut text, "evmachine_model_info", "gauge", "The live version.");
        let _ = writeln!(text, "evmachine_model_info{{version=\"{}\"}} 1", gauges.version);
        text
    }
}
