//! Numbers in text.

/// What a field of a text file holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Field {
    /// A number, perhaps not a finite one.
    Number(f32),
    /// Nothing, or a word that stands for nothing.
    Missing,
    /// Something else.
    Word,
}

/// Reads a field.
pub(crate) fn parse(field: &[u8]) -> Field {
    if let Ok(number) = fast_float2::parse::<f32, _>(field) {
        return Field::Number(number);
    }
    let trimmed = field.trim_ascii();
    match fast_float2::parse::<f32, _>(trimmed) {
        Ok(number) => Field::Number(number),
        Err(_) if is_missing(trimmed) => Field::Missing,
        Err(_) => Field::Word,
    }
}

/// Reads a field again at double precision, to tell a number that is too large from an infinity.
pub(crate) fn parse_double(field: &[u8]) -> f64 {
    fast_float2::parse(field.trim_ascii()).unwrap_or(f64::NAN)
}

/// Whether a field is a number.
pub(crate) fn is_number(field: &[u8]) -> bool {
    matches!(parse(field), Field::Number(_))
}

/// The words spreadsheets, data frames and repositories write for a value that is not there.
fn is_missing(field: &[u8]) -> bool {
    const WORDS: [&[u8]; 7] = [b"na", b"n/a", b"#n/a", b"null", b"none", b"?", b"<na>"];
    field.is_empty() || WORDS.iter().any(|word| field.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::{Field, parse, parse_double};

    #[test]
    fn fields_are_told_apart() {
        for (field, expected) in [
            ("1.5", Field::Number(1.5)),
            (" -2e3 ", Field::Number(-2000.0)),
            ("+7", Field::Number(7.0)),
            (".5", Field::Number(0.5)),
            ("inf", Field::Number(f32::INFINITY)),
            ("1e39", Field::Number(f32::INFINITY)),
            ("", Field::Missing),
            (" NA ", Field::Missing),
            ("?", Field::Missing),
            ("1,5", Field::Word),
            ("0x10", Field::Word),
            ("cat", Field::Word),
        ] {
            assert_eq!(parse(field.as_bytes()), expected, "{field:?}");
        }
    }

    #[test]
    fn a_second_look_separates_overflow_from_infinity() {
        assert!(parse_double(b" 1e39").is_finite());
        assert!(parse_double(b"-inf").is_infinite());
        assert!(parse_double(b"nan").is_nan());
    }
}
