//! Thresholds keep what they promise: on rows that nobody learned, at sizes on either side of where rows are held out for good.

use evmachine::{
    Basis, CalibrateError, Edit, Evm, Features, Labels, Metric, Params, Prior, Rejection, TailSize,
};

/// Classes around drawn centres.
struct Source {
    centres: Vec<f32>,
    sizes: Vec<usize>,
    dimensions: usize,
    state: u64,
}

impl Source {
    fn new(seed: u64, sizes: &[usize], dimensions: usize, spread: f32) -> Self {
        let mut source = Self { centres: Vec::new(), sizes: sizes.to_vec(), dimensions, state: seed };
        source.centres = (0..sizes.len() * dimensions).map(|_| spread * source.normal()).collect();
        source
    }

    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f32 {
        let (a, b) = (1.0 - self.uniform(), self.uniform());
        ((-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()) as f32
    }

    fn rows_of(&mut self, classes: &[usize]) -> Features<'static> {
        let d = self.dimensions;
        let mut values = Vec::with_capacity(classes.len() * d);
        for &class in classes {
            for k in 0..d {
                let value = self.centres[class * d + k] + self.normal();
                values.push(value);
            }
        }
        Features::new(values, d).unwrap()
    }

    fn training(&mut self) -> (Features<'static>, Labels) {
        let sizes = self.sizes.clone();
        let classes: Vec<usize> =
            sizes.iter().enumerate().flat_map(|(class, &size)| vec![class; size]).collect();
        (self.rows_of(&classes), Labels::new(classes.iter().map(ToString::to_string)).unwrap())
    }

    fn queries(&mut self, count: usize) -> Features<'static> {
        let total: usize = self.sizes.iter().sum();
        let classes: Vec<usize> = (0..count)
            .map(|_| {
                let mut at = (self.uniform() * total as f64) as usize;
                let mut class = 0;
                while at >= self.sizes[class] {
                    at -= self.sizes[class];
                    class += 1;
                }
                class
            })
            .collect();
        self.rows_of(&classes)
    }
}

fn rejected(evm: &Evm, queries: &Features<'_>) -> f64 {
    let decisions = evm.decide(queries).unwrap();
    decisions.iter().filter(|decision| decision.class().is_none()).count() as f64 / decisions.len() as f64
}

#[test]
fn five_in_a_hundred_are_five_in_a_hundred_for_every_shape() {
    // Sizes of classes, dimensions, spread, and whether rows are held out for good.
    let shapes: [(&[usize], usize, f32, bool); 5] = [
        (&[30; 10], 16, 1.0, false),
        (&[900, 5], 16, 2.0, false),
        (&[150, 150], 2, 3.0, false),
        (&[5_000, 50], 8, 4.0, true),
        (&[1_500, 500, 200, 60, 20, 5], 16, 1.0, true),
    ];
    for (sizes, dimensions, spread, is_held_out) in shapes {
        for params in [Params::plain(), Params::robust()] {
            let draws = 6;
            let mut mean = 0.0;
            let mut rows = 0;
            for seed in 0..draws {
                let mut source = Source::new(1 + seed * 7_919, sizes, dimensions, spread);
                let (features, labels) = source.training();
                let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
                let promise = evm.promise();
                assert_eq!(promise.basis == Basis::HeldOut, is_held_out, "{sizes:?}");
                rows = promise.effective_rows;
                let share = rejected(&evm, &source.queries(2_000));
                mean += share / draws as f64;
                let error = (0.05 * 0.95 * (1.0 / rows as f64 + 1.0 / 2_000.0)).sqrt();
                assert!(share < 0.05 + 4.5 * error, "{sizes:?}: {share} of {rows} rows");
            }
            let error = (0.05 * 0.95 * (1.0 / rows as f64 + 1.0 / 2_000.0) / draws as f64).sqrt();
            assert!(mean < 0.05 + 3.3 * error, "{sizes:?}: {mean}");
            assert!(mean > 0.015, "{sizes:?}: {mean}, nothing is rejected");
        }
    }
}

#[test]
fn rows_that_calibrate_leave_no_trace_in_the_model() {
    let mut source = Source::new(5, &[1_000; 3], 4, 3.0);
    let (features, labels) = source.training();
    let (evm, report) = Evm::fit(&Params::robust(), &features, &labels).unwrap();
    let held: Vec<u64> = evm.rows_held_out().map(|row| row.source).collect();
    assert_eq!((held.len(), report.rows), (report.held_out, 3_000 - report.held_out));
    assert!((240..360).contains(&held.len()), "{}", held.len());
    // The same rows with others in the place of those held out.
    let mut values = features.values().to_vec();
    for &row in &held {
        values[row as usize * 4..(row as usize + 1) * 4].fill(1e3);
    }
    let other = Features::new(values, 4).unwrap();
    let (again, _) = Evm::fit(&Params::robust(), &other, &labels).unwrap();
    let vectors = |evm: &Evm| -> Vec<(u64, Vec<f32>)> {
        evm.extreme_vectors().map(|vector| (vector.source, vector.vector.to_vec())).collect()
    };
    assert_eq!(vectors(&evm), vectors(&again));
    assert!(evm.extreme_vectors().all(|vector| !held.contains(&vector.source)));
    assert_eq!(evm.shares(), again.shares());
    assert_ne!(evm.threshold(), again.threshold());
}

#[test]
fn batches_hold_out_the_rows_of_one_fit_and_give_its_threshold() {
    let params = Params { tail_size: TailSize::Count(40), cover_threshold: 1.0, ..Params::plain() };
    let mut source = Source::new(9, &[900; 5], 6, 2.0);
    let (features, labels) = source.training();
    // Rows of all classes in every batch.
    let order: Vec<usize> = (0..4_500).map(|row| (row % 5) * 900 + row / 5).collect();
    let (features, labels) = (features.select(&order), labels.select(&order));
    let (whole, _) = Evm::fit(&params, &features, &labels).unwrap();
    let part = |rows: std::ops::Range<usize>| {
        let rows: Vec<usize> = rows.collect();
        (features.select(&rows), labels.select(&rows))
    };
    let (first, second) = (part(0..2_500), part(2_500..4_500));
    let (mut evm, _) = Evm::fit(&params, &first.0, &first.1).unwrap();
    evm.update(&second.0, &second.1).unwrap();
    let held = |evm: &Evm| -> Vec<u64> {
        let mut held: Vec<u64> = evm.rows_held_out().map(|row| row.source).collect();
        held.sort_unstable();
        held
    };
    assert_eq!(held(&evm), held(&whole));
    assert_eq!(evm.threshold(), whole.threshold());
    let queries = source.queries(500);
    assert_eq!(evm.decide(&queries).unwrap(), whole.decide(&queries).unwrap());
}

#[test]
fn the_promise_holds_after_updates_edits_forgetting_and_reduction() {
    let mut mean = [0.0; 4];
    let draws = 5;
    for seed in 0..draws {
        let mut source = Source::new(40 + seed, &[400; 10], 8, 1.5);
        let (features, labels) = source.training();
        let first: Vec<usize> = (0..2_800).collect();
        let later: Vec<usize> = (2_800..4_000).collect();
        let params = Params::robust();
        let (mut evm, _) = Evm::fit(&params, &features.select(&first), &labels.select(&first)).unwrap();
        let report = evm.update(&features.select(&later), &labels.select(&later)).unwrap();
        assert!((80..160).contains(&report.held_out), "{}", report.held_out);
        let queries = source.queries(4_000);
        mean[0] += rejected(&evm, &queries) / draws as f64;
        let mut edited = evm.clone();
        let rows: Vec<u64> = edited.extreme_vectors().map(|vector| vector.source).step_by(40).collect();
        edited.edit(&Edit::Unlearn { rows }).unwrap();
        mean[1] += rejected(&edited, &queries) / draws as f64;
        let mut reduced = evm.clone();
        reduced.reduce(&Params { cover_threshold: 0.9, ..params.clone() }.cover()).unwrap();
        assert!(reduced.extreme_vector_count() < evm.extreme_vector_count());
        mean[2] += rejected(&reduced, &queries) / draws as f64;
        let mut fewer = evm.clone();
        fewer.forget_class("9").unwrap();
        source.sizes[9] = 0;
        mean[3] += rejected(&fewer, &source.queries(4_000)) / draws as f64;
    }
    // 400 calibrating and 4,000 asked rows in each of 5 draws: 3.3 standard errors are 0.017.
    assert!(mean.iter().all(|mean| (mean - 0.05).abs() < 0.017), "{mean:?}");
}

#[test]
fn edits_reach_rows_that_were_held_out() {
    let mut source = Source::new(77, &[1_100, 1_100], 3, 3.0);
    let (features, labels) = source.training();
    let (mut evm, _) =
        Evm::fit(&Params { cover_threshold: 1.0, ..Params::plain() }, &features, &labels).unwrap();
    let before = evm.clone();
    let held: Vec<(u64, String)> =
        evm.rows_held_out().map(|row| (row.source, row.class.to_owned())).collect();
    let of = |evm: &Evm, source: u64| -> Option<String> {
        evm.rows_held_out().find(|row| row.source == source).map(|row| row.class.to_owned())
    };
    let row = held.iter().find(|(_, class)| class == "0").unwrap().0;
    evm.edit(&Edit::Relabel { rows: vec![row], class: "1".to_owned() }).unwrap();
    assert_eq!(of(&evm, row).as_deref(), Some("1"));
    evm.edit(&Edit::Relabel { rows: vec![row], class: "0".to_owned() }).unwrap();
    evm.edit(&Edit::SetAside { rows: vec![row] }).unwrap();
    assert_eq!(of(&evm, row), None);
    assert_eq!(evm.rows_aside().map(|row| row.source).collect::<Vec<_>>(), [row]);
    let loaded = Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap();
    assert_eq!(loaded, evm);
    evm.edit(&Edit::Restore { rows: vec![row] }).unwrap();
    assert_eq!(of(&evm, row).as_deref(), Some("0"));
    assert_eq!(evm.extreme_vector_count(), before.extreme_vector_count());
    // The first rows of a class must be learned.
    evm.edit(&Edit::Relabel { rows: vec![row], class: "new".to_owned() }).unwrap();
    assert_eq!(of(&evm, row), None);
    let new = evm.class_index("new").unwrap();
    assert!(evm.extreme_vectors().any(|vector| vector.class == new && vector.source == row));
    let other = held.iter().find(|(_, class)| class == "1").unwrap().0;
    evm.edit(&Edit::Ignore { rows: vec![other] }).unwrap();
    assert_eq!(evm.ignored_sources(), [other]);
    let third = held.iter().rfind(|(_, class)| class == "1").unwrap().0;
    let mut merged = before.clone();
    merged.edit(&Edit::Merge { class: "1".to_owned(), into: "0".to_owned() }).unwrap();
    assert_eq!(of(&merged, third).as_deref(), Some("0"));
    let mut unlearned = before.clone();
    unlearned.edit(&Edit::Unlearn { rows: vec![third] }).unwrap();
    assert_eq!(of(&unlearned, third), None);
}

#[test]
fn strangers_are_counted_and_too_few_are_refused() {
    let mut known = Source::new(3, &[150; 20], 8, 1.5);
    let mut strange = Source::new(4, &[150; 20], 8, 1.5);
    let (features, labels) = known.training();
    let (mut evm, _) = Evm::fit(&Params::robust(), &features, &labels).unwrap();
    evm.set_rejection(Rejection::FalseKnown(0.05)).unwrap();
    let promise = evm.promise();
    assert_eq!(promise.basis, Basis::ClassesHidden);
    assert!(
        promise.is_estimate() && promise.doubt().unwrap().contains("an estimate"),
        "{:?}",
        promise.doubt()
    );
    let given = strange.queries(1_000);
    evm.calibrate_unknowns(&given).unwrap();
    for rate in [0.01, 0.05] {
        evm.set_rejection(Rejection::FalseKnown(rate)).unwrap();
        let accepted = 1.0 - rejected(&evm, &given);
        assert!(accepted <= rate && accepted > rate - 0.003, "{accepted} of the very rows it was set on");
        let fresh = 1.0 - rejected(&evm, &strange.queries(8_000));
        let error = (rate * (1.0 - rate) * (1.0 / 1_000.0 + 1.0 / 8_000.0)).sqrt();
        assert!((fresh - rate).abs() < 3.5 * error, "{rate}: {fresh}");
        let (low, high) = evm.promise().range.unwrap();
        assert!(low < rate && rate < high);
    }
    assert_eq!(
        evm.set_rejection(Rejection::FalseKnown(0.0005)),
        Err(CalibrateError::TooFewStrangers { share: 0.0005, rows: 1_000, needed: 1_999 })
    );
    let before = evm.threshold();
    let loaded = Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap();
    assert_eq!((loaded.threshold(), &loaded), (before, &evm));
    // They are scored again when the model has learned more.
    let (more, names) = Source::new(8, &[200], 8, 6.0).training();
    let names = Labels::new((0..names.len()).map(|_| "far")).unwrap();
    evm.update(&more, &names).unwrap();
    let accepted = 1.0 - rejected(&evm, &given);
    assert!(accepted <= 0.05 && accepted > 0.045, "{accepted}");
    assert_eq!(Prior::new(2.0), Err(CalibrateError::Prior { prior: 2.0 }));
}

#[test]
fn classes_left_out_in_training_say_how_strangers_score() {
    let mut shares = [0.0; 2];
    for seed in 0..4 {
        let mut known = Source::new(30 + seed, &[60; 20], 16, 1.2);
        let mut strange = Source::new(40 + seed, &[60; 20], 16, 1.2);
        let (features, labels) = known.training();
        let params = Params { rejection_threshold: Rejection::FalseKnown(0.05), ..Params::plain() };
        let (mut evm, _) = Evm::fit(&params, &features, &labels).unwrap();
        let promise = evm.promise();
        assert_eq!((promise.basis, promise.rows, promise.range), (Basis::ClassesLeftOut, 1_200, None));
        let (low, high) = promise.spread.unwrap();
        assert!(low < 0.05 && high > 0.05 && high < 0.5, "{low} {high}");
        let strangers = strange.queries(2_000);
        let cost = promise.known_rejected.unwrap();
        let fresh = rejected(&evm, &known.queries(4_000));
        assert!((cost - fresh).abs() < 0.05, "{cost} of known rows by those held out, {fresh} of fresh ones");
        assert!(promise.to_string().contains("% of known rows are rejected"), "{promise}");
        shares[0] += (1.0 - rejected(&evm, &strangers)) / 4.0;
        assert_eq!(Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap(), evm);
        // It follows a change of the model, and forgets a class of the trial as it does others.
        let before = evm.threshold();
        evm.set_rejection(Rejection::FalseKnown(0.2)).unwrap();
        assert!(evm.threshold() < before);
        evm.forget_class("19").unwrap();
        assert_eq!(evm.promise().basis, Basis::ClassesLeftOut);
        assert_eq!(Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap(), evm);
        // Trained by another rule, it has nothing better than its own classes.
        let (mut other, _) = Evm::fit(&Params::plain(), &features, &labels).unwrap();
        other.set_rejection(Rejection::FalseKnown(0.05)).unwrap();
        assert_eq!(other.promise().basis, Basis::ClassesHidden);
        assert!(other.promise().doubt().unwrap().contains("several times as many strangers"));
        shares[1] += (1.0 - rejected(&other, &strangers)) / 4.0;
    }
    assert!(shares[0] < 0.1 && shares[0] > 0.02, "{shares:?}");
    assert!(shares[0] < shares[1], "{shares:?}");
}

#[test]
fn a_confidence_that_nothing_is_promised_for_is_named() {
    let mut source = Source::new(35, &[25; 4], 4, 2.0);
    let (features, labels) = source.training();
    let doubt = |rule: Rejection| {
        let params = Params { rejection_threshold: rule, confidence: 0.95, ..Params::plain() };
        Evm::fit(&params, &features, &labels).unwrap().0.promise().doubt().unwrap()
    };
    let found = doubt(Rejection::Probability(0.05));
    assert!(found.starts_with("a confidence of 95 % goes with a share"), "{found}");
    let found = doubt(Rejection::FalseKnown(0.1));
    assert!(found.ends_with("An estimate has no confidence: it takes strangers"), "{found}");
    // Three rows that folds scored tell as much as one that was never learned.
    let found = doubt(Rejection::FalseUnknown(0.05));
    assert!(found.contains("it takes 177 rows to set the threshold on, and there are 100"), "{found}");
}

#[test]
fn a_share_of_strangers_that_nothing_tells_is_not_promised() {
    let mut source = Source::new(33, &[300], 4, 1.0);
    let (features, labels) = source.training();
    let params = Params { rejection_threshold: Rejection::FalseKnown(0.01), ..Params::plain() };
    let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
    let promise = evm.promise();
    assert!(
        promise.to_string().contains("not promised, there are no strangers and no other class"),
        "{promise}"
    );
    assert!(
        promise.doubt().unwrap().contains("5 % of known rejected is kept to instead"),
        "{:?}",
        promise.doubt()
    );
    let share = rejected(&evm, &source.queries(4_000));
    assert!(share < 0.12, "the class itself is known: {share}");
}

#[test]
fn a_promise_says_what_it_rests_on_and_what_it_takes() {
    let mut source = Source::new(21, &[300; 10], 8, 2.0);
    let (features, labels) = source.training();
    let (mut evm, _) = Evm::fit(&Params::plain(), &features, &labels).unwrap();
    let text = evm.promise().to_string();
    assert!(text.starts_with("5 % of known rejected, set on 2"), "{text}");
    assert!(text.contains("rows held out of training; the true share lies between 2."), "{text}");
    assert_eq!(evm.promise().doubt(), None);
    let rejected_on_average = rejected(&evm, &source.queries(4_000));
    evm.set_rule(Rejection::FalseUnknown(0.05), 0.95).unwrap();
    assert!(evm.promise().to_string().contains("in 95 of 100 trainings"), "{}", evm.promise());
    assert!(rejected(&evm, &source.queries(4_000)) < rejected_on_average);
    assert!(evm.promise().range.unwrap().1 <= 0.0501 + 0.01);
    evm.set_rule(Rejection::FalseUnknown(0.001), 0.0).unwrap();
    let doubt = evm.promise().doubt().unwrap();
    assert!(doubt.starts_with("0.1 % cannot be promised: it takes 999 rows"), "{doubt}");
    evm.set_rejection(Rejection::FalseUnknownPerClass(0.01)).unwrap();
    assert_eq!(evm.promise().classes_without, 10, "30 held-out rows of each class tell no hundredth");
    let threshold = evm.threshold();
    evm.set_rejection(Rejection::Support(threshold)).unwrap();
    assert_eq!(evm.threshold(), threshold);
    assert_eq!(Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap(), evm);
}

#[test]
fn supports_say_what_decisions_do() {
    let mut source = Source::new(31, &[250; 10], 16, 1.2);
    let (features, labels) = source.training();
    for (metric, rule) in [
        (Metric::Euclidean, Rejection::FalseUnknown(0.05)),
        (Metric::Cosine, Rejection::FalseUnknownPerClass(0.2)),
        (Metric::Euclidean, Rejection::FalseKnown(0.1)),
    ] {
        let params = Params { rejection_threshold: rule, ..Params::robust_for(metric) };
        let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
        let mut values = source.queries(300).values().to_vec();
        // Training rows too, at which support may be infinite.
        values.extend(features.part(0..20).values());
        let queries = Features::new(values, 16).unwrap();
        let supports = evm.class_supports(&queries).unwrap();
        for (decision, supports) in evm.decide(&queries).unwrap().iter().zip(supports.chunks_exact(10)) {
            let largest = supports.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert!(supports.iter().all(|support| !support.is_nan()), "{supports:?}");
            assert_eq!(largest, decision.support());
            assert_eq!(supports[decision.best()], largest);
            assert_eq!(decision.class().is_some(), largest >= 0.0);
        }
    }
}

#[test]
fn of_what_is_discovered_few_are_known() {
    let mut known = Source::new(50, &[150; 20], 16, 1.5);
    let mut strange = Source::new(51, &[150; 20], 16, 1.5);
    let (features, labels) = known.training();
    let (evm, _) = Evm::fit(&Params::robust(), &features, &labels).unwrap();
    let (mut share, batches) = (0.0, 40);
    for _ in 0..batches {
        let mut decisions = evm.decide(&strange.queries(100)).unwrap();
        decisions.extend(evm.decide(&known.queries(300)).unwrap());
        let p_values: Vec<f64> = decisions.iter().map(|decision| decision.p_value().unwrap()).collect();
        let called = evm.discover(&p_values, 0.2).unwrap().unknown;
        let right = called[..100].iter().filter(|called| **called).count();
        let wrong = called[100..].iter().filter(|called| **called).count();
        assert!(right > 40, "{right} of 100 are found");
        share += wrong as f64 / (right + wrong) as f64 / f64::from(batches);
        let guess = evm.share_unknown(&p_values).unwrap().unwrap();
        assert!((guess.share - 0.25).abs() < 4.0 * guess.error, "{guess:?}");
    }
    // On average over batches and trainings at most 0.2 * 0.75; this is one training of 300 calibrating rows.
    assert!((0.06..0.22).contains(&share), "{share}");
    let few = evm.discover(&[0.5; 400], 0.0001).unwrap();
    assert!(few.doubt().unwrap().contains("too few to call any of 400 rows unknown"), "{:?}", few.doubt());
    assert!(evm.discover(&[0.5], 1.5).is_err());
}
