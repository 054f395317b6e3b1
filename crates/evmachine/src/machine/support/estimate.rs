//! Supports bounded from both sides by straight lines, in `f32`.

use fearless_simd::{Simd, f32x16, prelude::*};

use crate::params::TailModel;
use evmachine_engine::math;
use evmachine_engine::psi::curve::{Curve, Curves};

pub(super) const LANES: usize = 16;
/// Relative error of a line's two terms: eight roundings.
const ROUNDING: f32 = 1.0 / 2_097_152.0;
/// More than any base-2 logarithm of an `f32`, and than its exponent with the bias.
const LOGARITHM: f64 = 256.0;
/// Beyond this a line may overflow; such a curve is always evaluated.
const LARGEST: f64 = 1e18;
/// From so many dimensions on, distances differ so little among each other that a finer logarithm pays.
const FINE: usize = 64;

/// What the lines are drawn over.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Abscissa {
    /// The base-2 logarithm of the value.
    Logarithm,
    /// The bits of the value as an integer: 2^23 times a logarithm that is straight between powers of 2.
    Bits,
    /// The value.
    Value,
    /// The square root of the value.
    SquareRoot,
}

/// An [`Abscissa`], computed.
trait Across {
    /// Whether zero is beyond it.
    const LOGARITHMIC: bool;
    fn of<S: Simd>(simd: S, value: f32x16<S>) -> f32x16<S>;
}

struct Logarithm;
struct Bits;
struct Value;
struct SquareRoot;

impl Across for Logarithm {
    const LOGARITHMIC: bool = true;
    #[inline(always)]
    fn of<S: Simd>(simd: S, value: f32x16<S>) -> f32x16<S> {
        math::log2_estimate(simd, value)
    }
}

impl Across for Bits {
    const LOGARITHMIC: bool = true;
    #[inline(always)]
    fn of<S: Simd>(_: S, value: f32x16<S>) -> f32x16<S> {
        value.to_bits().to_float()
    }
}

impl Across for Value {
    const LOGARITHMIC: bool = false;
    #[inline(always)]
    fn of<S: Simd>(_: S, value: f32x16<S>) -> f32x16<S> {
        value
    }
}

impl Across for SquareRoot {
    const LOGARITHMIC: bool = false;
    #[inline(always)]
    fn of<S: Simd>(_: S, value: f32x16<S>) -> f32x16<S> {
        value.sqrt()
    }
}

/// For each curve a line: its support is `intercept - slope x`, within `slack`; over distances and their roots, within
/// `slack + ROUNDING slope x`.
#[derive(Debug)]
pub(crate) struct Estimates {
    abscissa: Abscissa,
    intercepts: Vec<f32>,
    slopes: Vec<f32>,
    slacks: Vec<f32>,
}

impl Estimates {
    /// Lines over distances in so many dimensions, or over squares of distances.
    pub(crate) fn new(curves: &Curves, dimensions: usize, squared: bool) -> Self {
        let abscissa = match (curves.model(), squared) {
            (TailModel::Gumbel, true) => Abscissa::SquareRoot,
            (TailModel::Gumbel, false) => Abscissa::Value,
            _ if dimensions < FINE => Abscissa::Bits,
            _ => Abscissa::Logarithm,
        };
        let count = curves.len();
        // Room to load whole vectors up to the last curve.
        let padded = || vec![0.0; count + LANES];
        let (mut intercepts, mut slopes, mut slacks) = (padded(), padded(), padded());
        for i in 0..count {
            (intercepts[i], slopes[i], slacks[i]) = line(curves.model(), curves.get(i), abscissa, squared);
        }
        Self { abscissa, intercepts, slopes, slacks }
    }

    /// Bounds of the supports of the curves from `first` on at the given values.
    #[inline(always)]
    pub(super) fn bounds<S: Simd>(
        &self,
        simd: S,
        first: usize,
        values: &[f32],
        lower: &mut [f32],
        upper: &mut [f32],
    ) {
        match self.abscissa {
            Abscissa::Logarithm => self.bounds_over::<_, Logarithm>(simd, first, values, lower, upper),
            Abscissa::Bits => self.bounds_over::<_, Bits>(simd, first, values, lower, upper),
            Abscissa::Value => self.bounds_over::<_, Value>(simd, first, values, lower, upper),
            Abscissa::SquareRoot => self.bounds_over::<_, SquareRoot>(simd, first, values, lower, upper),
        }
    }

    /// Calls `each` with the position and the upper bound of every curve, from `first` on, that may have the largest
    /// support of all at the given values; some are called before a later one is found to be above them. Returns the
    /// largest lower bound, `bound` at least, below which nothing is called.
    #[inline(always)]
    pub(super) fn largest<S: Simd>(
        &self,
        simd: S,
        first: usize,
        values: &[f32],
        bound: f32,
        each: impl FnMut(usize, f32),
    ) -> f32 {
        match self.abscissa {
            Abscissa::Logarithm => self.largest_over::<_, Logarithm>(simd, first, values, bound, each),
            Abscissa::Bits => self.largest_over::<_, Bits>(simd, first, values, bound, each),
            Abscissa::Value => self.largest_over::<_, Value>(simd, first, values, bound, each),
            Abscissa::SquareRoot => self.largest_over::<_, SquareRoot>(simd, first, values, bound, each),
        }
    }

    #[inline(always)]
    fn largest_over<S: Simd, X: Across>(
        &self,
        simd: S,
        first: usize,
        values: &[f32],
        mut bound: f32,
        mut each: impl FnMut(usize, f32),
    ) -> f32 {
        let mut least = f32x16::splat(simd, f32::INFINITY);
        let padded = Filled::new(values);
        for (number, (part, [slope, intercept, slack])) in padded.parts().zip(self.lines(first)).enumerate() {
            let value = f32x16::from_slice(simd, part);
            let (line, slack) = line_at::<_, X>(simd, value, [slope, intercept, slack]);
            if X::LOGARITHMIC {
                least = least.min(value);
            }
            let upper = line + slack;
            let mut bits = !upper.simd_lt(f32x16::splat(simd, bound)).to_bitmask() & 0xffff;
            if bits != 0 {
                let (mut uppers, mut lowers) = ([0.0; LANES], [0.0; LANES]);
                upper.store_slice(&mut uppers);
                (line - slack).store_slice(&mut lowers);
                while bits != 0 {
                    let lane = bits.trailing_zeros() as usize;
                    let position = number * LANES + lane;
                    if position < values.len() {
                        each(position, uppers[lane]);
                        bound = bound.max(lowers[lane]);
                    }
                    bits &= bits - 1;
                }
            }
        }
        if X::LOGARITHMIC && least.reduce_min() < f32::MIN_POSITIVE {
            // What was estimated for such values lies below their support, so the bound holds.
            for (position, _) in values.iter().enumerate().filter(|(_, value)| **value < f32::MIN_POSITIVE) {
                each(position, f32::INFINITY);
            }
        }
        bound
    }

    /// Slopes, intercepts and slacks from a curve on, a vector of each at a time.
    #[inline(always)]
    fn lines(&self, first: usize) -> impl Iterator<Item = [&[f32]; 3]> {
        let slopes = self.slopes[first..].chunks_exact(LANES);
        let intercepts = self.intercepts[first..].chunks_exact(LANES);
        let slacks = self.slacks[first..].chunks_exact(LANES);
        slopes.zip(intercepts).zip(slacks).map(|((slope, intercept), slack)| [slope, intercept, slack])
    }

    #[inline(always)]
    fn bounds_over<S: Simd, X: Across>(
        &self,
        simd: S,
        first: usize,
        values: &[f32],
        lower: &mut [f32],
        upper: &mut [f32],
    ) {
        let mut least = f32x16::splat(simd, f32::INFINITY);
        let bounds = lower.chunks_exact_mut(LANES).zip(upper.chunks_exact_mut(LANES));
        let padded = Filled::new(values);
        for ((part, lines), (lower, upper)) in padded.parts().zip(self.lines(first)).zip(bounds) {
            let value = f32x16::from_slice(simd, part);
            let (line, slack) = line_at::<_, X>(simd, value, lines);
            if X::LOGARITHMIC {
                least = least.min(value);
            }
            (line - slack).store_slice(lower);
            (line + slack).store_slice(upper);
        }
        if X::LOGARITHMIC && least.reduce_min() < f32::MIN_POSITIVE {
            // Zero has no logarithm, and the estimate takes no subnormal number.
            for (i, _) in values.iter().enumerate().filter(|(_, value)| **value < f32::MIN_POSITIVE) {
                (lower[i], upper[i]) = (f32::NEG_INFINITY, f32::INFINITY);
            }
        }
    }
}

/// The line of each curve at its value, and its slack there.
#[inline(always)]
fn line_at<S: Simd, X: Across>(
    simd: S,
    value: f32x16<S>,
    [slope, intercept, slack]: [&[f32]; 3],
) -> (f32x16<S>, f32x16<S>) {
    let fall = f32x16::from_slice(simd, slope) * X::of(simd, value);
    let line = f32x16::from_slice(simd, intercept) - fall;
    let slack = f32x16::from_slice(simd, slack);
    (line, if X::LOGARITHMIC { slack } else { fall.mul_add(ROUNDING, slack) })
}

/// Values as whole vectors, the last filled up with ones.
struct Filled<'a> {
    whole: &'a [f32],
    rest: [f32; LANES],
    any: bool,
}

impl<'a> Filled<'a> {
    #[inline(always)]
    fn new(values: &'a [f32]) -> Self {
        let (whole, last) = values.split_at(values.len() / LANES * LANES);
        let mut rest = [1.0; LANES];
        rest[..last.len()].copy_from_slice(last);
        Self { whole, rest, any: !last.is_empty() }
    }

    #[inline(always)]
    fn parts(&self) -> impl Iterator<Item = &[f32]> {
        let rest = if self.any { &self.rest[..] } else { &[] };
        self.whole.chunks_exact(LANES).chain(rest.chunks_exact(LANES))
    }
}

/// Intercept, slope and slack of one curve.
fn line(model: TailModel, curve: &Curve, abscissa: Abscissa, squared: bool) -> (f32, f32, f32) {
    const ALWAYS: (f32, f32, f32) = (0.0, 0.0, f32::INFINITY);
    /// `log2(1 + f) - f` lies between 0 and twice this.
    const STRAIGHT: f64 = 0.043_036;
    let rounding = f64::from(ROUNDING);
    let (intercept, slope, error) = match model {
        TailModel::Weibull => {
            let slope = curve.shape() * std::f64::consts::LN_2 / if squared { 2.0 } else { 1.0 };
            let intercept = -curve.shape() * curve.inverse_scale().ln();
            if abscissa == Abscissa::Bits {
                let error = slope * (STRAIGHT + rounding * LOGARITHM);
                (intercept + slope * (127.0 - STRAIGHT), slope / 8_388_608.0, error)
            } else {
                (intercept, slope, slope * (math::LOG2_ERROR + rounding * LOGARITHM))
            }
        }
        TailModel::Gumbel => (curve.shape(), curve.shape() * curve.inverse_scale(), 0.0),
        // Near the distance at which it is 0, a curve is steeper than any line.
        TailModel::Libmr => return ALWAYS,
    };
    if !(intercept.abs() < LARGEST && slope < LARGEST) {
        return ALWAYS;
    }
    (intercept as f32, slope as f32, (error + rounding * intercept.abs()) as f32)
}
