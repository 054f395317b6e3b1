//! The key beside a picture: always outside the axes, so that it never covers data.

use kuva::render::color::Color;
use kuva::render::render::Primitive;

use crate::marker::Marker;
use crate::palette::{GREY, INK, Shade};
use crate::text::{self, Align, BODY, centred_line};

/// Entries beyond this many classes are summed up in one line.
pub(crate) const CLASSES_SHOWN: usize = 20;

/// Longer names are cut in the key.
const NAME_LIMIT: usize = 26;
const ROW: f64 = 20.0;
const SYMBOL: f64 = 28.0;
const GAP: f64 = 18.0;

/// What stands before a name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Symbol {
    /// A mark, as it appears among the data.
    Mark(Marker),
    /// A stretch of line, with a mark on it where the line carries marks.
    Line(Shade, Option<Marker>),
    /// A filled square.
    Fill(Shade),
}

#[derive(Debug, Clone)]
enum Entry {
    Heading(String),
    Item(Symbol, String),
    Note(String),
    Space,
}

/// The key, or the scale, at the right of a picture. An empty one takes no room.
#[derive(Debug, Clone, Default)]
pub(crate) struct Legend {
    entries: Vec<Entry>,
    scale: Option<Scale>,
}

/// A vertical colour bar from 0 to 1.
#[derive(Debug, Clone)]
struct Scale {
    colour: fn(f64) -> Shade,
    label: String,
}

impl Legend {
    /// A key that is a colour bar from 0 to 1 with a label above it.
    pub(crate) fn scale(colour: fn(f64) -> Shade, label: &str) -> Self {
        Self { entries: Vec::new(), scale: Some(Scale { colour, label: label.to_owned() }) }
    }

    /// A bold line, set off from what precedes it.
    pub(crate) fn heading(&mut self, text: &str) {
        if !self.entries.is_empty() {
            self.entries.push(Entry::Space);
        }
        self.entries.push(Entry::Heading(text::shortened(text, NAME_LIMIT)));
    }

    /// A symbol and its name.
    pub(crate) fn item(&mut self, symbol: Symbol, name: &str) {
        self.entries.push(Entry::Item(symbol, text::shortened(name, NAME_LIMIT)));
    }

    /// One item for each class, the first [`CLASSES_SHOWN`] by name and the rest by number.
    pub(crate) fn classes<'a>(&mut self, classes: impl ExactSizeIterator<Item = (Symbol, &'a str)>) {
        let total = classes.len();
        for (symbol, name) in classes.take(CLASSES_SHOWN) {
            self.item(symbol, name);
        }
        if total > CLASSES_SHOWN {
            self.entries.push(Entry::Note(format!("and {} more classes", total - CLASSES_SHOWN)));
        }
    }

    /// The width it takes from the picture, including the gap towards the axes.
    pub(crate) fn width(&self) -> f64 {
        if let Some(scale) = &self.scale {
            return GAP + 70.0f64.max(text::width(&scale.label, BODY)) + 10.0;
        }
        let widest = self.entries.iter().map(|entry| match entry {
            // Bold letters are about a tenth wider.
            Entry::Heading(name) => text::width(name, BODY) * 1.1,
            Entry::Item(_, name) => SYMBOL + text::width(name, BODY),
            Entry::Note(note) => SYMBOL + text::width(note, BODY),
            Entry::Space => 0.0,
        });
        widest.reduce(f64::max).map_or(0.0, |widest| GAP + widest + 10.0)
    }

    /// The height of its rows.
    pub(crate) fn height(&self) -> f64 {
        self.entries.iter().map(Entry::height).sum()
    }

    /// Draws it to the right of pixel `left`, from pixel `top` down; a scale reaches down to `bottom`.
    pub(crate) fn draw(&self, left: f64, top: f64, bottom: f64, scene: &mut Vec<Primitive>) {
        let left = left + GAP;
        if let Some(scale) = &self.scale {
            scale.draw(left, top, bottom, scene);
            return;
        }
        let mut y = top;
        for entry in &self.entries {
            let middle = y + entry.height() / 2.0;
            match entry {
                Entry::Heading(name) => {
                    scene.push(centred_line(name.as_str(), (left, middle), BODY, Align::Start, INK, true));
                }
                Entry::Item(symbol, name) => {
                    symbol.draw(left + SYMBOL / 2.0 - 3.0, middle, scene);
                    let start = (left + SYMBOL, middle);
                    scene.push(centred_line(name.as_str(), start, BODY, Align::Start, INK, false));
                }
                Entry::Note(note) => {
                    let start = (left + SYMBOL, middle);
                    scene.push(centred_line(note.as_str(), start, BODY, Align::Start, GREY, false));
                }
                Entry::Space => {}
            }
            y += entry.height();
        }
    }
}

impl Entry {
    fn height(&self) -> f64 {
        if matches!(self, Self::Space) { ROW / 2.0 } else { ROW }
    }
}

impl Symbol {
    fn draw(self, x: f64, y: f64, scene: &mut Vec<Primitive>) {
        match self {
            Self::Mark(marker) => marker.draw((x, y), scene),
            Self::Line(colour, marker) => {
                scene.push(Primitive::Line {
                    x1: x - 11.0,
                    y1: y,
                    x2: x + 11.0,
                    y2: y,
                    stroke: colour.into(),
                    stroke_width: 2.2,
                    stroke_dasharray: None,
                });
                if let Some(marker) = marker {
                    marker.draw((x, y), scene);
                }
            }
            Self::Fill(colour) => scene.push(rectangle((x - 8.0, y - 6.0), (16.0, 12.0), colour)),
        }
    }
}

impl Scale {
    fn draw(&self, left: f64, top: f64, bottom: f64, scene: &mut Vec<Primitive>) {
        scene.push(centred_line(self.label.as_str(), (left, top + 6.0), BODY, Align::Start, INK, false));
        let (top, width) = (top + 24.0, 18.0);
        let length = (bottom - top).clamp(60.0, 260.0);
        let steps = 100;
        let thickness = length / f64::from(steps);
        for step in 0..steps {
            let colour = (self.colour)(1.0 - (f64::from(step) + 0.5) / f64::from(steps));
            // The overlap hides the seams that anti-aliasing would leave.
            let corner = (left, top + f64::from(step) * thickness);
            let height = if step + 1 < steps { thickness + 0.6 } else { thickness };
            scene.push(rectangle(corner, (width, height), colour));
        }
        scene.push(Primitive::Rect {
            x: left,
            y: top,
            width,
            height: length,
            fill: Color::None,
            stroke: Some(GREY.into()),
            stroke_width: Some(0.8),
            opacity: None,
        });
        for tick in 0..=4 {
            let share = f64::from(tick) / 4.0;
            let y = top + length * (1.0 - share);
            scene.push(Primitive::Line {
                x1: left + width,
                y1: y,
                x2: left + width + 5.0,
                y2: y,
                stroke: INK.into(),
                stroke_width: 1.0,
                stroke_dasharray: None,
            });
            let label = format!("{share:.2}");
            scene.push(centred_line(label, (left + width + 9.0, y), BODY, Align::Start, INK, false));
        }
    }
}

fn rectangle((x, y): (f64, f64), (width, height): (f64, f64), colour: Shade) -> Primitive {
    let fill = colour.into();
    Primitive::Rect { x, y, width, height, fill, stroke: None, stroke_width: None, opacity: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_classes_are_named_and_the_rest_counted() {
        let names: Vec<String> = (0..30).map(|class| format!("class {class}")).collect();
        let mut legend = Legend::default();
        legend.classes(names.iter().map(|name| (Symbol::Fill(INK), name.as_str())));
        assert_eq!(legend.entries.len(), CLASSES_SHOWN + 1);
        assert!(matches!(legend.entries.last(), Some(Entry::Note(note)) if note == "and 10 more classes"));
    }

    #[test]
    fn an_empty_legend_takes_no_room() {
        assert!(Legend::default().width().abs() < f64::EPSILON);
        assert!(Legend::default().height().abs() < f64::EPSILON);
    }

    #[test]
    fn long_names_do_not_widen_it_without_end() {
        let mut legend = Legend::default();
        legend.item(Symbol::Fill(INK), &"x".repeat(500));
        assert!(legend.width() < 300.0);
    }
}
