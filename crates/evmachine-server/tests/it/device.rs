//! A device that decides, one that fails, and one that panics.

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

/// Leaves supports to the processor, notes that it was asked, and panics at tails as often as told.
#[derive(Default)]
struct Panicking {
    asked: AtomicUsize,
    panics_left: AtomicUsize,
}

impl Panicking {
    fn declined<T>() -> Result<T, DeviceError> {
        Err(DeviceError::NotAsked { device: "panicking".to_owned() })
    }
}

impl Device for Panicking {
    fn name(&self) -> &'static str {
        "panicking"
    }
    fn takes(&self, _: u64) -> bool {
        true
    }
    fn gives_way(&self, _: &DeviceError) -> bool {
        true
    }
    fn tails(&self, _: &TailWork<'_>) -> Result<Tails, DeviceError> {
        let is_left = |left: usize| left.checked_sub(1);
        let spent = self.panics_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_left);
        assert!(spent.is_err(), "the device lost its mind");
        Self::declined()
    }
    fn covers(&self, _: &CoverWork<'_>) -> Result<Vec<Vec<(u32, u32)>>, DeviceError> {
        Self::declined()
    }
    fn supports(&self, _: &SupportWork<'_>, _: &mut Deliver<'_>) -> Result<(), DeviceError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Self::declined()
    }
}

#[test]
fn a_panic_while_learning_is_told_and_learning_can_be_asked_for_again() {
    let device = Arc::new(Panicking { panics_left: AtomicUsize::new(1), ..Panicking::default() });
    let running = crate::start_with(|settings| settings.device = Some(device.clone()));
    let client = &running.client;
    let decided = client.predict(&crate::strangers());
    let samples: Vec<&serde_json::Value> =
        decided["decisions"].as_array().unwrap().iter().map(|decision| &decision["sample"]).collect();
    client.post("/v1/labels", &json!({ "samples": samples, "label": "new", "new_class": true })).ok();
    assert_eq!(client.post("/v1/update", &json!({})).status, 202);
    let last = client.learned()["last_learning"].clone();
    let error = last["error"].as_str().unwrap();
    assert!(error.contains("the device lost its mind"), "{error}");
    assert_eq!(last["version"], serde_json::Value::Null);

    assert_eq!(client.post("/v1/update", &json!({})).status, 202, "not 409: nothing is under way");
    let status = client.learned();
    assert_eq!(status["last_learning"]["error"], serde_json::Value::Null, "{status}");
    assert_eq!(status["classes"].as_array().unwrap().len(), 3);
    running.stop();
}

#[test]
fn explanations_and_corrections_ask_the_device_that_decides() {
    let device = Arc::new(Panicking::default());
    let running = crate::start_with(|settings| settings.device = Some(device.clone()));
    let client = &running.client;
    let decided = client.post("/v1/predict?keep=none", &json!({ "features": [[0.5, 0.5]] })).ok();
    let asked_by = |call: &dyn Fn()| {
        let before = device.asked.load(Ordering::Relaxed);
        call();
        device.asked.load(Ordering::Relaxed) - before
    };
    assert!(asked_by(&|| drop(client.post("/v1/explain", &json!({ "features": [0.5, 0.5] })).ok())) > 0);
    assert!(asked_by(&|| drop(client.get("/v1/health-of-model").ok())) > 0);
    let decision = &decided["decisions"][0]["decision"];
    assert!(asked_by(&|| drop(client.post("/v1/rows/aside", &json!({ "decision": decision })).ok())) > 0);
    running.stop();
}
