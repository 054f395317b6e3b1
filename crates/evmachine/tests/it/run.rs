//! Everything that takes long can be watched, and stopped.

use std::ops::ControlFlow;
use std::sync::Mutex;

use evmachine::tuning::{DeriveError, DistanceTable, TailFits};
use evmachine::{
    CalibrateError, Evm, Features, FitError, ForgetError, Labels, Metric, Observer, Params, PoolError, Probe,
    ReduceError, Run, RunError, Stage, Strategy, UnknownPool,
};

use crate::common::Random;

/// Three clumps in the plane, and points between them.
fn data() -> (Features<'static>, Labels, Features<'static>) {
    let mut random = Random(1);
    let centres = [(0.0, 0.0, "a"), (6.0, 0.0, "b"), (0.0, 6.0, "c")];
    let mut rows = Vec::new();
    for _ in 0..60 {
        rows.extend(centres.map(|(x, y, _)| [x + random.next(), y + random.next()]));
    }
    let labels = Labels::new((0..180).map(|row| centres[row % 3].2)).unwrap();
    let queries = Features::from_rows((0..300u16).map(|i| [f32::from(i) * 0.1, 3.0])).unwrap();
    (Features::from_rows(rows).unwrap(), labels, queries)
}

fn model(params: &Params) -> Evm {
    let (features, labels, _) = data();
    Evm::fit(params, &features, &labels).unwrap().0
}

struct Stop;

impl Observer for Stop {
    fn progress(&self, _: Stage, _: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

#[test]
fn every_long_call_stops_and_changes_nothing() {
    let (features, labels, queries) = data();
    let run = Run::new().observer(&Stop);
    let fitted = Evm::fit_with(&run, &Params::plain(), &features, &labels);
    assert_eq!(fitted.unwrap_err(), FitError::Run(RunError::Stopped));
    for params in [Params::plain(), Params::robust()] {
        let evm = model(&params);
        assert_eq!(evm.decide_with(&run, &queries), Err(RunError::Stopped));
        assert_eq!(evm.probabilities_with(&run, &queries), Err(RunError::Stopped));
        assert_eq!(evm.explain_with(&run, &queries, 2), Err(RunError::Stopped));
        let measured = DistanceTable::measure(&run, evm.machine(), &queries);
        assert_eq!(measured.unwrap_err(), RunError::Stopped);

        let mut changed = evm.clone();
        assert_eq!(
            changed.calibrate_with(&run, &features, &labels),
            Err(CalibrateError::Run(RunError::Stopped))
        );
        assert_eq!(
            changed.calibrate_unknowns_with(&run, &queries),
            Err(CalibrateError::Run(RunError::Stopped))
        );
        assert_eq!(
            changed.reduce_with(&run, &Params::plain().cover()),
            Err(ReduceError::Run(RunError::Stopped))
        );
        assert_eq!(changed.forget_class_with(&run, "a"), Err(ForgetError::Run(RunError::Stopped)));
        assert_eq!(changed.update_with(&run, &features, &labels), Err(FitError::Run(RunError::Stopped)));
        assert_eq!(changed, evm);

        let mut pool = UnknownPool::new(2);
        assert_eq!(pool.add_unknown_with(&run, &evm, &queries), Err(PoolError::Run(RunError::Stopped)));
        assert!(pool.is_empty());
        pool.add(&queries).unwrap();
        for strategy in [Strategy::Coverage, Strategy::LowestPsi] {
            assert_eq!(pool.suggest_with(&run, &evm, strategy, 3), Err(PoolError::Run(RunError::Stopped)));
        }
    }
    let base = Params { cover_threshold: 1.0, ..Params::paper() };
    let whole = model(&base);
    assert_eq!(TailFits::new(&run, &whole, &base).unwrap_err(), DeriveError::Run(RunError::Stopped));
    let fits = TailFits::new(&Run::new(), &whole, &base).unwrap();
    let smaller = Params { cover_threshold: 0.5, ..base };
    assert_eq!(fits.derive(&run, &whole, &smaller, &features), Err(DeriveError::Run(RunError::Stopped)));
    let probe = Probe::fit_at_with(&Run::new(), &Metric::Euclidean, &features, &labels, 0.01).unwrap();
    assert_eq!(probe.logits_with(&run, &queries), Err(RunError::Stopped));
    assert_eq!(
        Probe::fit_with(&run, &Metric::Euclidean, &features, &labels),
        Err(FitError::Run(RunError::Stopped))
    );
}

#[test]
fn an_explanation_that_is_stopped_half_way_stops() {
    let (_, _, queries) = data();
    let stop = |stage: Stage, done: u64, _: u64| {
        if stage == Stage::Explain && done >= 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let found = model(&Params::plain()).explain_with(&Run::new().observer(&stop), &queries, 1);
    assert_eq!(found, Err(RunError::Stopped));
}

/// The last that was said of each stage.
#[derive(Default)]
struct Last(Mutex<Vec<(Stage, u64, u64)>>);

impl Observer for Last {
    fn progress(&self, stage: Stage, done: u64, total: u64) -> ControlFlow<()> {
        let mut seen = self.0.lock().unwrap();
        match seen.iter_mut().find(|(known, ..)| *known == stage) {
            Some(last) => last.1 = last.1.max(done),
            None => seen.push((stage, done, total)),
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn watched_calls_count_their_queries_and_answer_as_others_do() {
    let (_, _, queries) = data();
    let evm = model(&Params::plain());
    let last = Last::default();
    let run = Run::new().observer(&last);
    assert_eq!(evm.explain_with(&run, &queries, 2), evm.explain(&queries, 2));
    assert_eq!(*last.0.lock().unwrap(), [(Stage::Predict, 300, 300), (Stage::Explain, 300, 300)]);
    assert_eq!(evm.probabilities_with(&run, &queries), evm.probabilities(&queries));
    let last = Last::default();
    let table = DistanceTable::measure(&Run::new().observer(&last), evm.machine(), &queries).unwrap();
    assert_eq!((table.rows(), table.columns()), (300, evm.extreme_vector_count()));
    assert_eq!(*last.0.lock().unwrap(), [(Stage::Predict, 300, 300)]);
}

/// More threads than processors, so that whoever lays out vectors is handed other work meanwhile.
#[test]
fn no_thread_waits_for_itself() {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use rayon::prelude::*;

    let (send, done) = channel();
    std::thread::spawn(move || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(16).build().unwrap();
        let values: Vec<f32> = (0..2_600 * 40).map(|i| (i * 7919 % 1009) as f32 / 1009.0).collect();
        let features = Features::new(values, 40).unwrap();
        let labels = Labels::new((0..2_600).map(|row| format!("class {}", row % 3))).unwrap();
        let params = Params { cover_threshold: 1.0, ..Params::paper() };
        for _ in 0..12 {
            let answered = pool.install(|| {
                let (model, _) = Evm::fit(&params, &features, &labels).unwrap();
                let parts: Vec<usize> = (0..64).map(|part| part * 40).collect();
                let answers = parts
                    .into_par_iter()
                    .map(|first| model.decide(&features.part(first..first + 4)).unwrap());
                answers.map(|decisions| decisions.len()).sum::<usize>()
            });
            assert_eq!(answered, 256);
        }
        send.send(()).unwrap();
    });
    assert!(done.recv_timeout(Duration::from_secs(120)).is_ok(), "the threads wait for each other");
}
