//! Rivals against numpy and scikit-learn, and on rows that are hard for them. `golden/rivals.py` wrote the numbers.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use evmachine::{Features, Labels, Metric};
use evmachine_eval::rivals::{Contest, Linear, Rival, RivalError, rivals, truth};
use evmachine_eval::{Answers, Evaluation};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn scores_are_those_of_scikit_learn() {
    let golden: Value = serde_json::from_str(include_str!("golden/rivals.json")).unwrap();
    let columns = golden["columns"].as_u64().unwrap() as usize;
    let train = Features::from_f64(&numbers(&golden["train"]), columns).unwrap();
    let labels = Labels::new(numbers(&golden["classes"]).iter().map(f64::to_string)).unwrap();
    let queries = Features::from_f64(&numbers(&golden["queries"]), columns).unwrap();
    let truth = vec![None; queries.rows()];
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let expected = &golden[metric.name()];
        let (weights, intercepts) = (numbers(&expected["weights"]), numbers(&expected["intercepts"]));
        let contest = Contest {
            metric: &metric,
            train: (&train, &labels),
            queries: &queries,
            truth: &truth,
            linear: Some(Linear { weights: &weights, intercepts: &intercepts }),
        };
        let forests = [Rival::ExtraTrees, Rival::RandomForest, Rival::BoostedTrees];
        for (rival, answers) in rivals(&contest, &Rival::ALL[..6]).unwrap() {
            let expected = &expected["neighbors"][rival.name()];
            let best: Vec<f64> = answers.best.iter().map(|&class| class as f64).collect();
            assert_eq!(best, numbers(&expected["best"]), "{}", rival.name());
            for (found, expected) in answers.score.iter().zip(numbers(&expected["score"])) {
                assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{}", rival.name());
            }
        }
        let chosen = Rival::ALL[6..].iter().copied().filter(|rival| rival.serves(&metric));
        let chosen: &Vec<Rival> = &chosen.filter(|rival| !forests.contains(rival)).collect();
        let found = rivals(&contest, chosen).unwrap();
        assert_eq!(found.iter().map(|(rival, _)| *rival).collect::<Vec<_>>(), *chosen);
        for (rival, answers) in found {
            let (classes, precise) = match rival {
                // The solver stops where no pair of rows violates the optimum by more than 1e-3.
                Rival::RbfSvm => ("machines", 5e-3),
                rival if rival.is_linear() => ("predicted", 1e-6),
                _ => ("nearest", 1e-6),
            };
            let best: Vec<f64> = answers.best.iter().map(|&class| class as f64).collect();
            assert_eq!(best, numbers(&expected[classes]), "{}", rival.name());
            for (found, expected) in answers.score.iter().zip(numbers(&expected[rival.name()])) {
                let near = (found - expected).abs() <= precise * expected.abs().max(1.0);
                assert!(near, "{}, {}: {found} is not {expected}", metric.name(), rival.name());
            }
        }
    }
}

/// Two classes on a line of the first column; the others are constant, or copies of each other.
fn thin() -> (Features<'static>, Labels) {
    let rows: Vec<f32> = (0..20)
        .flat_map(|row| {
            let x = (row % 2) as f32 * 10.0 + (row / 2) as f32 * 0.1;
            [x, x, 7.0, 0.0]
        })
        .collect();
    (Features::new(rows, 4).unwrap(), Labels::new((0..20).map(|row| ["a", "b"][row % 2])).unwrap())
}

fn ask(train: (&Features<'_>, &Labels), queries: &Features<'_>) -> Vec<(Rival, Answers)> {
    let d = queries.columns();
    let classes = train.1.names().len();
    let weights: Vec<f64> =
        (0..classes * d).map(|at| if at % d == 0 { (at / d) as f64 - 0.5 } else { 0.0 }).collect();
    let intercepts: Vec<f64> = (0..classes).map(|class| -5.0 * class as f64).collect();
    let contest = Contest {
        metric: &Metric::Euclidean,
        train,
        queries,
        truth: &vec![Some(0); queries.rows()],
        linear: Some(Linear { weights: &weights, intercepts: &intercepts }),
    };
    rivals(&contest, &Rival::ALL).unwrap()
}

#[test]
fn constant_and_dependent_columns_are_no_obstacle() {
    let (train, labels) = thin();
    let queries = Features::new(vec![0.5, 0.5, 7.0, 0.0, 10.5, 10.5, 7.0, 0.0], 4).unwrap();
    for (rival, answers) in ask((&train, &labels), &queries) {
        assert!(answers.score.iter().all(|score| score.is_finite()), "{}: {answers:?}", rival.name());
        // Twenty rows are too few for boosted trees to divide.
        if rival != Rival::BoostedTrees {
            assert_eq!(answers.best, [0, 1], "{}", rival.name());
        }
    }
}

#[test]
fn one_row_a_class_has_no_spread_and_still_answers() {
    let train = Features::new(vec![0.0, 0.0, 4.0, 4.0], 2).unwrap();
    let labels = Labels::new(["a", "b"]).unwrap();
    let queries = Features::new(vec![1.0, 0.0, 4.0, 5.0], 2).unwrap();
    let found = ask((&train, &labels), &queries);
    let mahalanobis = &found.iter().find(|(rival, _)| *rival == Rival::Mahalanobis).unwrap().1;
    assert_eq!((&mahalanobis.best[..], &mahalanobis.score[..]), (&[0, 1][..], &[-1.0, -1.0][..]));
}

#[test]
fn what_the_metric_or_the_caller_lacks_is_left_out() {
    let (train, labels) = thin();
    let truth = vec![Some(0); train.rows()];
    for (metric, count) in [(Metric::Euclidean, 12), (Metric::Cosine, 11), (Metric::Manhattan, 9)] {
        let contest = Contest {
            metric: &metric,
            train: (&train, &labels),
            queries: &train,
            truth: &truth,
            linear: None,
        };
        let found = rivals(&contest, &Rival::ALL).unwrap();
        assert_eq!(found.len(), count, "{}", metric.name());
        assert!(found.iter().all(|(rival, _)| rival.serves(&metric) && !rival.is_linear()));
    }
}

#[test]
fn sizes_that_do_not_match_are_named() {
    let (train, labels) = thin();
    let truth = vec![Some(0); train.rows()];
    let contest = Contest {
        metric: &Metric::Cosine,
        train: (&train, &labels),
        queries: &train,
        truth: &truth,
        linear: None,
    };
    let fails = |contest: &Contest<'_>| rivals(contest, &Rival::ALL).unwrap_err().to_string();
    assert_eq!(
        fails(&Contest { truth: &truth[1..], ..contest }),
        "true classes of the queries: 19 where 20 belong"
    );
    let narrow = Features::new(vec![1.0; 20], 1).unwrap();
    assert_eq!(fails(&Contest { queries: &narrow, ..contest }), "columns of the queries: 1 where 4 belong");
    let linear = Some(Linear { weights: &[0.0; 7], intercepts: &[0.0; 2] });
    assert_eq!(fails(&Contest { linear, ..contest }), "weights of the linear classifier: 7 where 8 belong");
    let mut values = train.values().to_vec();
    values[4..8].fill(0.0);
    let zeros = Features::new(values, 4).unwrap();
    assert!(fails(&Contest { queries: &zeros, ..contest }).starts_with("row 1 of the queries is all zeros"));
    let none = Features::new(vec![], 4).unwrap();
    let empty = Contest { train: (&none, &Labels::default()), ..contest };
    assert_eq!(rivals(&empty, &Rival::ALL).unwrap_err(), RivalError::NoRows);
}

/// Whether it measures distances, by which far is far.
fn measures(rival: Rival) -> bool {
    !rival.is_linear() && Rival::ALL[..8].contains(&rival)
}

#[test]
fn distances_far_from_zero_keep_their_digits() {
    let (train, labels) = thin();
    let shift = |features: &Features<'_>, by: f32| {
        Features::new(features.values().iter().map(|value| value + by).collect::<Vec<_>>(), 4).unwrap()
    };
    // Multiples of 1/1024 up to 2^13 are exact in single precision, and so the shift loses nothing.
    let round: Vec<f32> = train.values().iter().map(|value| (value * 1024.0).round() / 1024.0).collect();
    let train = Features::new(round, 4).unwrap();
    let queries = train.select(&[0, 1, 2, 3]);
    let near = ask((&train, &labels), &queries);
    let far = ask((&shift(&train, 4096.0), &labels), &shift(&queries, 4096.0));
    for ((rival, near), (_, far)) in near.iter().zip(&far).filter(|((rival, _), _)| measures(*rival)) {
        assert_eq!(near.best, far.best, "{}", rival.name());
        for (near, far) in near.score.iter().zip(&far.score) {
            assert!((near - far).abs() <= 1e-5 * near.abs().max(1.0), "{}: {near} {far}", rival.name());
        }
    }
}

#[test]
fn answers_can_be_summed_up() {
    let (train, labels) = thin();
    let queries = Features::new(vec![0.5, 0.5, 7.0, 0.0, 100.0, -3.0, 2.0, 9.0], 4).unwrap();
    let contest = Contest {
        metric: &Metric::Euclidean,
        train: (&train, &labels),
        queries: &queries,
        truth: &[Some(0), None],
        linear: None,
    };
    let found = rivals(&contest, &Rival::ALL).unwrap();
    for (rival, answers) in found.into_iter().filter(|(rival, _)| measures(*rival)) {
        let found = Evaluation::new(&answers, 2);
        assert_eq!((found.auroc, found.fpr95), (Some(1.0), Some(0.0)), "{}", rival.name());
    }
}

/// The mean OSCR of a rival over the draws of scikit-learn's numbers, and theirs.
fn mean_oscr(rival: Rival, name: &str) -> (f64, f64) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../evmachine-forest/tests/golden/forest.json");
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let columns = golden["columns"].as_u64().unwrap() as usize;
    let all = Features::from_f64(&numbers(&golden["train"]), columns).unwrap();
    let queries = Features::from_f64(&numbers(&golden["queries"]), columns).unwrap();
    let draws = golden["draws"].as_array().unwrap();
    let (mut own, mut theirs) = (0.0, 0.0);
    for draw in draws {
        let known = numbers(&draw["known"]);
        let position = |class: f64| known.iter().position(|&other| other == class);
        let classes: Vec<Option<usize>> = numbers(&golden["classes"]).into_iter().map(position).collect();
        let rows: Vec<usize> = (0..classes.len()).filter(|&row| classes[row].is_some()).collect();
        let labels = Labels::new(rows.iter().map(|&row| classes[row].unwrap().to_string())).unwrap();
        let asked = Labels::new(numbers(&golden["truth"]).into_iter().map(|class| match position(class) {
            Some(known) => known.to_string(),
            None => "another".to_owned(),
        }));
        let contest = Contest {
            metric: &Metric::Euclidean,
            train: (&all.select(&rows), &labels),
            queries: &queries,
            truth: &truth(&labels, &asked.unwrap()),
            linear: None,
        };
        let found = rivals(&contest, &[rival]).unwrap().remove(0).1;
        own += Evaluation::new(&found, known.len()).oscr.unwrap() / draws.len() as f64;
        theirs += draw[name]["oscr"].as_f64().unwrap() / draws.len() as f64;
    }
    (own, theirs)
}

#[test]
fn forests_are_as_good_as_those_of_scikit_learn() {
    let forests = [
        (Rival::ExtraTrees, "extra_trees"),
        (Rival::RandomForest, "random_forest"),
        (Rival::BoostedTrees, "boosted"),
    ];
    for (rival, name) in forests {
        let (own, theirs) = mean_oscr(rival, name);
        assert!((own - theirs).abs() < 0.005, "{name}: {own} {theirs}");
    }
}

#[test]
fn what_is_quick_depends_on_the_size() {
    assert_eq!(Rival::quick(4_000, 36), Rival::ALL);
    let many = Rival::quick(15_000, 384);
    assert!(many.contains(&Rival::ExtraTrees) && !many.contains(&Rival::RandomForest));
    assert_eq!(Rival::quick(15_000, 1_280).len(), Rival::ALL.len() - 4);
}
