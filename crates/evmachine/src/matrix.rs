//! Dense matrices: products, and the Cholesky factor.

mod cholesky;
mod product;

pub(crate) use cholesky::{factor, inverse_transposed};
pub(crate) use product::{COLUMNS, Factor, ROWS, Scalar, add_product};
