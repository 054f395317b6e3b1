//! Pictures for an open-set classifier: plain arrays and closures in, SVG and PNG out.
//!
//! Each function takes a description of what to draw and gives a [`Picture`]:
//!
//! | function | shows |
//! |---|---|
//! | [`plane`] | classes in the plane, extreme vectors, queries, contours of the probability of inclusion |
//! | [`projection`] | a projected data set coloured by class, with unknowns |
//! | [`histograms`] | one or two distributions, such as Weibull shapes and scales |
//! | [`curves`] | lines with error bars, such as F1 against openness |
//! | [`multiples`] | the same lines in several panels, such as one for each number of known classes |
//! | [`bars`] | a few numbers in groups, such as before and after an update |
//! | [`confusion`] | which classes are taken for which |
//! | [`reliability`] | whether confidences mean what they say |
//!
//! Colours are those of Okabe and Ito, which stay apart for colour-blind readers. The key stands beside the
//! axes, never on the data. The same input always gives the same bytes. Input that cannot be drawn gives a
//! [`PlotError`]; nothing panics.
//!
//! ```no_run
//! use evmachine_plot::{Plane, PointClass, plane};
//!
//! # fn main() -> Result<(), evmachine_plot::PlotError> {
//! let psi = |points: &[[f64; 2]]| Ok(points.iter().map(|[x, y]| (-(x * x + y * y)).exp()).collect());
//! plane(&Plane {
//!     title: "One class",
//!     classes: &[PointClass { name: "cat", points: &[[0.0, 0.0], [0.5, 0.2], [-0.3, 0.4]] }],
//!     extreme_vectors: &[[0.5, 0.2]],
//!     queries: &[[1.0, 1.0]],
//!     psi: Some(&psi),
//!     ..Plane::default()
//! })?
//! .save("plane.png")
//! # }
//! ```

mod bars;
mod beside;
mod confusion;
mod contour;
mod curves;
mod error;
mod frame;
mod glyph;
mod histograms;
mod legend;
mod marker;
mod multiples;
mod palette;
mod picture;
mod plane;
mod projection;
mod range;
mod raster;
mod reliability;
mod text;

pub use bars::{BarSeries, Bars, Direction, bars};
pub use confusion::{Confusion, confusion};
pub use curves::{Curves, Series, curves};
pub use error::PlotError;
pub use glyph::png_text;
pub use histograms::{Histograms, Panel, histograms};
pub use multiples::{Multiples, multiples};
pub use picture::Picture;
pub use plane::{DEFAULT_LEVELS, Plane, Psi, plane};
pub use projection::{PointClass, Projection, projection};
pub use reliability::{Reliability, reliability};
