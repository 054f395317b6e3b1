//! The seam for other devices: whatever stands behind it, the road around it is the same.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::slow_device::Slow;
use evmachine::device::{
    CoverWork, Deliver, DeliverMoved, Device, DeviceError, Loss, LossWork, ScatterWork, SmoothingWork,
    SupportWork, TailWork, Tails, TransformWork, WorkKind,
};
use evmachine::{
    Evm, Features, FitError, Labels, Metric, Params, Run, RunError, TailMemory, TailModel, TailSize, Weight,
};

/// Fails whatever it is asked for.
struct Broken {
    gives_way: bool,
}

impl Broken {
    fn error() -> DeviceError {
        DeviceError::Failed { device: "broken".to_owned(), reason: "it is broken".to_owned() }
    }
}

impl Device for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }
    fn takes(&self, _: u64) -> bool {
        true
    }
    fn gives_way(&self, error: &DeviceError) -> bool {
        assert_eq!(*error, Self::error());
        self.gives_way
    }
    fn tails(&self, _: &TailWork<'_>) -> Result<Tails, DeviceError> {
        Err(Self::error())
    }
    fn covers(&self, _: &CoverWork<'_>) -> Result<Vec<Vec<(u32, u32)>>, DeviceError> {
        Err(Self::error())
    }
    fn supports(&self, _: &SupportWork<'_>, _: &mut Deliver<'_>) -> Result<(), DeviceError> {
        Err(Self::error())
    }
}

/// Points of a few classes, from a generator.
fn drawn(rows: usize, dimensions: usize, seed: u64) -> (Features<'static>, Labels) {
    let mut state = seed | 1;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0
    };
    let class = |row: usize| row * 7 % 4;
    let values = (0..rows * dimensions)
        .map(|at| if at % dimensions == class(at / dimensions) { 1.6 } else { 0.2 } + uniform())
        .collect::<Vec<f32>>();
    let labels = Labels::new((0..rows).map(|row| format!("class {}", class(row)))).unwrap();
    (Features::new(values, dimensions).unwrap(), labels)
}

fn assert_alike(here: &Evm, there: &Evm) {
    assert_eq!(here.extreme_vector_count(), there.extreme_vector_count());
    for (a, b) in here.extreme_vectors().zip(there.extreme_vectors()) {
        assert_eq!((a.class, a.source, a.gain, a.psi.status), (b.class, b.source, b.gain, b.psi.status));
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-4 * a.abs();
        assert!(close(a.psi.shape, b.psi.shape) && close(a.psi.scale, b.psi.scale), "{a:?} {b:?}");
    }
}

#[test]
fn what_a_device_finds_goes_the_way_of_what_the_processor_finds() {
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan] {
        for (tail_model, tail_memory) in [
            (TailModel::Weibull, TailMemory::Full),
            (TailModel::Libmr, TailMemory::Max),
            (TailModel::Gumbel, TailMemory::None),
        ] {
            let params = Params {
                metric: metric.clone(),
                tail_model,
                tail_memory,
                tail_size: TailSize::Count(25),
                ..Params::paper()
            };
            let (features, labels) = drawn(160, 5, 3);
            let (more, more_labels) = drawn(60, 5, 11);
            let (strangers, _) = drawn(9, 5, 77);
            let slow = Slow::default();
            let run = Run::new().device(&slow);
            let mut here = Evm::fit_ignoring(&params, &features, &labels, &strangers).unwrap().0;
            let (mut there, report) =
                Evm::fit_ignoring_with(&run, &params, &features, &labels, &strangers).unwrap();
            assert_eq!(report.plans[0].to_string(), "160 rows of 5 dimensions, on the device");
            assert_alike(&here, &there);
            here.update(&more, &more_labels).unwrap();
            there.update_with(&run, &more, &more_labels).unwrap();
            assert_alike(&here, &there);

            let (queries, _) = drawn(50, 5, 21);
            let (a, b) = (here.decide(&queries).unwrap(), here.decide_with(&run, &queries).unwrap());
            assert!(
                a.iter().zip(&b).all(|(a, b)| (a.class(), a.best()) == (b.class(), b.best())),
                "{metric:?}"
            );
            let (a, b) =
                (here.probabilities(&queries).unwrap(), here.probabilities_with(&run, &queries).unwrap());
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-4), "{metric:?}");

            let asked = slow.asked.lock().unwrap();
            for what in ["against others", "covers", "best support", "supports of classes"] {
                assert!(asked.contains(&what), "{what} of {asked:?}");
            }
        }
    }
    let slow = Slow::default();
    let (features, labels) = drawn(160, 5, 3);
    Evm::fit_with(&Run::new().device(&slow), &Params::paper(), &features, &labels).unwrap();
    assert!(slow.asked.lock().unwrap().contains(&"among themselves"));
}

#[test]
fn a_custom_metric_stays_on_the_processor() {
    #[derive(Debug)]
    struct Largest;
    impl evmachine::Distance for Largest {
        fn name(&self) -> &'static str {
            "largest"
        }
        fn distance(&self, a: &[f32], b: &[f32]) -> f32 {
            a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        }
    }
    let (features, labels) = drawn(80, 5, 3);
    let params = Params { metric: Metric::custom(Largest), ..Params::paper() };
    let broken = Broken { gives_way: false };
    let run = Run::new().device(&broken);
    let (model, _) = Evm::fit_with(&run, &params, &features, &labels).unwrap();
    assert_eq!(model, Evm::fit(&params, &features, &labels).unwrap().0);
    model.decide_with(&run, &features).unwrap();
}

#[test]
fn a_device_that_fails_ends_the_call_or_gives_way() {
    let (features, labels) = drawn(120, 5, 3);
    let params = Params::paper();
    let (here, _) = Evm::fit(&params, &features, &labels).unwrap();

    let broken = Broken { gives_way: false };
    let run = Run::new().device(&broken);
    let failed = Evm::fit_with(&run, &params, &features, &labels).unwrap_err();
    assert_eq!(failed, FitError::Run(RunError::Device(Broken::error())));
    assert_eq!(failed.to_string(), "broken failed: it is broken");
    assert_eq!(here.decide_with(&run, &features).unwrap_err(), RunError::Device(Broken::error()));

    let giving = Broken { gives_way: true };
    let run = Run::new().device(&giving);
    let (there, _) = Evm::fit_with(&run, &params, &features, &labels).unwrap();
    assert_eq!(here, there, "the processor has done it all");
    assert_eq!(here.decide(&features).unwrap(), there.decide_with(&run, &features).unwrap());
}

#[test]
fn whoever_watches_can_stop_a_device() {
    let (features, labels) = drawn(120, 5, 3);
    let slow = Slow::default();
    let stop = |_: evmachine::Stage, _: u64, _: u64| std::ops::ControlFlow::Break(());
    let run = Run::new().device(&slow).observer(&stop);
    assert_eq!(
        Evm::fit_with(&run, &Params::paper(), &features, &labels).unwrap_err(),
        FitError::Run(RunError::Stopped)
    );
}

/// Runs out of memory at the call of a number; predictions, after their first queries.
struct Failing {
    slow: Slow,
    calls: AtomicUsize,
    fails_at: usize,
    gives_way: bool,
}

impl Failing {
    fn new(fails_at: usize, gives_way: bool) -> Self {
        Self { slow: Slow::default(), calls: AtomicUsize::new(0), fails_at, gives_way }
    }

    fn error() -> DeviceError {
        DeviceError::Memory { device: "failing".to_owned(), wanted: 2, free: 1 }
    }

    fn fails(&self) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed) == self.fails_at
    }
}

impl Device for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }
    fn does(&self, _: WorkKind) -> bool {
        true
    }
    fn takes(&self, _: u64) -> bool {
        true
    }
    fn gives_way(&self, _: &DeviceError) -> bool {
        self.gives_way
    }
    fn tails(&self, work: &TailWork<'_>) -> Result<Tails, DeviceError> {
        if self.fails() { Err(Self::error()) } else { self.slow.tails(work) }
    }
    fn covers(&self, work: &CoverWork<'_>) -> Result<Vec<Vec<(u32, u32)>>, DeviceError> {
        if self.fails() { Err(Self::error()) } else { self.slow.covers(work) }
    }
    fn supports(&self, work: &SupportWork<'_>, deliver: &mut Deliver<'_>) -> Result<(), DeviceError> {
        if !self.fails() {
            return self.slow.supports(work, deliver);
        }
        let mut left = 3;
        self.slow.supports(work, &mut |supports| {
            if left == 0 {
                return Err(Self::error());
            }
            left -= 1;
            deliver(supports)
        })
    }
    fn scatter(&self, work: &ScatterWork<'_>) -> Result<Vec<f64>, DeviceError> {
        if self.fails() { Err(Self::error()) } else { self.slow.scatter(work) }
    }
    fn transform(&self, work: &TransformWork<'_>, out: &mut [f32]) -> Result<(), DeviceError> {
        let done = self.slow.transform(work, out);
        if self.fails() { Err(Self::error()) } else { done }
    }
    fn smooth(&self, work: &SmoothingWork<'_>, deliver: &mut DeliverMoved<'_>) -> Result<(), DeviceError> {
        if !self.fails() {
            return self.slow.smooth(work, deliver);
        }
        let mut left = 2;
        self.slow.smooth(work, &mut |moved| {
            if left == 0 {
                return Err(Self::error());
            }
            left -= 1;
            deliver(moved)
        })
    }
    fn loss<'a>(&'a self, work: &LossWork<'_>) -> Result<Box<dyn Loss + 'a>, DeviceError> {
        if self.fails() {
            return Err(Self::error());
        }
        Ok(Box::new(FailingLoss { of: self, loss: self.slow.loss(work)? }))
    }
}

/// Fails as the device that has the rows does.
struct FailingLoss<'a> {
    of: &'a Failing,
    loss: Box<dyn Loss + 'a>,
}

impl Loss for FailingLoss<'_> {
    fn evaluate(&self, coefficients: &[f64], slopes: &mut [f64]) -> Result<f64, DeviceError> {
        let found = self.loss.evaluate(coefficients, slopes);
        if self.of.fails() { Err(Failing::error()) } else { found }
    }
}

/// The default without a cover, whose choice would take the slow device long.
fn heard(metric: &Metric) -> Params {
    let params = Params { tail_size: TailSize::Count(25), ..Params::robust_for(metric.clone()) };
    Params { probe_weight: Weight::Fixed(1.0), logit_weight: Weight::Fixed(0.5), ..params }.keeping_all()
}

#[test]
fn a_device_whitens_smooths_and_fits_probes_as_the_processor_does() {
    for metric in [Metric::Cosine, Metric::Euclidean] {
        let (features, labels) = drawn(2_300, 5, 3);
        let params = Params { smoothing: 0.5, smoothing_neighbors: 4, ..heard(&metric) };
        let slow = Slow::default();
        let run = Run::new().device(&slow);
        let (here, _) = Evm::fit(&params, &features, &labels).unwrap();
        let (there, _) = Evm::fit_with(&run, &params, &features, &labels).unwrap();
        assert_alike(&here, &there);
        let asked = slow.asked.lock().unwrap().clone();
        for what in ["scatter", "transform", "smooth", "loss"] {
            assert!(asked.contains(&what), "{what} of {asked:?}, {metric:?}");
        }
        let (queries, _) = drawn(300, 5, 21);
        let (a, b) = (here.decide(&queries).unwrap(), there.decide(&queries).unwrap());
        for (row, (a, b)) in a.iter().zip(&b).enumerate() {
            assert_eq!((a.class(), a.best()), (b.class(), b.best()), "{metric:?}, row {row}");
            let apart = (a.support() - b.support()).abs() / (1.0 + a.score().support.abs());
            assert!(apart < 1e-4, "{metric:?}, row {row}: {a:?} {b:?}");
        }
    }
}

#[test]
fn a_device_that_fails_in_a_fit_is_told_or_gives_way_wherever_it_fails() {
    let (features, labels) = drawn(2_300, 5, 3);
    let params = Params { forest_weight: Weight::Fixed(0.0), ..heard(&Metric::Cosine) };
    let (here, _) = Evm::fit(&params, &features, &labels).unwrap();
    let counting = Failing::new(usize::MAX, false);
    Evm::fit_with(&Run::new().device(&counting), &params, &features, &labels).unwrap();
    let count = counting.calls.into_inner();
    assert!(count >= 20, "whitening, smoothing, tails and many steps of probes: {count}");
    for fails_at in (0..8).chain((8..count).step_by(count / 6)).chain([count - 1]) {
        let failing = Failing::new(fails_at, false);
        let failed = Evm::fit_with(&Run::new().device(&failing), &params, &features, &labels).unwrap_err();
        assert_eq!(failed, FitError::Run(RunError::Device(Failing::error())), "call {fails_at}");
        let giving = Failing::new(fails_at, true);
        let (there, _) = Evm::fit_with(&Run::new().device(&giving), &params, &features, &labels).unwrap();
        assert_alike(&here, &there);
    }
}

#[test]
fn a_device_that_fails_half_way_leaves_nothing_half_done() {
    let params = Params { tail_size: TailSize::Count(25), tail_memory: TailMemory::Max, ..Params::paper() };
    let ((features, labels), (more, more_labels)) = (drawn(160, 5, 3), drawn(60, 5, 11));
    let (queries, _) = drawn(50, 5, 21);
    let (first, _) = Evm::fit(&params, &features, &labels).unwrap();
    let mut second = first.clone();
    second.update(&more, &more_labels).unwrap();

    // What fails in an update is told, and the model is as it was; where the device gives way, the processor does the rest.
    let calls = |work: &dyn Fn(&Run<'_>)| {
        let counting = Failing::new(usize::MAX, false);
        work(&Run::new().device(&counting));
        counting.calls.into_inner()
    };
    let count = calls(&|run| drop(first.updated_with(run, &more, &more_labels).unwrap()));
    assert!(count >= 3, "tails, refit and cover: {count}");
    for fails_at in 0..count {
        let failing = Failing::new(fails_at, false);
        let mut model = first.clone();
        let failed = model.update_with(&Run::new().device(&failing), &more, &more_labels).unwrap_err();
        assert_eq!(failed, FitError::Run(RunError::Device(Failing::error())), "call {fails_at}");
        assert_eq!(model, first, "call {fails_at}");
        let giving = Failing::new(fails_at, true);
        model.update_with(&Run::new().device(&giving), &more, &more_labels).unwrap();
        assert_alike(&second, &model);
    }
    let failing = Failing::new(0, false);
    let failed = second.decide_with(&Run::new().device(&failing), &queries).unwrap_err();
    assert_eq!(failed, RunError::Device(Failing::error()));
    let giving = Failing::new(0, true);
    let run = Run::new().device(&giving);
    assert_eq!(second.decide_with(&run, &queries).unwrap(), second.decide(&queries).unwrap());
}

#[test]
fn a_device_can_tell_models_apart_for_as_long_as_they_live() {
    let ((features, labels), (queries, _)) = (drawn(160, 5, 3), drawn(7, 5, 21));
    let slow = Slow::default();
    let run = Run::new().device(&slow);
    let (model, _) = Evm::fit(&Params::paper(), &features, &labels).unwrap();
    model.decide_with(&run, &queries).unwrap();
    model.probabilities_with(&run, &queries).unwrap();
    let copy = model.clone();
    copy.decide_with(&run, &queries).unwrap();
    let mut grown = model.clone();
    grown.update(&queries, &Labels::new(["new"; 7]).unwrap()).unwrap();
    grown.decide_with(&run, &queries).unwrap();
    let seen = slow.models.lock().unwrap();
    let [first, again, copied, other] = &seen[..] else { panic!("{} models", seen.len()) };
    assert!(first.ptr_eq(again) && first.ptr_eq(copied) && !first.ptr_eq(other));
    drop(model);
    assert_eq!((first.strong_count(), other.strong_count()), (1, 1), "the copy has it still");
    drop((copy, grown));
    assert_eq!((first.strong_count(), other.strong_count()), (0, 0));
}

#[test]
fn without_queries_a_device_is_asked_for_nothing_but_the_model() {
    let (features, labels) = drawn(160, 5, 3);
    let slow = Slow::default();
    let (model, _) = Evm::fit(&Params::paper(), &features, &labels).unwrap();
    let nothing = Features::new(Vec::new(), 5).unwrap();
    assert!(model.decide_with(&Run::new().device(&slow), &nothing).unwrap().is_empty());
    assert_eq!(slow.models.lock().unwrap().len(), 1);
}
