//! A graph under construction: nodes and constants, each of which gets a name of its own.

use std::collections::HashSet;

use crate::message::{Attribute, Data, ElementType, Node, Tensor};

/// The name of a value.
pub(crate) type Name = String;

pub(crate) struct Builder {
    /// Keeps the names of a graph inside a graph apart from those outside.
    prefix: &'static str,
    pub(crate) nodes: Vec<Node>,
    pub(crate) tensors: Vec<Tensor>,
    count: usize,
}

impl Builder {
    pub(crate) fn new(prefix: &'static str) -> Self {
        Self { prefix, nodes: Vec::new(), tensors: Vec::new(), count: 0 }
    }

    fn name(&mut self, what: &str) -> Name {
        self.count += 1;
        format!("{}{}_{}", self.prefix, what.to_lowercase(), self.count)
    }

    /// Applies an operator of one output.
    pub(crate) fn apply(&mut self, operator: &'static str, inputs: &[&str]) -> Name {
        self.apply_with(operator, inputs, Vec::new())
    }

    pub(crate) fn apply_with(
        &mut self,
        operator: &'static str,
        inputs: &[&str],
        attributes: Vec<Attribute>,
    ) -> Name {
        let output = self.name(operator);
        self.push(operator, inputs, vec![output.clone()], attributes);
        output
    }

    /// As [`apply`](Self::apply), for an output that the graph promises.
    pub(crate) fn apply_as(&mut self, output: &str, operator: &'static str, inputs: &[&str]) {
        self.apply_as_with(output, operator, inputs, Vec::new());
    }

    pub(crate) fn apply_as_with(
        &mut self,
        output: &str,
        operator: &'static str,
        inputs: &[&str],
        attributes: Vec<Attribute>,
    ) {
        self.push(operator, inputs, vec![output.to_owned()], attributes);
    }

    /// Applies an operator of several outputs.
    pub(crate) fn apply_many(
        &mut self,
        operator: &'static str,
        inputs: &[&str],
        attributes: Vec<Attribute>,
        outputs: usize,
    ) -> Vec<Name> {
        let outputs: Vec<Name> = (0..outputs).map(|_| self.name(operator)).collect();
        self.push(operator, inputs, outputs.clone(), attributes);
        outputs
    }

    fn push(
        &mut self,
        operator: &'static str,
        inputs: &[&str],
        outputs: Vec<Name>,
        attributes: Vec<Attribute>,
    ) {
        let inputs = inputs.iter().map(|&name| name.to_owned()).collect();
        self.nodes.push(Node { operator, inputs, outputs, attributes });
    }

    pub(crate) fn constant(&mut self, what: &str, shape: Vec<usize>, data: Data) -> Name {
        let name = self.name(what);
        self.tensors.push(Tensor { name: name.clone(), shape, data });
        name
    }

    /// A number without a dimension, which broadcasts.
    pub(crate) fn number(&mut self, value: f64) -> Name {
        self.constant("number", Vec::new(), Data::Doubles(vec![value]))
    }

    /// A row of numbers, which broadcasts over rows.
    pub(crate) fn row(&mut self, what: &str, values: Vec<f64>) -> Name {
        self.constant(what, vec![values.len()], Data::Doubles(values))
    }

    pub(crate) fn cast(&mut self, value: &str, kind: ElementType) -> Name {
        self.apply_with("Cast", &[value], vec![Attribute::Integer("to", kind as u64)])
    }

    /// A reduction over one axis, by an operator that takes its axes as an attribute.
    pub(crate) fn reduce(&mut self, operator: &'static str, value: &str, axis: usize, keep: bool) -> Name {
        let attributes = vec![
            Attribute::Integers("axes", vec![axis as u64]),
            Attribute::Integer("keepdims", u64::from(keep)),
        ];
        self.apply_with(operator, &[value], attributes)
    }

    /// The sum over one axis, which `ReduceSum` takes as an input.
    pub(crate) fn sum(&mut self, value: &str, axis: usize) -> Name {
        let axes = self.constant("axes", vec![1], Data::Integers(vec![axis]));
        self.apply_with("ReduceSum", &[value, &axes], vec![Attribute::Integer("keepdims", 0)])
    }

    /// Drops what none of the outputs needs, as a score that another one replaces.
    pub(crate) fn keep(&mut self, outputs: &[&str]) {
        let mut needed: HashSet<Name> = outputs.iter().map(|&name| name.to_owned()).collect();
        let mut kept = Vec::with_capacity(self.nodes.len());
        // A node comes after its inputs.
        while let Some(node) = self.nodes.pop() {
            if node.outputs.iter().any(|output| needed.contains(output)) {
                node.add_inputs(&mut needed);
                kept.push(node);
            }
        }
        kept.reverse();
        self.nodes = kept;
        self.tensors.retain(|tensor| needed.contains(&tensor.name));
    }
}
