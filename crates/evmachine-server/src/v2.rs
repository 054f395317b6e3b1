//! `/v2`: the Open Inference Protocol, in JSON and with binary tensors, for clients that others wrote.

pub(crate) mod infer;
pub(crate) mod metadata;
pub(crate) mod tensor;
