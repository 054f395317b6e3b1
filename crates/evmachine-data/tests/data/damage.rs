//! No damage to a file makes reading it panic.

use evmachine_data::{Format, ReadOptions, read_all};

use crate::support::{Folder, fixture, labelled, plain};

/// Files, and the label to ask for besides asking for none.
const FIXTURES: [(&str, &str); 10] = [
    ("float32_fortran.npy", "-1"),
    ("labels_unicode.npy", "0"),
    ("version2.npy", "0"),
    ("stored.npz", "y"),
    ("deflated.npz", "labels"),
    ("scalars_zstd.parquet", "class"),
    ("list.parquet", "label"),
    ("scalars_lz4.feather", "class"),
    ("fixed_list.arrow", "label"),
    ("scalars.arrows", "class"),
];

/// Reads a damaged file in several ways; only the return matters. The file is made anew, because
/// overwriting one waits for the disk on some file systems.
fn survive(folder: &Folder, label: &str, content: &[u8]) {
    let _ = std::fs::remove_file(folder.path("damaged"));
    let path = folder.write("damaged", content);
    let _ = read_all(&path, &plain());
    let _ = read_all(&path, &labelled(label));
    let _ = read_all(&fixture("float64.npy"), &ReadOptions { labels_file: Some(path), ..plain() });
}

#[test]
fn truncated_files() {
    let folder = Folder::new();
    for (name, label) in FIXTURES {
        let whole = std::fs::read(fixture(name)).unwrap();
        for length in (0..whole.len()).step_by(7) {
            survive(&folder, label, &whole[..length]);
        }
    }
}

#[test]
fn changed_bytes() {
    let folder = Folder::new();
    for (name, label) in FIXTURES {
        let whole = std::fs::read(fixture(name)).unwrap();
        for position in 0..whole.len() {
            let mut changed = whole.clone();
            changed[position] = changed[position].wrapping_add(if position % 2 == 0 { 0x80 } else { 0x1f });
            survive(&folder, label, &changed);
        }
    }
}

#[test]
fn changed_bytes_of_text() {
    let folder = Folder::new();
    for (format, text) in [
        (Format::Csv, "class,0,1,\"a\"\"b\"\nx,1,2.5,3\n\"y\nz\",4,5,-6e3\n,7,8,9\n"),
        (Format::Csv, " 1.0  2.0\r\n3 4\n"),
        (Format::Jsonl, "{\"y\":\"c\\u00e9\",\"b\":2,\"a\":1.5}\n\n{\"a\":-3,\"y\":1.0,\"b\":true}\n"),
        (
            Format::Jsonl,
            "{\"v\":[1,2.5],\"label\":null,\"x\":{\"a\":[[]]}}\n{\"v\":[3,\"4\"]}\n{\"v\":[5,6]}\n",
        ),
        (Format::Libsvm, "# heading\n+1 qid:3 1:0.5 7:2\n-1 2:1e-3 # note\n"),
    ] {
        let options = |label: Option<&str>, skip_bad_rows: bool| ReadOptions {
            format: Some(format),
            skip_bad_rows,
            ..label.map_or(plain(), labelled)
        };
        for position in 0..text.len() {
            for byte in [0, b'\n', b'"', b',', b'{', b'[', b'9', 0xff] {
                let mut changed = text.as_bytes().to_vec();
                changed[position] = byte;
                let _ = std::fs::remove_file(folder.path("damaged"));
                let path = folder.write("damaged", changed);
                for label in [None, Some("0"), Some("y"), Some("label")] {
                    let _ = read_all(&path, &options(label, position % 2 == 0));
                }
            }
        }
    }
}
