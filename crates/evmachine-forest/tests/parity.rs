//! Forests against scikit-learn's. `golden/forest.py` wrote the numbers.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use evmachine_engine::{Features, Run};
use evmachine_forest::{Boosted, BoostedOptions, Forest, ForestOptions};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/forest.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Rows and labels of the known classes of the first draw, and its queries, those of known classes first.
fn first_draw(golden: &Value) -> (Features<'static>, Vec<u32>, Features<'static>) {
    let columns = golden["columns"].as_u64().unwrap() as usize;
    let train = Features::from_f64(&numbers(&golden["train"]), columns).unwrap();
    let queries = Features::from_f64(&numbers(&golden["queries"]), columns).unwrap();
    let known = numbers(&golden["draws"][0]["known"]);
    let position = |class: f64| known.iter().position(|&other| other == class);
    let classes: Vec<Option<usize>> = numbers(&golden["classes"]).into_iter().map(position).collect();
    let truth: Vec<Option<usize>> = numbers(&golden["truth"]).into_iter().map(position).collect();
    let own: Vec<usize> = (0..classes.len()).filter(|&row| classes[row].is_some()).collect();
    let labels = own.iter().map(|&row| classes[row].unwrap() as u32).collect();
    let (mut asked, unknown): (Vec<usize>, Vec<usize>) =
        (0..truth.len()).partition(|&row| truth[row].is_some());
    asked.extend(unknown);
    (train.select(&own), labels, queries.select(&asked))
}

/// The mean and the largest difference.
fn differences(found: &[f64], expected: &[f64]) -> (f64, f64) {
    assert_eq!(found.len(), expected.len());
    let differences = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
    let (sum, most) = differences.fold((0.0, 0.0f64), |(sum, most), next| (sum + next, most.max(next)));
    (sum / found.len() as f64, most)
}

#[test]
fn probabilities_of_many_trees_are_those_of_scikit_learn() {
    let golden = golden();
    let (train, labels, queries) = first_draw(&golden);
    let forests =
        [("extra_trees", ForestOptions::extra_trees()), ("random_forest", ForestOptions::random_forest())];
    for (name, options) in forests {
        let options = ForestOptions { trees: 20_000, ..options };
        let forest = Forest::fit(&Run::new(), &train, &labels, 3, &options).unwrap();
        let expected = numbers(&golden["draws"][0][name]["probabilities"]);
        let (mean, most) = differences(&forest.probabilities(&queries).unwrap(), &expected);
        // Shares of 20,000 trees have a standard error of 0.0035 at most, on both sides.
        assert!(mean < 0.0045 && most < 0.025, "{name}: {mean} {most}");
    }
}

#[test]
fn boosted_trees_are_those_of_scikit_learn() {
    let golden = golden();
    let (train, labels, queries) = first_draw(&golden);
    let boosted = Boosted::fit(&Run::new(), &train, &labels, 3, &BoostedOptions::default()).unwrap();
    assert_eq!(boosted.trees(), 300);
    let expected = numbers(&golden["draws"][0]["boosted"]["probabilities"]);
    let (mean, most) = differences(&boosted.probabilities(&queries).unwrap(), &expected);
    assert!(mean < 1e-3 && most < 0.05, "{mean} {most}");
}

#[test]
fn boosted_trees_of_two_classes_are_those_of_scikit_learn() {
    let golden = golden();
    let train = Features::from_f64(&numbers(&golden["two"]["train"]), 2).unwrap();
    let labels: Vec<u32> = numbers(&golden["two"]["classes"]).iter().map(|&class| class as u32).collect();
    let options = BoostedOptions { rounds: 30, ..BoostedOptions::default() };
    let boosted = Boosted::fit(&Run::new(), &train, &labels, 2, &options).unwrap();
    assert_eq!(boosted.trees(), 30);
    let expected = numbers(&golden["two"]["probabilities"]);
    let found = boosted.probabilities(&train.part(0..100)).unwrap();
    let (mean, most) = differences(&found, &expected);
    assert!(mean < 1e-3 && most < 0.05, "{mean} {most}");
}
