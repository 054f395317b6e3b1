//! What files are that cannot be read, by their first bytes, so that their owner learns more than that.

use std::path::Path;

use crate::dialect::looks_like_jsonl;
use crate::error::DataError;

const AS_ARRAYS: &str = "Save the features with numpy.savez, or as Parquet";
const AS_TEXT: &str = "Save the sheet as CSV";
const AS_PARQUET: &str = "Convert it to Parquet";
const UNPACK: &str = "Unpack it, or compress it by gzip or Zstandard";
const AS_VECTORS: &str = "Compute a feature vector of it first, such as the embedding of a network";

/// First bytes, what they prove, and what to do.
const KINDS: [(&[u8], &str, &str); 19] = [
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", AS_ARRAYS),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook", AS_TEXT),
    (b"SQLite format 3\0", "an SQLite database", "Export the table as CSV"),
    (b"MATLAB 5.0 MAT-file", "a MATLAB file", AS_ARRAYS),
    (b"ORC", "an ORC file", AS_PARQUET),
    (b"Obj\x01", "an Avro file", AS_PARQUET),
    (b"FEA1", "a Feather file of version 1", "Write it again as version 2"),
    (b"RDX2\n", "an R data file", "Save the table as CSV"),
    (b"RDX3\n", "an R data file", "Save the table as CSV"),
    (b"\xfd7zXZ\0", "compressed by xz", UNPACK),
    (b"BZh91AY&SY", "compressed by bzip2", UNPACK),
    (b"\x04\x22\x4d\x18", "compressed by LZ4", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (b"\x89PNG\r\n\x1a\n", "a picture", AS_VECTORS),
    (b"\xff\xd8\xff", "a picture", AS_VECTORS),
    (b"GIF8", "a picture", AS_VECTORS),
    (b"RIFF", "a sound or a film", AS_VECTORS),
    (b"%PDF", "a PDF document", "Export its table as CSV"),
];

const PICKLE: (&str, &str) =
    ("a Python pickle", "A pickle can run any program when it is loaded. Save the features with numpy.savez");

/// The error of a file that is of another kind than those that are read.
pub(crate) fn refuse(file: &str, path: Option<&Path>, prefix: &[u8]) -> Result<(), DataError> {
    let extension = path.and_then(Path::extension).and_then(|extension| extension.to_str());
    let is = |known: &[&str]| {
        extension.is_some_and(|extension| known.iter().any(|known| extension.eq_ignore_ascii_case(known)))
    };
    // A few letters may begin a table as well, but no text has a NUL byte.
    let proves = |magic: &[u8]| {
        prefix.starts_with(magic) && (magic.len() > 5 || !magic.is_ascii() || prefix.contains(&0))
    };
    let kind = KINDS.iter().find(|(magic, ..)| proves(magic)).map(|&(_, what, advice)| (what, advice));
    let found = match prefix {
        _ if kind.is_some() => kind,
        [0x80, 2..=5, ..] => Some(PICKLE),
        _ if is(&["pkl", "pickle", "joblib"]) => Some(PICKLE),
        _ if is(&["br"]) => Some(("compressed by Brotli", UNPACK)),
        _ if prefix.get(257..262) == Some(b"ustar") => Some(("a tar archive", UNPACK)),
        [_, _, _, _, 0, 0, 0, 0, b'{', ..] => Some((
            "a safetensors file",
            "A model comes before the data; features are saved with numpy.savez, or as Parquet",
        )),
        _ if begins_array(prefix) && (is(&["json"]) || begins_with_object(prefix)) => {
            Some(("a JSON array", "Write one object a line (JSON lines)"))
        }
        _ if begins_object(prefix) && is(&["json"]) && !looks_like_jsonl(prefix) => {
            Some(("one JSON object", "Write one object a line (JSON lines)"))
        }
        _ => None,
    };
    match found {
        Some((what, advice)) => {
            Err(DataError::Foreign { file: file.to_owned(), what: what.to_owned(), advice })
        }
        None => Ok(()),
    }
}

/// The error of a ZIP archive without arrays, by the names of its members.
pub(crate) fn archive(file: &str, members: &[String]) -> Option<DataError> {
    let any = |test: &dyn Fn(&str) -> bool| members.iter().any(|name| test(name));
    let (what, advice) = if any(&|name| name.starts_with("xl/")) {
        ("an Excel workbook", AS_TEXT)
    } else if any(&|name| name == "content.xml") {
        ("an OpenDocument file", AS_TEXT)
    } else if any(&|name| name.ends_with("data.pkl")) {
        (
            "a PyTorch file",
            "It holds a pickle, which can run any program when it is loaded. Save the features with numpy.savez",
        )
    } else if members.is_empty() {
        return None;
    } else {
        ("a ZIP archive without arrays", "Unpack it and give the files in it")
    };
    Some(DataError::Foreign { file: file.to_owned(), what: what.to_owned(), advice })
}

fn begins_object(prefix: &[u8]) -> bool {
    prefix.trim_ascii_start().starts_with(b"{")
}

fn begins_array(prefix: &[u8]) -> bool {
    prefix.trim_ascii_start().starts_with(b"[")
}

fn begins_with_object(prefix: &[u8]) -> bool {
    let inside = prefix.trim_ascii_start().get(1..).unwrap_or_default().trim_ascii_start();
    inside.starts_with(b"{") || inside.starts_with(b"[")
}
