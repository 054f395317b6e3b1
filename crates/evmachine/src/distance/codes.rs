//! Lower bounds of Euclidean distances, from vectors rounded to a byte for each dimension.
//!
//! With `a'` and `b'` the rounded vectors, `|a - b| >= |a' - b'| - |a - a'| - |b - b'|`, and `|a' - b'|^2` is a sum of
//! products of bytes, of which an instruction takes four at a time. This tells which groups of rows have no
//! pair of interest with a panel of columns, before a distance is computed.

#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "elsewhere there are no codes"))]

use fearless_simd::Level;
use rayon::prelude::*;

use super::kernel::{GROUP, PANEL};
use crate::points::Points;

/// Codes of a word.
const WORD: usize = 4;
/// Codes go from minus this to this.
const LARGEST: f32 = 127.0;
/// Reaches beyond this are as good as infinite; sums of codes stay below it.
const EVERYWHERE: i32 = 1 << 28;
/// Points that are worth a thread, in whole groups and panels.
const SHARE: usize = 960;

/// Points in a number of steps from the middle of their range.
pub(super) struct Codes {
    /// Words of a point.
    words: usize,
    step: f64,
    /// As rows, in groups: word by word, the codes as signed bytes.
    rows: Vec<i32>,
    /// By row, `-|a'|^2 / 2 - 128 sum a'`, rounded up. The latter is what the offset of the columns adds to a product.
    row_terms: Vec<i32>,
    /// As columns, in panels: word by word, the codes plus 128 as unsigned bytes.
    columns: Vec<i32>,
    /// By column, `|b'|^2 / 2`, rounded down.
    halves: Vec<i32>,
    /// By point, `|a - a'|` in steps, and the largest of them.
    errors: Vec<f64>,
    largest_error: f64,
}

impl Codes {
    /// Codes of the points at `order`, in that order; `None` where this machine has no such instruction.
    pub(super) fn new(points: &Points<'_>, order: &[usize]) -> Option<Self> {
        let d = points.dimensions();
        if !is_available() {
            return None;
        }
        let range = |indices: &[usize]| {
            let mut row = vec![0.0; d];
            indices.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |ends, &index| {
                points.write_row(index, &mut row);
                row.iter().fold(ends, |(low, high), &value| (low.min(value), high.max(value)))
            })
        };
        let (low, high) = order
            .par_chunks(SHARE)
            .map(range)
            .reduce(|| (f32::INFINITY, f32::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let middle = f64::midpoint(f64::from(low), f64::from(high));
        let step = ((f64::from(high) - f64::from(low)) / f64::from(2.0 * LARGEST)).max(f64::MIN_POSITIVE);
        let words = d.div_ceil(WORD);
        let share = SHARE * words;
        let mut rows = vec![0; order.len().next_multiple_of(GROUP) * words];
        let mut columns = vec![0; order.len().next_multiple_of(PANEL) * words];
        let parts = rows.par_chunks_mut(share).zip(columns.par_chunks_mut(share));
        let rounded: Vec<Vec<Rounded>> = parts
            .zip(order.par_chunks(SHARE))
            .map(|((rows, columns), indices)| {
                let mut row = vec![0.0; d];
                let points_of = indices.iter().enumerate().map(|(position, &index)| {
                    points.write_row(index, &mut row);
                    let mut rounded = Rounded::default();
                    for (word, values) in row.chunks(WORD).enumerate() {
                        let [signed, unsigned] = rounded.add(values, middle, step);
                        rows[(position / GROUP * words + word) * GROUP + position % GROUP] = signed;
                        columns[(position / PANEL * words + word) * PANEL + position % PANEL] = unsigned;
                    }
                    rounded
                });
                points_of.collect()
            })
            .collect();
        let rounded = || rounded.iter().flatten();
        // Padding is out of reach of everybody.
        let padded = |values: &mut Vec<i32>, width: usize, padding: i32| {
            values.resize(order.len().next_multiple_of(width), padding);
        };
        let mut row_terms = rounded().map(|point| -(point.squares.div_euclid(2) + 128 * point.sum)).collect();
        padded(&mut row_terms, GROUP, -4 * EVERYWHERE);
        let mut halves = rounded().map(|point| point.squares.div_euclid(2)).collect();
        padded(&mut halves, PANEL, 2 * EVERYWHERE);
        // A little more than computed.
        let errors: Vec<f64> = rounded().map(|point| point.error.sqrt() * (1.0 + 1e-9) + 1e-9).collect();
        let largest_error = errors.iter().copied().fold(0.0, f64::max);
        Some(Self { words, step, rows, row_terms, columns, halves, errors, largest_error })
    }

    /// How far apart the codes of a point and another can be that are within the radius: half the square, in steps,
    /// rounded up.
    pub(super) fn reach(&self, position: usize, radius: f64) -> i32 {
        let steps = radius / self.step + self.errors[position] + self.largest_error;
        (steps * steps / 2.0).ceil().min(f64::from(EVERYWHERE)) as i32 + 2
    }

    /// For each of the groups of rows from `group` on and each of the panels from `panel` on whether it may hold a pair
    /// within the reach of one of its ends.
    pub(super) fn open(
        &self,
        (group, rows): (usize, &[i32]),
        (panel, columns): (usize, &[i32]),
        open: &mut Vec<bool>,
    ) {
        open.clear();
        open.resize(rows.len() / GROUP * (columns.len() / PANEL), true);
        let panels = panel * PANEL..panel * PANEL + columns.len();
        let groups = group * GROUP..group * GROUP + rows.len();
        let scaled = |range: &std::ops::Range<usize>| range.start * self.words..range.end * self.words;
        screen(
            Rows { words: &self.rows[scaled(&groups)], terms: &self.row_terms[groups], reaches: rows },
            Columns { words: &self.columns[scaled(&panels)], halves: &self.halves[panels], reaches: columns },
            self.words,
            open,
        );
    }
}

struct Rows<'a> {
    words: &'a [i32],
    terms: &'a [i32],
    reaches: &'a [i32],
}

struct Columns<'a> {
    words: &'a [i32],
    halves: &'a [i32],
    reaches: &'a [i32],
}

/// What rounding says of a point: in steps, sums over its dimensions.
#[derive(Default)]
struct Rounded {
    squares: i32,
    sum: i32,
    /// Squares of what was rounded off.
    error: f64,
}

impl Rounded {
    /// The codes of some dimensions, signed for rows and unsigned for columns.
    fn add(&mut self, values: &[f32], middle: f64, step: f64) -> [i32; 2] {
        let (mut signed, mut unsigned) = ([0u8; WORD], [128u8; WORD]);
        for ((signed, unsigned), &value) in signed.iter_mut().zip(&mut unsigned).zip(values) {
            let steps = (f64::from(value) - middle) / step;
            let code = steps.round().clamp(-f64::from(LARGEST), f64::from(LARGEST));
            let whole = code as i8;
            *signed = whole.cast_unsigned();
            *unsigned = (i16::from(whole) + 128) as u8;
            self.squares += i32::from(whole) * i32::from(whole);
            self.sum += i32::from(whole);
            self.error += (steps - code) * (steps - code);
        }
        [i32::from_le_bytes(signed), i32::from_le_bytes(unsigned)]
    }
}

#[cfg(target_arch = "x86_64")]
fn is_available() -> bool {
    Level::new().as_avx512().is_some()
}

#[cfg(target_arch = "x86_64")]
fn screen(rows: Rows<'_>, columns: Columns<'_>, words: usize, open: &mut [bool]) {
    if let Some(simd) = Level::new().as_avx512() {
        avx512::screen(simd, rows, columns, words, open);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn is_available() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn screen(_: Rows<'_>, _: Columns<'_>, _: usize, _: &mut [bool]) {}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi32, _mm512_cmpgt_epi32_mask, _mm512_dpbusd_epi32, _mm512_max_epi32,
        _mm512_set1_epi32, _mm512_sub_epi32,
    };

    use fearless_simd::{i32x16, kernel, prelude::*};

    use super::{Columns, GROUP, PANEL, Rows};

    const LANES: usize = 16;

    kernel!(
        /// A pair is `|a' - b'|^2 / 2 = -(term + product) + half` apart, and within reach where that is not more.
        pub(super) fn screen(
            simd: Avx512,
            rows: Rows<'_>,
            columns: Columns<'_>,
            words: usize,
            open: &mut [bool],
        ) {
            let load = |values: &[i32]| -> __m512i { i32x16::from_slice(simd, values).into() };
            let panels = columns.halves.len() / PANEL;
            for panel in 0..panels {
                let packed = &columns.words[panel * words * PANEL..(panel + 1) * words * PANEL];
                let halves = &columns.halves[panel * PANEL..(panel + 1) * PANEL];
                let halves = [load(&halves[..LANES]), load(&halves[LANES..])];
                let reaches = &columns.reaches[panel * PANEL..(panel + 1) * PANEL];
                let nearest = [
                    _mm512_sub_epi32(halves[0], load(&reaches[..LANES])),
                    _mm512_sub_epi32(halves[1], load(&reaches[LANES..])),
                ];
                let groups = rows.words.chunks_exact(words * GROUP).zip(rows.terms.chunks_exact(GROUP));
                let groups = groups.zip(rows.reaches.chunks_exact(GROUP));
                for (group, ((row_words, terms), reaches)) in groups.enumerate() {
                    let mut sums = [[_mm512_set1_epi32(0); 2]; GROUP];
                    for row in 0..GROUP {
                        sums[row] = [_mm512_set1_epi32(terms[row]); 2];
                    }
                    for (row_words, words) in row_words.chunks_exact(GROUP).zip(packed.chunks_exact(PANEL)) {
                        let columns = [load(&words[..LANES]), load(&words[LANES..])];
                        for row in 0..GROUP {
                            let word = _mm512_set1_epi32(row_words[row]);
                            for half in 0..2 {
                                sums[row][half] = _mm512_dpbusd_epi32(sums[row][half], columns[half], word);
                            }
                        }
                    }
                    let mut found = 0;
                    for half in 0..2 {
                        let mut largest = sums[0][half];
                        let mut reached = _mm512_add_epi32(largest, _mm512_set1_epi32(reaches[0]));
                        for row in 1..GROUP {
                            let sum = sums[row][half];
                            largest = _mm512_max_epi32(largest, sum);
                            let with_reach = _mm512_add_epi32(sum, _mm512_set1_epi32(reaches[row]));
                            reached = _mm512_max_epi32(reached, with_reach);
                        }
                        found |= _mm512_cmpgt_epi32_mask(largest, nearest[half]);
                        found |= _mm512_cmpgt_epi32_mask(reached, halves[half]);
                    }
                    open[group * panels + panel] = found != 0;
                }
            }
        }
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_passed_over_holds_no_pair_within_reach(
            d in 1usize..40,
            count in 1usize..100,
            seed in any::<u64>(),
            far in prop_oneof![Just(0.0f32), Just(1e3f32)],
            radius in 0.0f64..1.5,
        ) {
            let mut state = seed | 1;
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f32 / 16_777_216.0
            };
            let mut values: Vec<f32> = (0..count * d).map(|_| random() - 3.0).collect();
            values[0] += far;
            let order: Vec<usize> = (0..count).collect();
            let points = Points::ready(&values[..], d);
            let Some(codes) = Codes::new(&points, &order) else { return Ok(()) };
            // Every third point looks far, the others nowhere.
            let radii: Vec<f64> =
                (0..count).map(|i| if i % 3 == 0 { radius * (d as f64).sqrt() } else { 0.0 }).collect();
            let reaches = |width: usize| {
                let mut reaches: Vec<i32> = (0..count).map(|i| codes.reach(i, radii[i])).collect();
                reaches.resize(count.next_multiple_of(width), 0);
                reaches
            };
            let mut open = Vec::new();
            codes.open((0, &reaches(GROUP)), (0, &reaches(PANEL)), &mut open);
            let panels = count.div_ceil(PANEL);
            prop_assert_eq!(open.len(), count.div_ceil(GROUP) * panels);
            for i in 0..count {
                for j in 0..count {
                    let difference = |k: usize| f64::from(values[i * d + k]) - f64::from(values[j * d + k]);
                    let distance = (0..d).map(|k| difference(k).powi(2)).sum::<f64>().sqrt();
                    if distance <= radii[i].max(radii[j]) {
                        prop_assert!(open[i / GROUP * panels + j / PANEL], "{i} {j} {distance}");
                    }
                }
            }
        }
    }

    #[test]
    fn points_far_apart_are_passed_over() {
        let values: Vec<f32> = (0..10 * PANEL).map(|i| if i < 5 * PANEL { 0.0 } else { 1.0 }).collect();
        let order: Vec<usize> = (0..2 * PANEL).collect();
        let points = Points::ready(&values[..], 5);
        let Some(codes) = Codes::new(&points, &order) else { return };
        let mut open = Vec::new();
        let reach = codes.reach(0, 1.5);
        codes.open((0, &[reach; GROUP]), (0, &[reach; 2 * PANEL]), &mut open);
        assert_eq!(open, [true, false], "sqrt(5) apart, and 0 to its own");
    }
}
