//! The graph as an independent reader of the format sees it. What it computes is tested by the Python package, with
//! a runtime.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::collections::HashSet;

use evmachine::{Distance, Evm, Features, Labels, Metric, Params, TailModel};
use evmachine_onnx::{ExportError, UNKNOWN_LABEL, to_onnx};
use onnx_rs::ast::{Graph, OpType, TensorProto};

fn fit(params: &Params) -> Evm {
    let features = Features::new(vec![1.0, 0.1, 0.2, 5.0, 5.1, 5.2, 2.0, 9.0, 9.1, 9.5], 1).unwrap();
    let labels =
        Labels::new(["low", "low", "low", "high", "high", "high", "low", "top", "top", "top"]).unwrap();
    Evm::fit(params, &features, &labels).unwrap().0
}

/// Every input of a node is there before the node, and every promised output is computed.
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
                assert_eq!(outputs, ["label", "probability", "scores"]);
                let names = graph.initializer.iter().find_map(|tensor| tensor.as_strings()).unwrap();
                assert_eq!(names, [&b"low"[..], b"high", b"top", b"unknown"]);
                let vectors: Vec<f32> =
                    evm.extreme_vectors().flat_map(|vector| vector.vector).copied().collect();
                let stored = graph.initializer.iter().find_map(TensorProto::as_f32).unwrap();
                assert_eq!(stored.as_ref(), vectors);
                let scans = graph.node.iter().filter(|node| node.op_type == OpType::Scan).count();
                assert_eq!(scans, usize::from(metric == Metric::Manhattan));
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
        let products = graph.node.iter().filter(|node| node.op_type == OpType::MatMul).count();
        assert_eq!(products, 2);
        let matrix = graph.initializer.iter().find(|tensor| tensor.name().starts_with("whitening")).unwrap();
        assert_eq!(matrix.as_f32().unwrap().as_ref(), evm.whitening_matrix().unwrap());
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
