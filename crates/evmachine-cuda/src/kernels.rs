//! The kernels: their sources, and what each takes, by name and type. A test compares the two.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule, DriverError, LaunchArgs, PushKernelArg};

use crate::address::Address;

/// The sources, one noun a file, compiled for the device when it is opened.
pub(crate) const SOURCES: [&str; 10] = [
    include_str!("../kernels/prelude.cu"),
    include_str!("../kernels/ranks.cu"),
    include_str!("../kernels/select.cu"),
    include_str!("../kernels/screen.cu"),
    include_str!("../kernels/weibull.cu"),
    include_str!("../kernels/cover.cu"),
    include_str!("../kernels/support.cu"),
    include_str!("../kernels/whitening.cu"),
    include_str!("../kernels/smoothing.cu"),
    include_str!("../kernels/probe.cu"),
];

/// A kernel with its arguments.
pub(crate) trait Kernel {
    /// What is launched.
    fn function(kernels: &Kernels) -> &CudaFunction;

    /// Appends the arguments in the order in which the kernel takes them.
    fn push<'a>(&'a self, arguments: &mut LaunchArgs<'a>);
}

/// What a kernel takes as an argument.
trait Parameter {
    fn push<'a>(&'a self, arguments: &mut LaunchArgs<'a>);
}

impl<T> Parameter for Address<T> {
    fn push<'a>(&'a self, arguments: &mut LaunchArgs<'a>) {
        arguments.arg(self.as_number());
    }
}

macro_rules! numbers {
    ($($type:ty),+) => {
        $(impl Parameter for $type {
            fn push<'a>(&'a self, arguments: &mut LaunchArgs<'a>) {
                arguments.arg(self);
            }
        })+
    };
}

numbers!(u32, u64, f32, f64);

/// Declares each kernel once: the type of its arguments, its name in the sources, and its parameters in their order there.
macro_rules! kernels {
    ($($(#[$doc:meta])* $type:ident = $name:ident { $($field:ident: $of:ty),+ $(,)? })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy)]
            pub(crate) struct $type {
                $(pub(crate) $field: $of,)+
            }

            impl Kernel for $type {
                fn function(kernels: &Kernels) -> &CudaFunction {
                    &kernels.$name
                }

                fn push<'a>(&'a self, arguments: &mut LaunchArgs<'a>) {
                    $(Parameter::push(&self.$field, arguments);)+
                }
            }
        )+

        /// The kernels as they were compiled for a device, by name.
        pub(crate) struct Kernels {
            $($name: CudaFunction,)+
        }

        impl Kernels {
            pub(crate) fn load(module: &Arc<CudaModule>) -> Result<Self, DriverError> {
                Ok(Self { $($name: module.load_function(stringify!($name))?,)+ })
            }
        }

        /// The declarations as the sources would write them, without `const`: names, and types and names of parameters.
        #[cfg(test)]
        fn declared() -> Vec<(String, Vec<String>)> {
            use tests::Written;
            vec![$((
                stringify!($name).to_owned(),
                vec![$(format!("{} {}", <$of>::written(), stringify!($field)),)+],
            ),)+]
        }
    };
}

kernels! {
    /// The square of each row's length; a warp a row.
    Squares = squares { rows: Address<f32>, count: u32, dimensions: u32, out: Address<f32> }

    /// A tile of the square matrix of ranks, and its mirror image; blocks of 32 x 8 threads take 32 x 32 values.
    Mirror = mirror {
        matrix: Address<f32>,
        stride: u64,
        first_row: u32,
        first_column: u32,
        rows: u32,
        columns: u32,
        kind: u32,
        points: Address<f32>,
        lengths: Address<f32>,
        classes: Address<u32>,
        dimensions: u32,
    }

    /// Ranks of some rows with some columns, in place; classes and bounds may be none.
    Stripe = stripe {
        tile: Address<f32>,
        stride: u64,
        columns: u32,
        rows: u32,
        kind: u32,
        row_points: Address<f32>,
        row_lengths: Address<f32>,
        row_classes: Address<u32>,
        bounds: Address<f32>,
        ranks_are_squares: u32,
        column_points: Address<f32>,
        column_lengths: Address<f32>,
        column_classes: Address<u32>,
        dimensions: u32,
    }

    /// Sums of squared or absolute differences of rows and columns; blocks of 16 x 16 threads take 64 x 64 pairs.
    Differences = differences {
        rows: Address<f32>,
        row_count: u32,
        columns: Address<f32>,
        column_count: u32,
        dimensions: u32,
        absolute: u32,
        out: Address<f32>,
        stride: u64,
    }

    /// The smallest ranks of each row, a block, and the largest of these; where tails are none, that one alone.
    SelectSmallest = select_smallest {
        values: Address<f32>,
        stride: u64,
        columns: u32,
        wanted: Address<u32>,
        ranks_are_squares: u32,
        tails: Address<f32>,
        tail_stride: u64,
        counts: Address<u32>,
        largest: Address<f32>,
    }

    /// The vectors at every `step`-th place, a block each.
    Sample = sample {
        points: Address<f32>,
        lengths: Address<f32>,
        classes: Address<u32>,
        step: u32,
        dimensions: u32,
        out: Address<f32>,
        out_lengths: Address<f32>,
        out_classes: Address<u32>,
    }

    /// Rough products of a tile to their least ranks, in place.
    LeastRanks = least_ranks {
        tile: Address<f32>,
        columns: u32,
        rows: u32,
        kind: u32,
        error: f32,
        row_lengths: Address<f32>,
        row_classes: Address<u32>,
        column_lengths: Address<f32>,
        column_classes: Address<u32>,
    }

    /// Moves bounds that were taken from least ranks by twice the error; a thread a row.
    Widen = widen {
        bounds: Address<f32>,
        row_lengths: Address<f32>,
        rows: u32,
        kind: u32,
        error: f32,
        length: f32,
    }

    /// Appends the columns whose least rank is within the bound of their row; a warp a row.
    Candidates = candidates {
        tile: Address<f32>,
        columns: u32,
        rows: u32,
        first_column: u32,
        kind: u32,
        error: f32,
        row_lengths: Address<f32>,
        row_classes: Address<u32>,
        bounds: Address<f32>,
        column_lengths: Address<f32>,
        column_classes: Address<u32>,
        out: Address<u32>,
        room: u32,
        found: Address<u32>,
    }

    /// Ranks of each row, a block, with its candidates; a block shares room for a vector.
    Measure = measure {
        row_points: Address<f32>,
        column_points: Address<f32>,
        dimensions: u32,
        kind: u32,
        columns: Address<u32>,
        room: u32,
        found: Address<u32>,
        out: Address<f32>,
    }

    /// By row, a thread, 1 if its tail is surely whole and 0 if not.
    IsWhole = is_whole {
        found: Address<u32>,
        room: u32,
        counts: Address<u32>,
        wanted: Address<u32>,
        largest: Address<f32>,
        bounds: Address<f32>,
        rows: u32,
        whole: Address<u32>,
    }

    /// Shapes, scales and shifts of tails, a block each in turn; `scratch` holds `stride` values for each block.
    FitTails = fit_tails {
        tails: Address<f32>,
        stride: u64,
        counts: Address<u32>,
        rows: u32,
        multiplier: f64,
        model: u32,
        fixed_shape: f64,
        shape_cap: f64,
        scratch: Address<f64>,
        shapes: Address<f64>,
        scales: Address<f64>,
        shifts: Address<f64>,
        statuses: Address<u32>,
    }

    /// What some points of a class cover, as bits, both ways; a warp takes 32 x 32 pairs. Limits may be none.
    Coverage = coverage {
        ranks: Address<f32>,
        first_row: u32,
        rows: u32,
        count: u32,
        ranks_are_squares: u32,
        radii: Address<f32>,
        limits: Address<f32>,
        covers: Address<u32>,
        covered_by: Address<u32>,
        words: u32,
    }

    /// Chooses for each class, a block, the points that cover it.
    Greedy = greedy {
        bit_offsets: Address<u64>,
        point_offsets: Address<u32>,
        covers: Address<u32>,
        covered_by: Address<u32>,
        uncovered: Address<u32>,
        gains_left: Address<u32>,
        fresh: Address<u32>,
        order: Address<u32>,
        gains: Address<u32>,
        chosen: Address<u32>,
    }

    /// For each query, a block, and each class, a warp, the `fused` largest supports.
    LargestSupports = supports {
        ranks: Address<f32>,
        vectors: u64,
        ranks_are_squares: u32,
        model: u32,
        curves: Address<Curve>,
        first: Address<u32>,
        classes: u32,
        fused: u32,
        out: Address<f64>,
        nearest: Address<f32>,
    }

    /// For each query the one largest support of all; a block takes a few queries. `values` are those of a tile that is not finished.
    BestSupport = best_support {
        values: Address<f32>,
        vectors: u64,
        ranks_are_squares: u32,
        model: u32,
        kind: u32,
        queries: Address<f32>,
        query_lengths: Address<f32>,
        points: Address<f32>,
        lengths: Address<f32>,
        dimensions: u32,
        query_count: u32,
        curves: Address<Curve>,
        rough: Address<RoughCurve>,
        support: Address<f64>,
        places: Address<u32>,
        nearest: Address<f32>,
    }

    /// Vectors less the mean of their class.
    Centre = centre {
        rows: Address<f32>,
        classes: Address<u32>,
        means: Address<f64>,
        count: u32,
        dimensions: u32,
        out: Address<f64>,
    }

    /// Values in `f64`.
    ToDouble = to_double { values: Address<f32>, count: u64, out: Address<f64> }

    /// Values in `f32`.
    ToFloat = to_float { values: Address<f64>, count: u64, out: Address<f32> }

    /// Places of the nearest columns of each row, a block, in rising order; row i is column `first + i`.
    Nearest = nearest {
        ranks: Address<f32>,
        stride: u64,
        columns: u32,
        first: u32,
        wanted: u32,
        places: Address<u32>,
    }

    /// Moves each row, a block, towards the mean of the points at its places.
    MoveRows = move_rows {
        points: Address<f32>,
        dimensions: u32,
        first: u32,
        places: Address<u32>,
        count: u32,
        fraction: f64,
        stays_if_cancelled: u32,
        out: Address<f32>,
    }

    /// The loss of each row, a warp, and residuals in place of its logits.
    Residuals = residuals {
        logits: Address<f32>,
        rows: u32,
        width: u32,
        class_count: u32,
        classes: Address<u32>,
        shares: Address<f64>,
        losses: Address<f64>,
    }

    /// Adds values to sums.
    AddTo = add_to { values: Address<f32>, count: u64, sums: Address<f64> }
}

/// Shape, inverse of the scale, and end of a curve: `Curve` of the kernels.
pub(crate) type Curve = [f64; 3];

/// A curve as `rough_support` of the kernels takes it: `float4`.
pub(crate) type RoughCurve = [f32; 4];

#[cfg(test)]
mod tests {
    use super::*;

    /// A type as the sources write it.
    pub(super) trait Written {
        fn written() -> String;
    }

    macro_rules! written {
        ($($type:ty: $written:literal),+ $(,)?) => {
            $(impl Written for $type {
                fn written() -> String {
                    $written.to_owned()
                }
            })+
        };
    }

    written!(u32: "u32", u64: "u64", f32: "float", f64: "double", Curve: "Curve", RoughCurve: "float4");

    impl<T: Written> Written for Address<T> {
        fn written() -> String {
            T::written() + " *"
        }
    }

    /// The kernels of the sources, with type and name of each parameter, without `const`.
    fn in_sources() -> Vec<(String, Vec<String>)> {
        const KERNEL: &str = "extern \"C\" __global__ void ";
        let kernels = SOURCES.iter().flat_map(|source| source.split(KERNEL).skip(1));
        kernels
            .map(|kernel| {
                let (name, rest) = kernel.split_once('(').expect("a kernel has parameters");
                let (parameters, _) = rest.split_once(')').expect("parameters end");
                (name.trim().to_owned(), parameters.split(',').map(parameter).collect())
            })
            .collect()
    }

    /// A parameter with one space between its words, the star being one.
    fn parameter(source: &str) -> String {
        let starred = source.replace('*', " * ");
        let words: Vec<&str> = starred.split_whitespace().filter(|&word| word != "const").collect();
        words.join(" ")
    }

    #[test]
    fn kernels_are_declared_as_their_sources_define_them() {
        let declared: Vec<_> = declared()
            .into_iter()
            .map(|(name, parameters)| {
                let parameters = parameters.iter().map(|one| parameter(one)).collect();
                (name, parameters)
            })
            .collect();
        let (mut ours, mut theirs): (Vec<(String, Vec<String>)>, _) = (declared, in_sources());
        ours.sort();
        theirs.sort();
        let names = |kernels: &[(String, Vec<String>)]| -> Vec<String> {
            kernels.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&ours), names(&theirs));
        for ((name, ours), (_, theirs)) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs, "parameters of {name}, as declared and in the sources");
        }
    }

    #[test]
    fn a_parameter_is_read_as_it_is_written() {
        assert_eq!(parameter("\n    const float *row_points"), "float * row_points");
        assert_eq!(parameter(&format!("{} row_points", Address::<f32>::written())), "float * row_points");
        assert_eq!(parameter("u32 rows"), "u32 rows");
    }
}
