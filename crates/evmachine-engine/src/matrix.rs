//! Dense matrices: products, and the Cholesky factor.

mod cholesky;
mod product;

pub use cholesky::{factor, inverse_transposed};
pub use product::{COLUMNS, Factor, ROWS, Scalar, add_product, add_row};
