//! The Letter data that comes with the project.

use std::error::Error;

use evmachine::{Features, Labels};

/// All 20,000 letters: 16 numbers from 0 to 15 each.
pub(crate) fn read() -> Result<(Features<'static>, Labels), Box<dyn Error>> {
    let text = include_str!("../../../../data/letter/letter-recognition.data");
    let mut values = Vec::new();
    let mut names = Vec::new();
    for line in text.lines() {
        let mut fields = line.split(',');
        names.push(fields.next().ok_or("an empty line")?);
        for field in fields {
            values.push(field.parse()?);
        }
    }
    Ok((Features::new(values, 16)?, Labels::new(names)?))
}
