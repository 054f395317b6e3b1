//! The messages of ONNX that a decision needs, with their field numbers in `onnx.proto`.

use std::collections::HashSet;

use crate::wire::Message;

/// IR version 8 goes with opset 17.
const IR_VERSION: u64 = 8;
const OPSET: u64 = 17;
/// The operators of trees, and the first version of them that takes numbers of 64 bits.
const TREES: &str = "ai.onnx.ml";
const TREES_OPSET: u64 = 3;

/// Element types, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementType {
    Float = 1,
    Int64 = 7,
    String = 8,
    Bool = 9,
    Double = 11,
}

/// A constant.
#[derive(Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Data,
}

#[derive(Debug)]
pub(crate) enum Data {
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Integers(Vec<usize>),
    Bools(Vec<bool>),
    Strings(Vec<String>),
}

impl Tensor {
    fn encode(&self) -> Message {
        let mut message = Message::default();
        for &size in &self.shape {
            message.integer(1, size as u64);
        }
        let (kind, raw) = match &self.data {
            Data::Floats(values) => {
                (ElementType::Float, values.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Data::Doubles(values) => {
                (ElementType::Double, values.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Data::Integers(values) => {
                (ElementType::Int64, values.iter().flat_map(|&value| (value as u64).to_le_bytes()).collect())
            }
            Data::Bools(values) => (ElementType::Bool, values.iter().map(|&value| u8::from(value)).collect()),
            Data::Strings(_) => (ElementType::String, Vec::new()),
        };
        message.integer(2, kind as u64);
        // Strings are the one type that has no raw form.
        if let Data::Strings(values) = &self.data {
            for value in values {
                message.text(6, value);
            }
        }
        message.text(8, &self.name);
        if kind != ElementType::String {
            message.bytes(9, &raw);
        }
        message
    }
}

/// An attribute of a node. None of those needed here is negative.
#[derive(Debug)]
pub(crate) enum Attribute {
    Integer(&'static str, u64),
    Integers(&'static str, Vec<u64>),
    Text(&'static str, &'static str),
    Texts(&'static str, Vec<&'static str>),
    Tensor(&'static str, Tensor),
    Graph(&'static str, Graph),
}

impl Attribute {
    fn encode(&self) -> Message {
        const INTEGER: u64 = 2;
        const TEXT: u64 = 3;
        const TENSOR: u64 = 4;
        const GRAPH: u64 = 5;
        const INTEGERS: u64 = 7;
        const TEXTS: u64 = 8;
        let mut message = Message::default();
        let kind = match self {
            Attribute::Integer(name, value) => {
                message.text(1, name);
                message.integer(3, *value);
                INTEGER
            }
            Attribute::Integers(name, values) => {
                message.text(1, name);
                for &value in values {
                    message.integer(8, value);
                }
                INTEGERS
            }
            Attribute::Text(name, value) => {
                message.text(1, name);
                message.text(4, value);
                TEXT
            }
            Attribute::Texts(name, values) => {
                message.text(1, name);
                for value in values {
                    message.text(9, value);
                }
                TEXTS
            }
            Attribute::Tensor(name, tensor) => {
                message.text(1, name);
                message.message(5, &tensor.encode());
                TENSOR
            }
            Attribute::Graph(name, graph) => {
                message.text(1, name);
                message.message(6, &graph.encode());
                GRAPH
            }
        };
        message.integer(20, kind);
        message
    }
}

/// An operator applied to named values.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) operator: &'static str,
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) attributes: Vec<Attribute>,
}

impl Node {
    /// Adds the names of all inputs, those of a graph inside included.
    pub(crate) fn add_inputs(&self, names: &mut HashSet<String>) {
        names.extend(self.inputs.iter().cloned());
        for attribute in &self.attributes {
            if let Attribute::Graph(_, graph) = attribute {
                graph.nodes.iter().for_each(|node| node.add_inputs(names));
            }
        }
    }

    fn is_of_trees(&self) -> bool {
        self.operator.starts_with("TreeEnsemble")
    }

    fn encode(&self) -> Message {
        let mut message = Message::default();
        self.inputs.iter().for_each(|name| message.text(1, name));
        self.outputs.iter().for_each(|name| message.text(2, name));
        message.text(4, self.operator);
        self.attributes.iter().for_each(|attribute| message.message(5, &attribute.encode()));
        if self.is_of_trees() {
            message.text(7, TREES);
        }
        message
    }
}

/// An input or output: its type, and its sizes as numbers or as names of sizes that are not known beforehand.
#[derive(Debug)]
pub(crate) struct Value {
    name: String,
    kind: ElementType,
    shape: Vec<String>,
}

impl Value {
    pub(crate) fn new(name: impl Into<String>, kind: ElementType, shape: Vec<String>) -> Self {
        Self { name: name.into(), kind, shape }
    }

    fn encode(&self) -> Message {
        let mut sizes = Message::default();
        for size in &self.shape {
            let mut dimension = Message::default();
            match size.parse() {
                Ok(number) => dimension.integer(1, number),
                Err(_) => dimension.text(2, size),
            }
            sizes.message(1, &dimension);
        }
        let mut tensor = Message::default();
        tensor.integer(1, self.kind as u64);
        tensor.message(2, &sizes);
        let mut kind = Message::default();
        kind.message(1, &tensor);
        let mut message = Message::default();
        message.text(1, &self.name);
        message.message(2, &kind);
        message
    }
}

#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) name: String,
    pub(crate) inputs: Vec<Value>,
    pub(crate) outputs: Vec<Value>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) tensors: Vec<Tensor>,
}

impl Graph {
    fn encode(&self) -> Message {
        let mut message = Message::default();
        self.nodes.iter().for_each(|node| message.message(1, &node.encode()));
        message.text(2, &self.name);
        self.tensors.iter().for_each(|tensor| message.message(5, &tensor.encode()));
        self.inputs.iter().for_each(|value| message.message(11, &value.encode()));
        self.outputs.iter().for_each(|value| message.message(12, &value.encode()));
        message
    }
}

/// A whole file.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) version: &'static str,
    pub(crate) graph: Graph,
    /// Names and values for whoever reads the file.
    pub(crate) metadata: Vec<(&'static str, String)>,
}

impl Model {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut opset = Message::default();
        opset.text(1, "");
        opset.integer(2, OPSET);
        let mut message = Message::default();
        message.integer(1, IR_VERSION);
        message.text(2, "evmachine");
        message.text(3, self.version);
        message.message(7, &self.graph.encode());
        message.message(8, &opset);
        if self.graph.nodes.iter().any(Node::is_of_trees) {
            let mut opset = Message::default();
            opset.text(1, TREES);
            opset.integer(2, TREES_OPSET);
            message.message(8, &opset);
        }
        for (key, value) in &self.metadata {
            let mut entry = Message::default();
            entry.text(1, key);
            entry.text(2, value);
            message.message(14, &entry);
        }
        message.into_bytes()
    }
}
