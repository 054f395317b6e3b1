//! The same lines in several panels, such as one for each number of known classes.

use crate::beside::beside;
use crate::curves::{Curves, check, height, scene, width};
use crate::error::{PlotError, at_most, not_empty};
use crate::picture::Picture;
use crate::range::Range;

/// More panels than this are too narrow on a page.
const MOST_PANELS: usize = 6;

/// What [`multiples`] draws.
#[derive(Debug, Clone, Copy, Default)]
pub struct Multiples<'a> {
    /// The title above all panels; none where empty.
    pub title: &'a str,
    /// At most six panels, each with a title of its own; the key is that of the last.
    pub panels: &'a [Curves<'a>],
}

/// Draws panels side by side, over the same ranges of x and y, so that places can be compared across them. A surface over two
/// variables is easier to read this way than in perspective.
pub fn multiples(multiples: &Multiples<'_>) -> Result<Picture, PlotError> {
    not_empty("the list of panels", multiples.panels)?;
    at_most("panels", MOST_PANELS, multiples.panels.len())?;
    for panel in multiples.panels {
        check(panel)?;
    }
    let shared = |range: fn(&Curves<'_>) -> Range| {
        Range::covering(multiples.panels.iter().map(range).flat_map(|range| [range.low, range.high]))
    };
    let ranges = (shared(width), shared(height));
    let across = (900.0 / multiples.panels.len() as f64).clamp(170.0, 420.0);
    let last = multiples.panels.len() - 1;
    let scenes = multiples.panels.iter().enumerate().map(|(index, panel)| {
        // The axis is the same everywhere; its name stands once.
        let panel = if index == 0 { *panel } else { Curves { y_label: "", ..*panel } };
        scene(&panel, ranges, index == last, (across, 320.0))
    });
    Ok(Picture::new(beside(scenes.collect(), multiples.title)))
}
