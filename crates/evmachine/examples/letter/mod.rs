//! The Letter data that comes with the project.

use std::error::Error;

use evmachine::{Features, Labels};

/// All 20,000 letters: 16 numbers from 0 to 15 each.
pub(crate) fn read() -> Result<(Features<'static>, Labels), Box<dyn Error>> {
    // Read when it runs: the package does not hold it, and builds.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/letter/letter-recognition.data");
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
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
