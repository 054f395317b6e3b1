//! No damage to a file makes reading it panic.

use evmachine_data::{ReadOptions, read_all};

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
