//! NPZ archives.

use evmachine_data::{Format, ReadOptions};

use crate::support::{Folder, column, columns, fixture, labelled, message, plain, read, texts};

const MATRIX: [f32; 6] = [1.5, -2.0, 3.25, 4.0, 5.5, -6.75];

#[test]
fn archives_written_by_numpy() {
    for name in ["stored.npz", "deflated.npz", "unnamed.npz"] {
        let found = read(&fixture(name), &plain());
        assert_eq!(found.schema.format, Format::Npz);
        assert_eq!(found.data.features, MATRIX, "{name}");
        assert_eq!(found.data.labels, None);
    }
}

#[test]
fn labels_and_ids_are_arrays() {
    let options = ReadOptions { id: Some(column("names")), ..labelled("y") };
    let found = read(&fixture("stored.npz"), &options);
    assert_eq!(found.data.labels, texts(&["cat", "dog"]));
    assert_eq!(found.data.ids, texts(&["one", "two"]));
    assert_eq!(found.schema.label_name.as_deref(), Some("y"));
    let found = read(&fixture("deflated.npz"), &labelled("labels"));
    assert_eq!(found.data.labels, texts(&["0", "1"]));
    let found = read(&fixture("deflated.npz"), &labelled("-1"));
    assert_eq!(found.data.labels, texts(&["3.25", "-6.75"]));
}

#[test]
fn arrays_are_chosen_by_name() {
    let options = ReadOptions { features: columns(&["embeddings", "1:"]), ..plain() };
    assert_eq!(read(&fixture("deflated.npz"), &options).data.features, [-2.0, 3.25, 5.5, -6.75]);
    assert_eq!(
        message(&fixture("stored.npz"), &labelled("labels")),
        "stored.npz has no column `labels`; its arrays are `X`, `y`, `names`. Give one of these"
    );
    let options = ReadOptions { features: columns(&["name"]), ..plain() };
    assert_eq!(
        message(&fixture("stored.npz"), &options),
        "stored.npz has no column `name`; its arrays are `X`, `y`, `names`. Did you mean `names`?"
    );
    assert_eq!(
        message(&fixture("stored.npz"), &labelled("X")),
        "stored.npz has 0 matrices of floats and none with a usual name; \
         its arrays are `X`, `y`, `names`. Name the one that holds the features"
    );
}

#[test]
fn damage_is_noticed() {
    let folder = Folder::new();
    let mut bytes = std::fs::read(fixture("stored.npz")).unwrap();
    let position = bytes.windows(4).position(|window| window == 4.0f32.to_le_bytes()).unwrap();
    bytes[position] ^= 1;
    assert_eq!(
        message(&folder.write("flipped.npz", &bytes), &plain()),
        "flipped.npz is damaged: a checksum in the archive does not match. Copy or export it again"
    );
    let mut empty = b"PK\x05\x06".to_vec();
    empty.resize(22, 0);
    assert_eq!(
        message(&folder.write("table.xlsx", empty), &plain()),
        "table.xlsx: the archive holds no NPY arrays. Save the features with numpy.savez"
    );
    let cut = folder.write("cut.npz", &bytes[..bytes.len() / 2]);
    assert!(message(&cut, &plain()).starts_with("cut.npz is damaged: "));
}
