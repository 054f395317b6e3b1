//! `exp` and `ln` over slices of `f64`, vectorised, `exp` and an estimate of `log2` in `f32`.
//!
//! Lanes are eight wide whatever the instruction set, and sums are taken lane by lane, so on one machine a result
//! depends on the values and their order alone. Machines with and without fused multiplication may differ in the
//! last bit. Relative error below 4e-16 in `f64` over the ranges stated.

use fearless_simd::{Simd, dispatch, f32x16, f64x8, prelude::*, u32x16, u64x8};

use crate::level::level;

const LANES: usize = 8;
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Added to and taken from a number below 2^51, rounds it to an integer, which then stands in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Below this, `exp` is 0 here.
const EXP_FLOOR: f64 = -708.0;

/// `exp(x)` for x in (-inf, 700]; 0 below -708.
#[inline(always)]
fn exp_lanes<S: Simd>(simd: S, x: f64x8<S>) -> f64x8<S> {
    /// 1/12! to 1/1! of Taylor's series, which ends at r^13 / 13!: |r| <= ln 2 / 2 leaves 4e-18.
    const COEFFICIENTS: [f64; 12] = [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
    ];
    let floor = f64x8::splat(simd, EXP_FLOOR);
    let vanishes = x.simd_lt(floor);
    let x = x.max(floor);
    let rounded = x.mul_add(std::f64::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN_2_HIGH, x);
    let r = n.mul_add(-LN_2_LOW, r);
    let mut series = f64x8::splat(simd, 1.0 / 6_227_020_800.0);
    for coefficient in COEFFICIENTS {
        series = series.mul_add(r, coefficient);
    }
    let series = series.mul_add(r, 1.0);
    let power = f64x8::from_bits((rounded.to_bits() + u64x8::splat(simd, 1023)) << 52);
    vanishes.select(f64x8::splat(simd, 0.0), series * power)
}

/// `ln(x)` for x = 0 and for normal, finite x > 0.
#[inline(always)]
fn ln_lanes<S: Simd>(simd: S, x: f64x8<S>) -> f64x8<S> {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    const EXPONENT: u64 = 0xfff0_0000_0000_0000;
    // Turns a small integer in the low bits into 2^52 + that integer.
    const INTEGER: u64 = 0x4330_0000_0000_0000;

    let zero = x.simd_lt(f64x8::splat(simd, f64::MIN_POSITIVE));
    let bits = x.to_bits();
    // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
    let shifted = bits + u64x8::splat(simd, ONE.wrapping_sub(SQRT_HALF));
    let mantissa =
        f64x8::from_bits(bits - (shifted & u64x8::splat(simd, EXPONENT)) + u64x8::splat(simd, ONE));
    let e =
        f64x8::from_bits((shifted >> 52) | u64x8::splat(simd, INTEGER)) - (4_503_599_627_370_496.0 + 1023.0);
    // ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let mut series = f64x8::splat(simd, 1.0 / 23.0);
    for denominator in [21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0_f64] {
        series = series.mul_add(z, 1.0 / denominator);
    }
    let twice = s + s;
    let low = (twice * z).mul_add(series, e * LN_2_LOW);
    let result = e.mul_add(LN_2_HIGH, twice + low);
    zero.select(f64x8::splat(simd, f64::NEG_INFINITY), result)
}

/// Error of [`log2_estimate`], beside the rounding of its result.
pub const LOG2_ERROR: f64 = 2e-5;

/// `log2(x)` for normal, finite x > 0, within [`LOG2_ERROR`].
#[inline(always)]
pub fn log2_estimate<S: Simd>(simd: S, x: f32x16<S>) -> f32x16<S> {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    const ONE: u32 = 0x3f80_0000;
    const EXPONENT: u32 = 0xff80_0000;
    // Turns a small integer in the low bits into 2^23 + that integer.
    const INTEGER: u32 = 0x4b00_0000;
    /// Of the powers 5 to 1 of m - 1: the polynomial of least error, 1.47e-5, over [sqrt(1/2), sqrt(2)].
    const COEFFICIENTS: [f32; 5] = [0.252_655_87, -0.394_575_13, 0.486_686_85, -0.720_241_8, 1.442_578];

    let bits = x.to_bits();
    let shifted = bits + u32x16::splat(simd, ONE - SQRT_HALF);
    let mantissa =
        f32x16::from_bits(bits - (shifted & u32x16::splat(simd, EXPONENT)) + u32x16::splat(simd, ONE));
    let e = f32x16::from_bits((shifted >> 23) | u32x16::splat(simd, INTEGER)) - (8_388_608.0 + 127.0);
    let r = mantissa - 1.0;
    let mut series = f32x16::splat(simd, COEFFICIENTS[0]);
    for coefficient in &COEFFICIENTS[1..] {
        series = series.mul_add(r, *coefficient);
    }
    series.mul_add(r, e)
}

/// Replaces each value x by `exp(x - shift)`, which is at most 1, and returns their sum. 0 below -87; relative error
/// below 3e-7. The number of values is a multiple of 16.
pub fn exp_sum(values: &mut [f32], shift: f32) -> f32 {
    dispatch!(level(), simd => exp_sum_simd(simd, values, shift))
}

#[inline(always)]
fn exp_sum_simd<S: Simd>(simd: S, values: &mut [f32], shift: f32) -> f32 {
    /// Added to and taken from a number below 2^22, rounds it to an integer, which then stands in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    /// 1/6! to 1/1! of Taylor's series, which ends at r^7 / 7!: |r| <= ln 2 / 2 leaves 6e-9.
    const COEFFICIENTS: [f32; 6] = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0];
    const FLOOR: f32 = -87.0;

    let floor = f32x16::splat(simd, FLOOR);
    let mut sums = f32x16::splat(simd, 0.0);
    for chunk in values.chunks_exact_mut(16) {
        let x = f32x16::from_slice(simd, chunk) - shift;
        let vanishes = x.simd_lt(floor);
        let x = x.max(floor);
        let rounded = x.mul_add(std::f32::consts::LOG2_E, ROUND);
        let n = rounded - ROUND;
        let r = n.mul_add(-LN_2_HIGH, x);
        let r = n.mul_add(-LN_2_LOW, r);
        let mut series = f32x16::splat(simd, 1.0 / 5_040.0);
        for coefficient in COEFFICIENTS {
            series = series.mul_add(r, coefficient);
        }
        let series = series.mul_add(r, 1.0);
        let power = f32x16::from_bits((rounded.to_bits() + u32x16::splat(simd, 127)) << 23);
        let value = vanishes.select(f32x16::splat(simd, 0.0), series * power);
        value.store_slice(chunk);
        sums += value;
    }
    let mut lanes = [0.0; 16];
    sums.store_slice(&mut lanes);
    lanes.iter().sum()
}

/// Replaces each value by its natural logarithm; 0 becomes -inf.
pub(crate) fn ln(values: &mut [f64]) {
    dispatch!(level(), simd => ln_simd(simd, values));
}

#[inline(always)]
fn ln_simd<S: Simd>(simd: S, values: &mut [f64]) {
    let mut chunks = values.chunks_exact_mut(LANES);
    for chunk in &mut chunks {
        ln_lanes(simd, f64x8::from_slice(simd, chunk)).store_slice(chunk);
    }
    let rest = chunks.into_remainder();
    if !rest.is_empty() {
        let mut padded = [1.0; LANES];
        padded[..rest.len()].copy_from_slice(rest);
        ln_lanes(simd, f64x8::from_slice(simd, &padded)).store_slice(&mut padded);
        rest.copy_from_slice(&padded[..rest.len()]);
    }
}

/// Mean and variance.
pub(crate) fn moments(t: &[f64]) -> [f64; 2] {
    let n = t.len() as f64;
    let mean = dispatch!(level(), simd => sums(simd, t, 0.0))[0] / n;
    [mean, dispatch!(level(), simd => sums(simd, t, mean))[1] / n]
}

/// Sums of `t - origin` and of its square.
#[inline(always)]
fn sums<S: Simd>(simd: S, t: &[f64], origin: f64) -> [f64; 2] {
    let mut sums = [f64x8::splat(simd, 0.0); 2];
    let chunks = t.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        let difference = f64x8::from_slice(simd, chunk) - origin;
        sums = [sums[0] + difference, difference.mul_add(difference, sums[1])];
    }
    let rest = rest.iter().map(|t| t - origin);
    let rest = rest.fold([0.0, 0.0], |[first, second], t| [first + t, second + t * t]);
    [sums[0].reduce_sum() + rest[0], sums[1].reduce_sum() + rest[1]]
}

/// `sum e^(beta t)`, `sum t e^(beta t)` and `sum t^2 e^(beta t)` over t, all of which are <= 0.
pub(crate) fn exponential_sums(t: &[f64], beta: f64) -> [f64; 3] {
    dispatch!(level(), simd => exponential_sums_simd(simd, t, beta))
}

#[inline(always)]
fn exponential_sums_simd<S: Simd>(simd: S, t: &[f64], beta: f64) -> [f64; 3] {
    /// So far down that its exponential is 0, with a square that is still finite.
    const NOTHING: f64 = -1e150;

    let beta = f64x8::splat(simd, beta);
    let mut sums = [f64x8::splat(simd, 0.0); 3];
    let chunks = t.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        sums = add_exponentials(simd, sums, f64x8::from_slice(simd, chunk), beta);
    }
    if !rest.is_empty() {
        let mut padded = [NOTHING; LANES];
        padded[..rest.len()].copy_from_slice(rest);
        sums = add_exponentials(simd, sums, f64x8::from_slice(simd, &padded), beta);
    }
    [sums[0].reduce_sum(), sums[1].reduce_sum(), sums[2].reduce_sum()]
}

#[inline(always)]
fn add_exponentials<S: Simd>(simd: S, sums: [f64x8<S>; 3], t: f64x8<S>, beta: f64x8<S>) -> [f64x8<S>; 3] {
    let power = exp_lanes(simd, t * beta);
    let first = t * power;
    [sums[0] + power, sums[1] + first, t.mul_add(first, sums[2])]
}

/// A number that looks drawn (the finaliser of `SplitMix64`).
pub fn spread(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ln_agrees_with_the_standard_library(values in prop::collection::vec(1e-300f64..1e300, 1..40), near in 0.5f64..2.0) {
            let mut values = values;
            values.push(near);
            let mut found = values.clone();
            ln(&mut found);
            for (found, value) in found.iter().zip(&values) {
                prop_assert!((found - value.ln()).abs() <= 4e-16 * value.ln().abs() + 1e-17, "ln {value} = {found}");
            }
        }

        #[test]
        fn sums_agree_with_the_standard_library(t in prop::collection::vec(-50f64..0.0, 1..40), beta in 0.001f64..200.0) {
            let found = exponential_sums(&t, beta);
            for (power, found) in (0..).zip(found) {
                let expected: f64 = t.iter().map(|t| t.powi(power) * (beta * t).exp()).sum();
                let size: f64 = t.iter().map(|t| (t.powi(power) * (beta * t).exp()).abs()).sum();
                prop_assert!((found - expected).abs() <= 1e-13 * size + 1e-250, "{found} {expected}");
            }
        }
    }

    #[test]
    fn the_estimate_stays_within_its_error() {
        #[inline(always)]
        fn estimate<S: Simd>(simd: S, values: &mut [f32]) {
            for chunk in values.chunks_exact_mut(16) {
                log2_estimate(simd, f32x16::from_slice(simd, chunk)).store_slice(chunk);
            }
        }
        // Steps that meet every exponent and many mantissas.
        let bits = (f32::MIN_POSITIVE.to_bits()..f32::INFINITY.to_bits()).step_by(9_973);
        let values: Vec<f32> = bits.map(f32::from_bits).collect();
        let values = &values[..values.len() / 16 * 16];
        let mut found = values.to_vec();
        dispatch!(level(), simd => estimate(simd, &mut found));
        let errors = found.iter().zip(values).map(|(&found, &value)| {
            let expected = f64::from(value).log2();
            (f64::from(found) - expected).abs() - expected.abs() / 8_388_608.0
        });
        let worst = errors.fold(0.0, f64::max);
        assert!((1e-5..LOG2_ERROR).contains(&worst), "{worst}");
    }

    #[test]
    fn the_edges() {
        let mut values = [0.0, 1.0, f64::MIN_POSITIVE];
        ln(&mut values);
        assert_eq!(values, [f64::NEG_INFINITY, 0.0, f64::MIN_POSITIVE.ln()]);
        assert_eq!(exponential_sums(&[0.0], 3.0), [1.0, 0.0, 0.0]);
        assert_eq!(exponential_sums(&[-1e9], 1e9)[0], 0.0);
    }

    #[test]
    fn powers_in_single_precision_agree_with_the_standard_library() {
        let mut values: Vec<f32> = (0..1600).map(|i| -(i as f32) * 0.06).collect();
        let expected: Vec<f64> = values.iter().map(|&x| f64::from(x - 0.25).exp()).collect();
        let sum = exp_sum(&mut values, 0.25);
        for (&found, &expected) in values.iter().zip(&expected) {
            let bound = if expected < 1.7e-38 { 2e-38 } else { 3e-7 * expected };
            assert!((f64::from(found) - expected).abs() <= bound, "{found} {expected}");
        }
        assert!((f64::from(sum) / expected.iter().sum::<f64>() - 1.0).abs() < 1e-6);
    }
}
