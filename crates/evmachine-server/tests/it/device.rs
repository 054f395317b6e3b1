//! A device that decides, and one that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evmachine::device::{CoverWork, Deliver, Device, DeviceError, SupportWork, TailWork, Tails};
use serde_json::json;

/// Takes predictions alone, and fails at all that have queries.
#[derive(Default)]
struct Failing {
    /// Calls without queries, and with any.
    ready: AtomicUsize,
    asked: AtomicUsize,
    gives_way: bool,
}

impl Device for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }
    fn takes(&self, _: u64) -> bool {
        true
    }
    fn gives_way(&self, _: &DeviceError) -> bool {
        self.gives_way
    }
    fn tails(&self, _: &TailWork<'_>) -> Result<Tails, DeviceError> {
        unreachable!("nothing is learned here")
    }
    fn covers(&self, _: &CoverWork<'_>) -> Result<Vec<Vec<(u32, u32)>>, DeviceError> {
        unreachable!("nothing is learned here")
    }
    fn supports(&self, work: &SupportWork<'_>, _: &mut Deliver<'_>) -> Result<(), DeviceError> {
        if work.queries.count() == 0 {
            self.ready.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        Err(DeviceError::Failed { device: "failing".to_owned(), reason: "it is lost".to_owned() })
    }
}

#[test]
fn a_device_has_the_model_from_the_start_and_its_faults_are_told_or_made_good() {
    for gives_way in [false, true] {
        let device = Arc::new(Failing { gives_way, ..Failing::default() });
        let running = crate::start_with(|settings| settings.device = Some(device.clone()));
        assert_eq!(device.ready.load(Ordering::Relaxed), 1);
        let reply = running.client.post("/v1/predict?keep=none", &json!({ "features": [[0.5, 0.5]] }));
        if gives_way {
            assert_eq!(reply.ok()["decisions"][0]["class"], "a");
        } else {
            assert_eq!(reply.problem(503)["detail"], "failing failed: it is lost");
        }
        assert_eq!(device.asked.load(Ordering::Relaxed), 1);
        running.stop();
    }
}
