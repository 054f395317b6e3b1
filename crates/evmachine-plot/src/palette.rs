//! The colours of all pictures: Okabe and Ito's for classes, a blue-to-red ramp for probabilities.

/// A colour as red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shade(pub(crate) u8, pub(crate) u8, pub(crate) u8);

/// Almost black: text, queries, unknowns.
pub(crate) const INK: Shade = Shade(0x1a, 0x1a, 0x1a);
/// Secondary text.
pub(crate) const GREY: Shade = Shade(0x60, 0x60, 0x60);
/// Grid lines.
pub(crate) const GRID: Shade = Shade(0xe3, 0xe3, 0xe3);
/// The ground of every picture.
pub(crate) const WHITE: Shade = Shade(0xff, 0xff, 0xff);

/// Twelve colours: the eight of Okabe and Ito (black replaced by a grey, since black marks unknowns; their
/// yellow darkened, since it vanishes on white), then four of Paul Tol's that stay apart from them.
const CLASSES: [Shade; 12] = [
    Shade(0x00, 0x72, 0xb2),
    Shade(0xd5, 0x5e, 0x00),
    Shade(0x00, 0x9e, 0x73),
    Shade(0xcc, 0x79, 0xa7),
    Shade(0xe6, 0x9f, 0x00),
    Shade(0x56, 0xb4, 0xe9),
    Shade(0x88, 0x22, 0x55),
    Shade(0xb8, 0xac, 0x10),
    Shade(0x33, 0x22, 0x88),
    Shade(0x99, 0x99, 0x99),
    Shade(0x66, 0x44, 0x22),
    Shade(0x44, 0xaa, 0x44),
];

/// Stops of the probability ramp, from psi near zero to psi near one. The middle is amber rather than
/// yellow so that its lines show on white.
const RAMP: [Shade; 5] = [
    Shade(0x1f, 0x4e, 0x9c),
    Shade(0x2f, 0x9a, 0xc4),
    Shade(0xd9, 0xa4, 0x1c),
    Shade(0xe8, 0x6a, 0x22),
    Shade(0xb8, 0x10, 0x1f),
];

/// Stops of the sequential scale of heat maps; lightness falls steadily, so it survives a grey printer.
const HEAT: [Shade; 6] = [
    Shade(0xff, 0xff, 0xff),
    Shade(0xd6, 0xe6, 0xf4),
    Shade(0x9c, 0xc7, 0xe3),
    Shade(0x4f, 0x9b, 0xcb),
    Shade(0x1c, 0x62, 0xa8),
    Shade(0x08, 0x2f, 0x66),
];

/// How many classes have a colour of their own.
pub(crate) const CLASS_COLOURS: usize = CLASSES.len();

/// The colour of a class; repeats after [`CLASS_COLOURS`].
pub(crate) fn class_colour(index: usize) -> Shade {
    CLASSES[index % CLASSES.len()]
}

/// The colour of a contour; `position` runs from 0 (blue) to 1 (red).
pub(crate) fn ramp_colour(position: f64) -> Shade {
    between(&RAMP, position)
}

/// The colour of a heat-map cell holding a share between 0 and 1. Small shares are spread out: in a good
/// confusion matrix they are what one looks for.
pub(crate) fn heat_colour(share: f64) -> Shade {
    between(&HEAT, share.clamp(0.0, 1.0).powf(0.6))
}

impl Shade {
    /// As `#rrggbb`.
    pub(crate) fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// Mixed with another colour; `share` is the part of the other one.
    pub(crate) fn mixed(self, other: Shade, share: f64) -> Shade {
        let mix = |from: u8, to: u8| {
            (f64::from(from) + (f64::from(to) - f64::from(from)) * share.clamp(0.0, 1.0)).round() as u8
        };
        Shade(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }

    /// Black or white, whichever is easier to read on this colour.
    pub(crate) fn text_on(self) -> Shade {
        let luminance = 0.299 * f64::from(self.0) + 0.587 * f64::from(self.1) + 0.114 * f64::from(self.2);
        if luminance > 140.0 { INK } else { WHITE }
    }
}

impl From<Shade> for kuva::render::color::Color {
    fn from(shade: Shade) -> Self {
        Self::Rgb(shade.0, shade.1, shade.2)
    }
}

fn between(stops: &[Shade], position: f64) -> Shade {
    let last = stops.len() - 1;
    let place = position.clamp(0.0, 1.0) * last as f64;
    let lower = (place.floor() as usize).min(last - 1);
    stops[lower].mixed(stops[lower + 1], place - lower as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_runs_from_blue_to_red() {
        assert_eq!(ramp_colour(0.0), RAMP[0]);
        assert_eq!(ramp_colour(1.0), RAMP[4]);
        assert_eq!(ramp_colour(7.0), RAMP[4]);
        let (blue, red) = (ramp_colour(0.0), ramp_colour(1.0));
        assert!(blue.2 > blue.0 && red.0 > red.2);
    }

    #[test]
    fn class_colours_differ_then_repeat() {
        for first in 0..CLASS_COLOURS {
            for second in 0..first {
                assert_ne!(class_colour(first), class_colour(second));
            }
        }
        assert_eq!(class_colour(CLASS_COLOURS + 3), class_colour(3));
    }

    #[test]
    fn text_contrasts_with_its_ground() {
        assert_eq!(heat_colour(0.0).text_on(), INK);
        assert_eq!(heat_colour(1.0).text_on(), WHITE);
        assert_eq!(WHITE.hex(), "#ffffff");
    }
}
