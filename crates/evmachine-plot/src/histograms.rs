//! Distributions side by side, such as the shapes and the scales of a model's Weibulls.

use kuva::plot::Histogram;
use kuva::render::render::{Primitive, Scene};

use crate::beside::beside;
use crate::error::{PlotError, at_most, drawable, not_empty};
use crate::frame::{Axis, Frame, Ticks};
use crate::legend::Legend;
use crate::palette::{WHITE, class_colour};
use crate::picture::Picture;
use crate::range::Range;

/// More bins than this are noise at the size of a panel.
const MOST_BINS: usize = 60;
const FEWEST_BINS: usize = 6;
/// The share of the values, from the lowest, that is always shown.
const SHOWN: f64 = 0.995;
/// Of fewer values than this, each is worth showing.
const FEWEST_CUT: usize = 10;

/// One distribution.
#[derive(Debug, Clone, Copy, Default)]
pub struct Panel<'a> {
    /// What the values are; the label of the horizontal axis.
    pub label: &'a str,
    /// The values, in any order.
    pub values: &'a [f64],
}

/// What [`histograms`] draws.
#[derive(Debug, Clone, Copy, Default)]
pub struct Histograms<'a> {
    /// The title above all panels; none where empty.
    pub title: &'a str,
    /// One or two distributions.
    pub panels: &'a [Panel<'a>],
}

/// Draws one or two histograms side by side, with bins after Freedman and Diaconis.
///
/// Where a few values lie so far up that they would squeeze the others into one bin, the axis ends at the
/// 99.5th percentile, and its label says how many values lie above.
pub fn histograms(histograms: &Histograms<'_>) -> Result<Picture, PlotError> {
    not_empty("the list of panels", histograms.panels)?;
    at_most("panels", 2, histograms.panels.len())?;
    let mut scenes = Vec::new();
    for (index, panel) in histograms.panels.iter().enumerate() {
        let what = format!("the panel {}", panel.label);
        not_empty(&what, panel.values)?;
        drawable(&what, panel.values.iter().copied())?;
        scenes.push(draw(panel, index, histograms.panels.len()));
    }
    Ok(Picture::new(beside(scenes, histograms.title)))
}

/// Counts of equally wide bins.
#[derive(Debug)]
struct Bins {
    range: Range,
    counts: Vec<usize>,
    /// Values above the range.
    hidden: usize,
}

impl Bins {
    fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rank = |share: f64| sorted[(share * (sorted.len() - 1) as f64).floor() as usize];
        let (lowest, highest, percentile) = (sorted[0], rank(1.0), rank(SHOWN));
        let crowded = sorted.len() >= FEWEST_CUT && percentile > lowest;
        let squeezed = crowded && highest - lowest > 2.0 * (percentile - lowest);
        let limit = if squeezed { percentile } else { highest };
        let shown = &sorted[..sorted.partition_point(|&value| value <= limit)];

        let range = Range::covering([lowest, limit]);
        // All values equal: one bin around them, with room at its sides.
        let bins = if lowest < limit { bin_count(&range, rank(0.75) - rank(0.25), shown.len()) } else { 1 };
        let width = (range.high - range.low) / bins as f64;
        let mut counts = vec![0; bins];
        for value in shown {
            counts[(((value - range.low) / width) as usize).min(bins - 1)] += 1;
        }
        Self { range, counts, hidden: sorted.len() - shown.len() }
    }

    fn edges(&self) -> Vec<f64> {
        let bins = self.counts.len();
        let width = self.range.high - self.range.low;
        (0..=bins).map(|edge| self.range.low + width * edge as f64 / bins as f64).collect()
    }
}

/// Freedman and Diaconis, or Sturges where more than half of the values are equal.
fn bin_count(range: &Range, interquartile: f64, values: usize) -> usize {
    let count = values as f64;
    let width = 2.0 * interquartile / count.cbrt();
    let bins = if width > 0.0 { (range.high - range.low) / width } else { count.log2() + 1.0 };
    (bins.ceil() as usize).clamp(FEWEST_BINS, MOST_BINS)
}

fn draw(panel: &Panel<'_>, index: usize, panels: usize) -> Scene {
    let bins = Bins::of(panel.values);
    let label = if bins.hidden > 0 {
        let limit = significant(bins.range.high);
        format!("{} ({} of {} above {limit} not shown)", panel.label, bins.hidden, panel.values.len())
    } else {
        panel.label.to_owned()
    };
    let highest = bins.counts.iter().copied().max().unwrap_or(1) as f64;
    // A lone bin stands in the middle third.
    let padding = if bins.counts.len() == 1 { 1.0 } else { 0.02 };
    let horizontal = Axis { label, range: bins.range.padded(padding), ticks: Ticks::Linear };
    let vertical = Axis {
        label: "count".to_owned(),
        range: Range { low: 0.0, high: highest * 1.06 },
        ticks: Ticks::Counts,
    };
    let mut frame = Frame::new("", horizontal, vertical, Legend::default());
    frame.inside = (if panels == 1 { 560.0 } else { 370.0 }, 320.0);

    let geometry = frame.geometry();
    let edges = bins.edges();
    // White edges keep neighbouring bars apart.
    let filled = edges.windows(2).zip(&bins.counts).filter(|&(_, &count)| count > 0);
    let marks = filled
        .flat_map(|(sides, &count)| [(sides[0], count), (sides[1], count)])
        .map(|(side, count)| {
            let ((x1, y1), (x2, y2)) = (geometry.place(side, 0.0), geometry.place(side, count as f64));
            Primitive::Line {
                x1,
                y1,
                x2,
                y2,
                stroke: WHITE.into(),
                stroke_width: 0.8,
                stroke_dasharray: None,
            }
        })
        .collect();
    let counts = bins.counts.iter().map(|&count| count as f64).collect();
    let plot = Histogram::from_bins(edges, counts).with_color(class_colour(index).hex());
    frame.scene(vec![plot.into()], marks)
}

/// Three significant digits, without closing zeros behind the point.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..6.0).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let decimals = (2.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_counted_or_reported() {
        let mut values: Vec<f64> = (0..1000).map(|value| f64::from(value % 100)).collect();
        let bins = Bins::of(&values);
        assert_eq!((bins.hidden, bins.counts.iter().sum::<usize>()), (0, 1000));
        values.extend([1e6, 2e6]);
        let bins = Bins::of(&values);
        assert_eq!((bins.hidden, bins.counts.iter().sum::<usize>()), (2, 1000));
        assert!(bins.range.high < 101.0);
    }

    #[test]
    fn equal_values_make_one_bin() {
        let bins = Bins::of(&[2.5; 30]);
        assert_eq!(bins.counts, [30]);
        assert!(bins.range.low < 2.5 && bins.range.high > 2.5);
    }

    #[test]
    fn a_spike_with_tails_keeps_several_bins() {
        let mut values = vec![1.0; 100];
        values.extend([0.0, 2.0, 0.5, 1.5]);
        let bins = Bins::of(&values);
        assert!((FEWEST_BINS..=MOST_BINS).contains(&bins.counts.len()));
        assert_eq!(bins.counts.iter().sum::<usize>() + bins.hidden, 104);
    }

    #[test]
    fn limits_are_short() {
        assert_eq!(significant(12.345), "12.3");
        assert_eq!(significant(1234.5), "1234");
        assert_eq!(significant(16.0), "16");
        assert_eq!(significant(300.0), "300");
        assert_eq!(significant(0.012_345), "0.0123");
        assert_eq!(significant(1.5e9), "1.50e9");
    }
}
