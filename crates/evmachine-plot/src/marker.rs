//! Marks at points: filled shapes with a white rim, rings, crosses and question marks.

use std::f64::consts::TAU;
use std::fmt::Write;

use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive};

use crate::palette::{CLASS_COLOURS, INK, Shade, WHITE, class_colour};
use crate::text::{Align, centred_line};

/// A mark drawn at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Disc,
    Triangle,
    Square,
    Diamond,
    TriangleDown,
    Pentagon,
    Star,
    /// A ring around what is already there.
    Ring,
    /// A diagonal cross.
    Cross,
    /// A bold question mark on a white halo.
    Question,
}

/// Filled shapes, in the order classes receive them.
const FILLED: [Shape; 7] = [
    Shape::Disc,
    Shape::Triangle,
    Shape::Square,
    Shape::Diamond,
    Shape::TriangleDown,
    Shape::Pentagon,
    Shape::Star,
];

/// A shape, its colour and its radius in pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marker {
    pub(crate) shape: Shape,
    pub(crate) colour: Shade,
    pub(crate) radius: f64,
}

impl Marker {
    /// The mark of a class where every class should have a shape of its own, as in a figure of few classes.
    pub(crate) fn distinct(class: usize, radius: f64) -> Self {
        Self { shape: FILLED[class % FILLED.len()], colour: class_colour(class), radius }
    }

    /// The mark of a class where colours carry the difference and shapes change when they are used up.
    pub(crate) fn coloured(class: usize, radius: f64) -> Self {
        let shape = FILLED[(class / CLASS_COLOURS) % FILLED.len()];
        Self { shape, colour: class_colour(class), radius }
    }

    /// The mark of a point of unknown class.
    pub(crate) fn unknown(radius: f64) -> Self {
        Self { shape: Shape::Cross, colour: INK, radius }
    }

    /// Draws the mark with its centre at pixel `(x, y)`.
    pub(crate) fn draw(self, (x, y): (f64, f64), scene: &mut Vec<Primitive>) {
        let radius = self.radius;
        match self.shape {
            Shape::Disc => scene.push(Primitive::Circle {
                cx: x,
                cy: y,
                r: radius,
                fill: self.colour.into(),
                fill_opacity: None,
                stroke: Some(WHITE.into()),
                stroke_width: Some(0.8),
            }),
            Shape::Ring => scene.push(Primitive::Circle {
                cx: x,
                cy: y,
                r: radius,
                fill: Color::None,
                fill_opacity: None,
                stroke: Some(self.colour.into()),
                stroke_width: Some(1.6),
            }),
            Shape::Cross => {
                // The white strokes beneath keep the cross visible on dark neighbours.
                for (colour, width, arm) in [(WHITE, 3.4, radius + 0.8), (self.colour, 1.7, radius)] {
                    for slope in [1.0, -1.0] {
                        scene.push(Primitive::Line {
                            x1: x - arm,
                            y1: y - arm * slope,
                            x2: x + arm,
                            y2: y + arm * slope,
                            stroke: colour.into(),
                            stroke_width: width,
                            stroke_dasharray: None,
                        });
                    }
                }
            }
            Shape::Question => {
                scene.push(Primitive::Circle {
                    cx: x,
                    cy: y,
                    r: radius * 1.1,
                    fill: WHITE.into(),
                    fill_opacity: None,
                    stroke: Some(self.colour.into()),
                    stroke_width: Some(1.0),
                });
                let size = (radius * 1.8).round().max(6.0) as u32;
                scene.push(centred_line("?", (x, y), size, Align::Middle, self.colour, true));
            }
            Shape::Square => scene.push(self.polygon((x, y), 4, radius * 1.22, 0.125)),
            Shape::Diamond => scene.push(self.polygon((x, y), 4, radius * 1.28, 0.0)),
            Shape::Triangle => scene.push(self.polygon((x, y + radius * 0.2), 3, radius * 1.3, 0.0)),
            Shape::TriangleDown => scene.push(self.polygon((x, y - radius * 0.2), 3, radius * 1.3, 0.5)),
            Shape::Pentagon => scene.push(self.polygon((x, y), 5, radius * 1.12, 0.0)),
            Shape::Star => scene.push(self.star((x, y))),
        }
    }

    /// A regular polygon; `turn` is a share of a full turn, none pointing a corner upwards.
    fn polygon(self, (x, y): (f64, f64), corners: usize, radius: f64, turn: f64) -> Primitive {
        self.closed((0..corners).map(|corner| {
            let angle = TAU * (corner as f64 / corners as f64 + turn);
            (x + radius * angle.sin(), y - radius * angle.cos())
        }))
    }

    fn star(self, (x, y): (f64, f64)) -> Primitive {
        self.closed((0..10).map(|corner| {
            let angle = TAU * f64::from(corner) / 10.0;
            let reach = if corner % 2 == 0 { self.radius * 1.4 } else { self.radius * 0.6 };
            (x + reach * angle.sin(), y - reach * angle.cos())
        }))
    }

    fn closed(self, corners: impl Iterator<Item = (f64, f64)>) -> Primitive {
        let mut path = String::new();
        for (corner, (x, y)) in corners.enumerate() {
            let command = if corner == 0 { 'M' } else { 'L' };
            // Writing into a string cannot fail.
            let _ = write!(path, "{command}{x:.2},{y:.2} ");
        }
        path.push('Z');
        Primitive::Path(Box::new(PathData {
            d: path,
            fill: Some(self.colour.into()),
            stroke: WHITE.into(),
            stroke_width: 0.8,
            opacity: None,
            stroke_dasharray: None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_beyond_the_colours_change_shape() {
        let first = Marker::coloured(0, 3.0);
        let again = Marker::coloured(CLASS_COLOURS, 3.0);
        assert_eq!(first.colour, again.colour);
        assert_ne!(first.shape, again.shape);
    }

    #[test]
    fn neighbouring_classes_of_a_plane_differ_in_both() {
        let (first, second) = (Marker::distinct(0, 3.0), Marker::distinct(1, 3.0));
        assert_ne!(first.colour, second.colour);
        assert_ne!(first.shape, second.shape);
    }

    #[test]
    fn every_shape_draws_something() {
        for shape in FILLED.into_iter().chain([Shape::Ring, Shape::Cross, Shape::Question]) {
            let mut scene = Vec::new();
            Marker { shape, colour: INK, radius: 4.0 }.draw((10.0, 10.0), &mut scene);
            assert!(!scene.is_empty(), "{shape:?}");
        }
    }
}
