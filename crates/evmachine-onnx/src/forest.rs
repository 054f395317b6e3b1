//! The forest: one node that knows all trees.

use evmachine::ForestArrays;

use crate::builder::{Builder, Name};
use crate::message::{Attribute, Data, ElementType, Tensor};

/// As in the library: least probability that is told from 0.
const FLOOR: f64 = 1e-3;
/// As in the library: no column, the node is a leaf.
const LEAF: u32 = u32::MAX;

/// `ln(p + 0.001)` of shape (rows, classes), for rows as a probe is asked.
pub(crate) fn said(builder: &mut Builder, forest: &ForestArrays, rows: &str) -> Name {
    let ends = forest.roots[1..].iter().map(|&root| root as usize).chain([forest.column.len()]);
    let (mut trees, mut places, mut targets) = (Vec::new(), Vec::new(), Targets::default());
    let share = 1.0 / forest.roots.len() as f64;
    for (tree, (&root, end)) in forest.roots.iter().zip(ends).enumerate() {
        for at in root as usize..end {
            let place = (at - root as usize) as u64;
            trees.push(tree as u64);
            places.push(place);
            if forest.column[at] == LEAF {
                targets.add(forest, (tree as u64, place), forest.right[at] as usize, share);
            }
        }
    }
    let is_leaf = |at: usize| forest.column[at] == LEAF;
    let count = forest.column.len();
    let number = |value: fn(u64, u64) -> u64, right: &[u64]| -> Vec<u64> {
        (0..count).map(|at| if is_leaf(at) { 0 } else { value(places[at], right[at]) }).collect()
    };
    let right: Vec<u64> = (0..count)
        .map(|at| u64::from(forest.right[at]).wrapping_sub(u64::from(forest.roots[trees[at] as usize])))
        .collect();
    let thresholds =
        (0..count).map(|at| if is_leaf(at) { 0.0 } else { f64::from(forest.threshold[at]) }).collect();
    let attributes = vec![
        Attribute::Integer("n_targets", forest.classes as u64),
        Attribute::Text("aggregate_function", "SUM"),
        Attribute::Texts(
            "nodes_modes",
            (0..count).map(|at| if is_leaf(at) { "LEAF" } else { "BRANCH_LEQ" }).collect(),
        ),
        Attribute::Integers(
            "nodes_featureids",
            (0..count).map(|at| if is_leaf(at) { 0 } else { u64::from(forest.column[at]) }).collect(),
        ),
        Attribute::Tensor("nodes_values_as_tensor", doubles("nodes_values", thresholds)),
        Attribute::Integers("nodes_truenodeids", number(|place, _| place + 1, &right)),
        Attribute::Integers("nodes_falsenodeids", number(|_, right| right, &right)),
        Attribute::Integers("nodes_treeids", trees),
        Attribute::Integers("nodes_nodeids", places),
        Attribute::Integers("target_treeids", targets.trees),
        Attribute::Integers("target_nodeids", targets.places),
        Attribute::Integers("target_ids", targets.classes),
        Attribute::Tensor("target_weights_as_tensor", doubles("target_weights", targets.shares)),
    ];
    let found = builder.apply_with("TreeEnsembleRegressor", &[rows], attributes);
    let found = builder.cast(&found, ElementType::Double);
    let floor = builder.number(FLOOR);
    let raised = builder.apply("Add", &[&found, &floor]);
    builder.apply("Log", &[&raised])
}

fn doubles(name: &str, values: Vec<f64>) -> Tensor {
    Tensor { name: name.to_owned(), shape: vec![values.len()], data: Data::Doubles(values) }
}

/// What leaves say: a class and its share of the forest's probability.
#[derive(Default)]
struct Targets {
    trees: Vec<u64>,
    places: Vec<u64>,
    classes: Vec<u64>,
    shares: Vec<f64>,
}

impl Targets {
    fn add(&mut self, forest: &ForestArrays, (tree, place): (u64, u64), leaf: usize, share: f64) {
        let first = if leaf == 0 { 0 } else { forest.leaf_ends[leaf - 1] as usize };
        for entry in first..forest.leaf_ends[leaf] as usize {
            self.trees.push(tree);
            self.places.push(place);
            self.classes.push(u64::from(forest.leaf_classes[entry]));
            self.shares.push(share * f64::from(forest.leaf_shares[entry]));
        }
    }
}
