//! Whether confidences mean what they say.

use kuva::plot::Histogram;
use kuva::render::render::{Primitive, Scene};

use crate::beside::beside;
use crate::error::{PlotError, at_most, not_empty, same_length, within};
use crate::frame::{Axis, Frame, Geometry, Ticks};
use crate::legend::{Legend, Symbol};
use crate::marker::{Marker, Shape};
use crate::palette::{GREY, INK, Shade, WHITE, class_colour};
use crate::picture::Picture;
use crate::range::Range;

/// More bins than this hold too few answers to say anything, and merge into a band.
const MOST_BINS: usize = 50;

/// What [`reliability`] draws. The bins divide [0, 1] into equal parts, lowest confidence first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reliability<'a> {
    /// The title; none where empty.
    pub title: &'a str,
    /// The mean confidence of the answers of each bin, at most 50 bins.
    pub confidence: &'a [f64],
    /// The rate of right answers in each bin.
    pub accuracy: &'a [f64],
    /// How many answers each bin holds, or the sum of their weights. A bin of 0 is not drawn, and its confidence and
    /// accuracy may be any number in 0 to 1.
    pub weights: &'a [f64],
}

/// Draws the accuracy of each bin against its mean confidence, with the diagonal on which both agree, and beside it the
/// share of answers in each bin. Above the first stands the expected calibration error: the mean over all answers of
/// how far the accuracy of their bin is from its confidence.
///
/// ```
/// use evmachine_plot::{Reliability, reliability};
///
/// # fn main() -> Result<(), evmachine_plot::PlotError> {
/// let picture = reliability(&Reliability {
///     title: "Probabilities of inclusion",
///     confidence: &[0.3, 0.9],
///     accuracy: &[0.5, 0.8],
///     weights: &[10.0, 30.0],
/// })?;
/// assert!(picture.svg().contains("ECE 0.125"));
/// # Ok(())
/// # }
/// ```
pub fn reliability(reliability: &Reliability<'_>) -> Result<Picture, PlotError> {
    let bins = bins(reliability)?;
    Ok(Picture::new(beside(vec![agreement(&bins), shares(&bins)], reliability.title)))
}

/// A part of [0, 1].
struct Bin {
    sides: (f64, f64),
    confidence: f64,
    accuracy: f64,
    /// Its part of all answers.
    share: f64,
}

fn bins(reliability: &Reliability<'_>) -> Result<Vec<Bin>, PlotError> {
    let &Reliability { confidence, accuracy, weights, .. } = reliability;
    not_empty("the list of confidences", confidence)?;
    at_most("bins", MOST_BINS, confidence.len())?;
    same_length("the list of accuracies", confidence.len(), accuracy.len())?;
    same_length("the list of weights", confidence.len(), weights.len())?;
    within("the list of confidences", confidence.iter().copied(), 0.0, 1.0)?;
    within("the list of accuracies", accuracy.iter().copied(), 0.0, 1.0)?;
    within("the list of weights", weights.iter().copied(), 0.0, 1e100)?;
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return Err(PlotError::Empty { what: "every bin".to_owned() });
    }
    let side = |number: usize| number as f64 / confidence.len() as f64;
    let bins = weights.iter().enumerate().map(|(number, weight)| Bin {
        sides: (side(number), side(number + 1)),
        confidence: confidence[number],
        accuracy: accuracy[number],
        share: weight / total,
    });
    Ok(bins.collect())
}

fn filled(bins: &[Bin]) -> impl Iterator<Item = &Bin> {
    bins.iter().filter(|bin| bin.share > 0.0)
}

/// Accuracy against confidence.
fn agreement(bins: &[Bin]) -> Scene {
    let error: f64 = bins.iter().map(|bin| bin.share * (bin.accuracy - bin.confidence).abs()).sum();
    let (bar, gap) = (class_colour(0).mixed(WHITE, 0.55), class_colour(1));
    let dot = Marker { shape: Shape::Disc, colour: class_colour(0), radius: 5.0 };
    let mut legend = Legend::default();
    legend.item(Symbol::Fill(bar), "accuracy of the bin");
    legend.item(Symbol::Mark(dot), "at its mean confidence");
    legend.item(Symbol::Line(gap, None), "what it is off by");
    legend.item(Symbol::Line(GREY, None), "where both agree");
    let mut frame = Frame::new(&format!("ECE {error:.3}"), axis("confidence"), axis("accuracy"), legend);
    frame.inside = (400.0, 400.0);

    let geometry = frame.geometry();
    let mut marks = rims(bins, |bin| bin.accuracy, &geometry);
    marks.push(line(&geometry, ((0.0, 0.0), (1.0, 1.0)), (GREY, 1.4)));
    for bin in filled(bins) {
        let ends = ((bin.confidence, bin.accuracy), (bin.confidence, bin.confidence));
        marks.push(line(&geometry, ends, (gap, 2.4)));
    }
    for bin in filled(bins) {
        dot.draw(geometry.place(bin.confidence, bin.accuracy), &mut marks);
    }
    frame.scene(vec![bars(bins, |bin| bin.accuracy, bar).into()], marks)
}

/// How the answers spread over the bins.
fn shares(bins: &[Bin]) -> Scene {
    let highest = bins.iter().map(|bin| bin.share).fold(0.0, f64::max);
    let vertical = Axis {
        label: "share of answers".to_owned(),
        range: Range { low: 0.0, high: highest * 1.06 },
        ticks: Ticks::Linear,
    };
    let mut frame = Frame::new("Answers", axis("confidence"), vertical, Legend::default());
    frame.inside = (260.0, 400.0);
    let marks = rims(bins, |bin| bin.share, &frame.geometry());
    frame.scene(vec![bars(bins, |bin| bin.share, class_colour(9)).into()], marks)
}

fn axis(label: &str) -> Axis {
    Axis { label: label.to_owned(), range: Range { low: 0.0, high: 1.0 }, ticks: Ticks::Linear }
}

fn bars(bins: &[Bin], height: fn(&Bin) -> f64, colour: Shade) -> Histogram {
    let edges = std::iter::once(0.0).chain(bins.iter().map(|bin| bin.sides.1)).collect();
    let heights = bins.iter().map(|bin| if bin.share > 0.0 { height(bin) } else { 0.0 }).collect();
    Histogram::from_bins(edges, heights).with_color(colour.hex())
}

/// White sides, which keep neighbouring bars apart, and a dark top, which shows a bar of no height too.
fn rims(bins: &[Bin], height: fn(&Bin) -> f64, geometry: &Geometry) -> Vec<Primitive> {
    let mut marks = Vec::new();
    for bin in filled(bins) {
        let (left, right) = bin.sides;
        let top = height(bin);
        marks.push(line(geometry, ((left, 0.0), (left, top)), (WHITE, 0.8)));
        marks.push(line(geometry, ((right, 0.0), (right, top)), (WHITE, 0.8)));
    }
    for bin in filled(bins) {
        let top = height(bin);
        marks.push(line(geometry, ((bin.sides.0, top), (bin.sides.1, top)), (INK, 1.0)));
    }
    // The white sides of the first and the last bar cover the axis.
    marks.push(line(geometry, ((0.0, 0.0), (0.0, geometry.ranges().1.high)), (INK, 1.0)));
    marks
}

fn line(
    geometry: &Geometry,
    (from, to): ((f64, f64), (f64, f64)),
    (colour, stroke_width): (Shade, f64),
) -> Primitive {
    let ((x1, y1), (x2, y2)) = (geometry.place(from.0, from.1), geometry.place(to.0, to.1));
    Primitive::Line { x1, y1, x2, y2, stroke: colour.into(), stroke_width, stroke_dasharray: None }
}
