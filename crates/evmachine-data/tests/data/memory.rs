//! Files that would take more memory than there is, and those that say so and lie.

use std::io::{Cursor, Write};
use std::path::Path;

use evmachine_data::{DataError, ReadOptions, open};

use crate::support::{Folder, failure, fixture, labelled, npy, plain};

/// A deflated archive of one array of zeros.
fn archive(rows: usize, columns: usize) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    writer.start_file("X.npy", options).unwrap();
    let zeros = vec![0; rows * columns * 4];
    writer.write_all(&npy("<f4", false, &format!("({rows}, {columns})"), &zeros)).unwrap();
    writer.finish().unwrap().into_inner()
}

fn limited(bytes: u64) -> ReadOptions {
    ReadOptions { memory: Some(bytes), ..plain() }
}

#[test]
fn what_unpacks_to_more_than_memory_holds_is_refused_when_gathered_and_can_be_streamed() {
    let folder = Folder::new();
    let path = folder.write("zeros.npz", archive(4096, 256));
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 14);
    let options = limited(1 << 20);
    let error = failure(&path, &options);
    assert!(matches!(error, DataError::TooLarge { limit: 0x10_0000, .. }), "{error}");
    assert!(
        error.to_string().ends_with("would take 4 MB of memory, and 1 MB are left. Give a part of it"),
        "{error}"
    );
    let rows: usize = open(&path, &options).unwrap().map(|batch| batch.unwrap().rows).sum();
    assert_eq!(rows, 4096);
}

#[test]
fn sizes_that_no_compression_reaches_are_lies() {
    let folder = Folder::new();
    let mut bytes = archive(64, 64);
    // The uncompressed size, in the central directory and before the data.
    let size = u32::try_from(64 * 64 * 4 + 128).unwrap().to_le_bytes();
    let positions: Vec<usize> = (0..bytes.len() - 4).filter(|&at| bytes[at..at + 4] == size).collect();
    assert_eq!(positions.len(), 2);
    for at in positions {
        bytes[at..at + 4].copy_from_slice(&0xf000_0000u32.to_le_bytes());
    }
    let error = failure(&folder.write("liar.npz", bytes), &plain());
    assert!(error.to_string().contains("claims a length of 4026531840 bytes"), "{error}");
}

#[test]
fn sparse_rows_are_counted_by_what_they_become() {
    let folder = Folder::new();
    let path = folder.write("wide.svm", "1 1048576:1\n".repeat(100));
    let error = failure(&path, &limited(64 << 20));
    assert!(matches!(error, DataError::TooLarge { .. }), "{error}");
}

#[test]
fn an_arrow_stream_that_claims_much_is_refused_before_room_is_made() {
    let folder = Folder::new();
    let whole = std::fs::read(fixture("scalars.arrows")).unwrap();
    let path = folder.write("t.arrows", whole);
    let error = failure(&path, &ReadOptions { memory: Some(16), ..labelled("class") });
    assert!(matches!(error, DataError::TooLarge { limit: 16, .. }), "{error}");
}

#[test]
fn a_parquet_page_is_refused_before_room_is_made() {
    let path = fixture("scalars_zstd.parquet");
    let error = failure(&path, &ReadOptions { memory: Some(4), ..labelled("class") });
    assert!(matches!(error, DataError::TooLarge { limit: 4, .. }), "{error}");
}

/// The decoder would pass over this header for minutes.
#[test]
fn a_page_header_without_an_end_is_damage() {
    let folder = Folder::new();
    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/parquet/page_header_hang");
    // The last byte of a seed says how to read those before it.
    let mut content = std::fs::read(seed).unwrap();
    content.pop();
    let error = failure(&folder.write("hang.parquet", content), &labelled("label"));
    assert!(error.to_string().contains("the header of a page is not readable"), "{error}");
}
