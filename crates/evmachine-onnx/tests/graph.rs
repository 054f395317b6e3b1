//! The graph as an independent reader of the format sees it. What it computes is tested by the Python package, with
//! a runtime.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::collections::HashSet;

use evmachine::{Distance, Evm, Features, Labels, Metric, Params, Rejection, TailModel, Weight};
use evmachine_onnx::{ExportError, UNKNOWN_LABEL, to_onnx, to_onnx_in_order};
use onnx_rs::ast::{Graph, OpType, TensorProto};

fn fit(params: &Params) -> Evm {
    let features = Features::new(vec![1.0, 0.1, 0.2, 5.0, 5.1, 5.2, 2.0, 9.0, 9.1, 9.5], 1).unwrap();
    let labels =
        Labels::new(["low", "low", "low", "high", "high", "high", "low", "top", "top", "top"]).unwrap();
    Evm::fit(params, &features, &labels).unwrap().0
}

/// 120 rows of each of three classes in four dimensions: enough to hold some out.
fn fit_many(params: &Params) -> Evm {
    let centres = [[3.0, 0.5, 1.0, 2.0], [0.5, 4.0, 1.5, 1.0], [1.0, 0.5, 5.0, 3.0]];
    let noise = |row: usize, k: usize| ((row * 37 + k * 101 + row * row * k) % 211) as f32 / 211.0;
    let values: Vec<f32> =
        (0..360).flat_map(|row| (0..4).map(move |k| centres[row % 3][k] + 2.0 * noise(row, k))).collect();
    let labels = Labels::new((0..360).map(|row| ["low", "high", "top"][row % 3])).unwrap();
    Evm::fit(params, &Features::new(values, 4).unwrap(), &labels).unwrap().0
}

/// Reads the graph and checks it before it is asked about.
fn with_graph<R>(evm: &Evm, ask: impl FnOnce(&Graph<'_>) -> R) -> R {
    let bytes = to_onnx(evm, UNKNOWN_LABEL).unwrap();
    let graph = onnx_rs::parse(&bytes).unwrap().graph.unwrap();
    check(&graph, &HashSet::new());
    ask(&graph)
}

/// The constants of doubles whose name begins so, in order.
fn doubles(graph: &Graph<'_>, name: &str) -> Vec<Vec<f64>> {
    let named = graph.initializer.iter().filter(|tensor| tensor.name().starts_with(name));
    named.map(|tensor| tensor.as_f64().unwrap().into_owned()).collect()
}

fn count(graph: &Graph<'_>, operator: &OpType<'_>) -> usize {
    graph.node.iter().filter(|node| node.op_type == *operator).count()
}

/// Every input of a node is there before the node, every promised output is computed, and nothing is in vain.
fn check(graph: &Graph<'_>, outer: &HashSet<String>) {
    let mut known = outer.clone();
    known.extend(graph.input.iter().map(|value| value.name.to_owned()));
    known.extend(graph.initializer.iter().map(|tensor| tensor.name().to_owned()));
    for node in &graph.node {
        for input in &node.input {
            assert!(known.contains(*input), "{input} of {} is not there", node.op_type);
        }
        for attribute in &node.attribute {
            if let Some(body) = &attribute.g {
                check(body, &known);
            }
        }
        for output in &node.output {
            assert!(known.insert((*output).to_owned()), "{output} is computed twice");
        }
    }
    assert!(graph.output.iter().all(|value| known.contains(value.name)));
    let mut used: HashSet<&str> = graph.output.iter().map(|value| value.name).collect();
    used_by(graph, &mut used);
    assert!(graph.initializer.iter().all(|tensor| used.contains(tensor.name())));
    assert!(graph.node.iter().all(|node| node.output.iter().any(|output| used.contains(output))));
}

fn used_by<'a>(graph: &Graph<'a>, used: &mut HashSet<&'a str>) {
    for node in &graph.node {
        used.extend(&node.input);
        node.attribute
            .iter()
            .filter_map(|attribute| attribute.g.as_ref())
            .for_each(|body| used_by(body, used));
    }
}

#[test]
fn every_choice_gives_a_graph_whose_values_are_defined() {
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan] {
        for tail_model in TailModel::ALL {
            for n_fused in [1, 3] {
                let params = Params { metric: metric.clone(), tail_model, n_fused, ..Params::paper() };
                let evm = fit(&params);
                let bytes = to_onnx(&evm, UNKNOWN_LABEL).unwrap();
                let model = onnx_rs::parse(&bytes).unwrap();
                assert_eq!(model.opset_import[0].version, 17);
                let metadata: Vec<(&str, &str)> =
                    model.metadata_props.iter().map(|entry| (entry.key, entry.value)).collect();
                assert_eq!(metadata[0], ("classes", r#"["low","high","top"]"#));
                assert_eq!(metadata[1..], [("unknown_label", "unknown"), ("rejection_threshold", "0.05")]);
                let graph = model.graph.unwrap();
                check(&graph, &HashSet::new());
                let outputs: Vec<&str> = graph.output.iter().map(|value| value.name).collect();
                assert_eq!(outputs, ["label", "supports", "probability", "scores"]);
                let names = graph.initializer.iter().find_map(|tensor| tensor.as_strings()).unwrap();
                assert_eq!(names, [&b"low"[..], b"high", b"top", b"unknown"]);
                let vectors: Vec<f32> =
                    evm.extreme_vectors().flat_map(|vector| vector.vector).copied().collect();
                let stored = graph.initializer.iter().find_map(TensorProto::as_f32).unwrap();
                assert_eq!(stored.as_ref(), vectors);
                assert_eq!(count(&graph, &OpType::Scan), usize::from(metric == Metric::Manhattan));
            }
        }
    }
}

#[test]
fn whitening_is_a_product_in_front() {
    let features = Features::new(vec![1.0, 0.1, 0.2, 5.0, 5.1, 5.2, 2.0, 9.0, 9.1, 9.5], 2).unwrap();
    let labels = Labels::new(["low", "low", "high", "high", "high"]).unwrap();
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let params = Params { metric, whitening: 0.5, ..Params::paper() };
        let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
        let bytes = to_onnx(&evm, UNKNOWN_LABEL).unwrap();
        let graph = onnx_rs::parse(&bytes).unwrap().graph.unwrap();
        check(&graph, &HashSet::new());
        assert_eq!(count(&graph, &OpType::MatMul), 2);
        let matrix = graph.initializer.iter().find(|tensor| tensor.name().starts_with("whitening")).unwrap();
        assert_eq!(matrix.as_f32().unwrap().as_ref(), evm.whitening_matrix().unwrap());
    }
}

#[test]
fn columns_are_standardised_in_front() {
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan] {
        let evm = fit_many(&Params { metric, standardize: true, ..Params::plain() });
        let (mean, deviation) = evm.standard_columns().unwrap();
        with_graph(&evm, |graph| {
            assert_eq!(doubles(graph, "mean"), [mean]);
            assert_eq!(doubles(graph, "deviation"), [deviation]);
            assert_eq!(doubles(graph, "direction"), [[f64::from(1e-30f32), 0.0, 0.0, 0.0]]);
        });
    }
}

#[test]
fn beyond_the_reach_supports_fall() {
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan] {
        let evm = fit_many(&Params { metric: metric.clone(), ..Params::plain() });
        with_graph(&evm, |graph| {
            let numbers = doubles(graph, "number");
            assert_eq!(numbers.contains(&vec![1e6]), metric != Metric::Cosine);
            assert!(evm.reach().unwrap().is_none_or(|reach| numbers.contains(&vec![reach])));
        });
    }
}

#[test]
fn witnesses_that_count_are_heard() {
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan] {
        for (logit_weight, probe_weight, forest_weight) in
            [(1.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 2.0), (1.0, 1.0, 1.0)]
        {
            let evm = fit_many(&Params {
                logit_weight: Weight::Fixed(logit_weight),
                probe_weight: Weight::Fixed(probe_weight),
                forest_weight: Weight::Fixed(forest_weight),
                ..Params::robust_for(metric.clone())
            });
            let witnesses = evm.witnesses().unwrap();
            let (mut probes, mut caps) = (Vec::new(), Vec::new());
            let mut vectors = vec![i64::try_from(evm.extreme_vector_count()).unwrap()];
            if let Some((projection, machine)) = witnesses.logits {
                probes.push(projection.weights());
                caps.push(vec![witnesses.logit_cap]);
                vectors.push(i64::try_from(machine.extreme_vector_count()).unwrap());
            }
            if probe_weight > 0.0 {
                probes.push(witnesses.probe.unwrap().weights());
                caps.push(vec![witnesses.probe_cap]);
            }
            assert_eq!(
                probes.len(),
                [logit_weight, probe_weight].iter().filter(|&&weight| weight > 0.0).count()
            );
            with_graph(&evm, |graph| {
                assert_eq!(doubles(graph, "weights"), probes);
                let numbers = doubles(graph, "number");
                assert!(caps.iter().all(|cap| numbers.contains(cap)));
                let stored = graph.initializer.iter().filter(|tensor| tensor.name().starts_with("vectors"));
                assert_eq!(stored.map(|tensor| tensor.dims()[0]).collect::<Vec<_>>(), vectors);
                let trees = graph.node.iter().filter(|node| node.op_type.as_str() == "TreeEnsembleRegressor");
                assert_eq!(trees.count(), usize::from(forest_weight > 0.0));
            });
        }
    }
}

#[test]
fn lead_and_background_are_each_taken_from_the_sorted_supports() {
    for (contrast, background) in [(0.0, 0.0), (0.1, 0.0), (0.0, 0.5), (0.1, 0.5)] {
        let evm = fit_many(&Params { contrast, background, ..Params::plain() });
        with_graph(&evm, |graph| {
            let expected = [contrast, background].iter().filter(|&&weight| weight > 0.0).count();
            assert_eq!(count(graph, &OpType::TopK), expected);
        });
    }
}

#[test]
fn every_class_has_its_threshold() {
    let rule = Rejection::FalseUnknownPerClass(0.1);
    let evm = fit_many(&Params { rejection_threshold: rule, ..Params::plain() });
    let thresholds: Vec<f64> = (0..3).map(|class| evm.threshold_of(class)).collect();
    with_graph(&evm, |graph| assert_eq!(doubles(graph, "thresholds"), [thresholds]));
}

#[test]
fn a_threshold_given_as_a_support_is_in_the_graph() {
    let mut evm = fit_many(&Params::plain());
    evm.set_rejection(Rejection::Support(evm.threshold() + 1.5)).unwrap();
    with_graph(&evm, |graph| assert_eq!(doubles(graph, "thresholds"), [vec![evm.threshold(); 3]]));
}

#[test]
fn columns_come_in_the_order_that_is_asked_for() {
    let evm = fit(&Params::paper());
    let bytes = to_onnx_in_order(&evm, UNKNOWN_LABEL, &[1, 0, 2]).unwrap();
    let model = onnx_rs::parse(&bytes).unwrap();
    assert_eq!(model.metadata_props[0].value, r#"["high","low","top"]"#);
    let graph = model.graph.unwrap();
    check(&graph, &HashSet::new());
    let orders = graph.initializer.iter().filter(|tensor| tensor.name().starts_with("order"));
    let orders: Vec<Vec<i64>> = orders.map(|tensor| tensor.as_i64().unwrap().into_owned()).collect();
    assert_eq!(orders, [[1, 0, 2], [1, 0, 2]], "of supports and scores");
    // Labels are looked up by the position in the model.
    let names = graph.initializer.iter().find_map(|tensor| tensor.as_strings()).unwrap();
    assert_eq!(names, [&b"low"[..], b"high", b"top", b"unknown"]);
    assert_eq!(to_onnx_in_order(&evm, UNKNOWN_LABEL, &[0, 1, 2]), to_onnx(&evm, UNKNOWN_LABEL));
    for order in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 1, 2, 3]] {
        let refused = to_onnx_in_order(&evm, UNKNOWN_LABEL, order);
        assert_eq!(refused, Err(ExportError::Order { classes: 3 }));
    }
}

#[derive(Debug)]
struct Own;

impl Distance for Own {
    fn name(&self) -> &'static str {
        "own"
    }
    fn distance(&self, a: &[f32], b: &[f32]) -> f32 {
        (a[0] - b[0]).abs()
    }
}

#[test]
fn what_a_graph_cannot_hold_is_refused() {
    let own = fit(&Params { metric: Metric::custom(Own), ..Params::paper() });
    assert_eq!(
        to_onnx(&own, UNKNOWN_LABEL),
        Err(ExportError::CustomMetric { name: "custom:own".to_owned() })
    );
    let evm = fit(&Params::paper());
    assert_eq!(to_onnx(&evm, "top"), Err(ExportError::UnknownLabel { label: "top".to_owned() }));
}

#[test]
fn denials_are_in_the_graph_with_ignored_samples_and_without() {
    for params in [Params::plain(), Params { metric: Metric::Manhattan, ..Params::paper() }, Params::robust()]
    {
        let mut evm = fit_many(&params);
        let plain = with_graph(&evm, |graph| count(graph, &OpType::LessOrEqual));
        let rows = Features::new(vec![3.5, 1.0, 1.5, 2.5, 1.0, 1.0, 5.5, 3.5], 4).unwrap();
        evm.deny(&rows, "low").unwrap();
        evm.deny(&rows.select(&[1]), "top").unwrap();
        // One comparison for each class that has any.
        with_graph(&evm, |graph| assert_eq!(count(graph, &OpType::LessOrEqual), plain + 2));
        evm.ignore(&Features::new(vec![9.0, 9.0, 9.0, 9.0], 4).unwrap()).unwrap();
        with_graph(&evm, |graph| assert_eq!(count(graph, &OpType::LessOrEqual), plain + 3));
    }
}

#[test]
fn ignored_samples_fillings_and_a_class_alone_are_in_the_graph() {
    for params in [Params::plain(), Params { metric: Metric::Manhattan, ..Params::paper() }, Params::robust()]
    {
        let mut evm = fit_many(&params);
        evm.ignore(&Features::new(vec![9.0, 9.0, 9.0, 9.0, 8.0, 8.0, 8.0, 8.0], 4).unwrap()).unwrap();
        evm.set_fill_values(Some(vec![1.0, 2.0, 3.0, 4.0])).unwrap();
        with_graph(&evm, |graph| {
            assert_eq!(count(graph, &OpType::LessOrEqual), 1);
            let filled = graph.initializer.iter().find(|tensor| tensor.name().starts_with("fill")).unwrap();
            assert_eq!(filled.as_f32().unwrap().into_owned(), [1.0, 2.0, 3.0, 4.0]);
        });
    }
    let alone = Labels::new(vec!["low"; 4]).unwrap();
    let features = Features::new(vec![1.0, 1.5, 2.0, 2.5], 1).unwrap();
    let params = Params { contrast: 0.5, background: 0.5, ..Params::paper() };
    let (evm, _) = Evm::fit(&params, &features, &alone).unwrap();
    with_graph(&evm, |graph| assert_eq!(count(graph, &OpType::TopK), 0));
}
