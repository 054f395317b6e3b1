//! Handwritten digits of 8 x 8 (Alpaydin and Kaynak, 1998; CC BY 4.0), as pictures.

use evmachine::{Features, Labels, Params};
use evmachine_console::failure::Failure;
use evmachine_openworld::{NewSample, Picture};
use png::{BitDepth, ColorType, Encoder};

use super::demonstration::{Demonstration, damaged};

/// 64 shades from 0 to 16, row by row, and the digit.
const TEXT: &str = include_str!("../../../data/digits/optdigits.tes");
const SIDE: usize = 8;
const DARKEST: f32 = 16.0;
/// Pixels of the picture that a shade becomes, in each direction.
const ENLARGED: usize = 6;

/// Digits that the first model knows.
const KNOWN: [&str; 6] = ["0", "1", "2", "3", "4", "5"];
/// Rows that it learns from; the others come in, and unknown digits among these.
const LEARNED: usize = 900;

pub(super) fn read() -> Result<Demonstration, Failure> {
    let (mut train, mut names, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    let (mut stream, mut shown) = (Vec::new(), Vec::new());
    for (row, line) in TEXT.lines().enumerate() {
        let (shades, digit) = line.rsplit_once(',').ok_or_else(damaged)?;
        let shades: Vec<f32> =
            shades.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| damaged())?;
        if shades.len() != SIDE * SIDE {
            return Err(damaged());
        }
        let name = format!("digit {}", row + 1);
        if row < LEARNED && KNOWN.contains(&digit) {
            train.extend(shades);
            names.push(digit);
            ids.push(name);
        } else {
            let bytes = enlarged(&shades).map_err(|_| damaged())?;
            let picture = Some(Picture { media_type: "image/png".to_owned(), bytes });
            shown.push(NewSample { id: Some(name), picture, ..NewSample::default() });
            stream.extend(shades);
        }
    }
    Ok(Demonstration {
        subject: "the digits 0 to 5",
        params: Params::robust().keeping_all(),
        train: (Features::new(train, SIDE * SIDE)?, Labels::new(names)?),
        ids: Some(ids),
        stream: (Features::new(stream, SIDE * SIDE)?, shown),
        at_once: 1000,
    })
}

/// A PNG of the shades, dark on white, with what lies between two of them.
fn enlarged(shades: &[f32]) -> Result<Vec<u8>, png::EncodingError> {
    let side = SIDE * ENLARGED;
    // Where the middle of a pixel lies among the middles of the shades, and how far it is past the first of two.
    let between = |pixel: usize| {
        let place = ((pixel as f32 + 0.5) / ENLARGED as f32 - 0.5).clamp(0.0, (SIDE - 1) as f32);
        let first = (place as usize).min(SIDE - 2);
        (first, place - first as f32)
    };
    let mut pixels = Vec::with_capacity(side * side);
    for (row, down) in (0..side).map(between) {
        for (column, across) in (0..side).map(between) {
            let shade = |down: usize, across: usize| shades[(row + down) * SIDE + column + across];
            let upper = shade(0, 0) * (1.0 - across) + shade(0, 1) * across;
            let lower = shade(1, 0) * (1.0 - across) + shade(1, 1) * across;
            let ink = (upper * (1.0 - down) + lower * down) / DARKEST;
            pixels.push((255.0 * (1.0 - ink)).round() as u8);
        }
    }
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, side as u32, side as u32);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(file)
}
