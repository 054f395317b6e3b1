//! NPY files, those of `NumPy` and broken ones.

use evmachine_data::{DataError, Format, ReadOptions};

use crate::support::{
    Folder, batches, column, columns, failure, fixture, labelled, message, npy, plain, read, singles, texts,
};

const MATRIX: [f32; 6] = [1.5, -2.0, 3.25, 4.0, 5.5, -6.75];

#[test]
fn files_written_by_numpy() {
    for name in [
        "float64.npy",
        "float32_fortran.npy",
        "float16.npy",
        "float64_big_endian.npy",
        "version2.npy",
        "version3.npy",
    ] {
        let found = read(&fixture(name), &plain());
        assert_eq!(found.schema.format, Format::Npy);
        assert_eq!((found.data.rows, found.data.columns), (2, 3), "{name}");
        assert_eq!(found.data.features, MATRIX, "{name}");
        assert_eq!((found.data.labels, found.data.ids), (None, None));
    }
    for name in ["int16_big_endian.npy", "uint8.npy"] {
        assert_eq!(read(&fixture(name), &plain()).data.features, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "{name}");
    }
    assert_eq!(read(&fixture("bool.npy"), &plain()).data.features, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn label_arrays_written_by_numpy() {
    for (labels, expected) in [
        ("labels_unicode.npy", ["chat", "chien é"]),
        ("labels_bytes.npy", ["cat", "doggy"]),
        ("labels_int.npy", ["7", "-3"]),
    ] {
        let options = ReadOptions { labels_file: Some(fixture(labels)), ..plain() };
        assert_eq!(read(&fixture("float64.npy"), &options).data.labels, texts(&expected));
    }
    let options = ReadOptions { labels_file: Some(fixture("float64.npy")), ..plain() };
    assert_eq!(
        message(&fixture("uint8.npy"), &options),
        "float64.npy: the array has the shape (2, 3). Give a one-dimensional array, one entry for each row"
    );
}

#[test]
fn labels_of_another_count_are_refused_at_once() {
    let folder = Folder::new();
    let path = folder.write("x.npy", npy("<f4", false, "(3, 1)", &singles(&[1.0, 2.0, 3.0])));
    let options = ReadOptions { labels_file: Some(fixture("labels_int.npy")), ..plain() };
    let error = evmachine_data::open(&path, &options).unwrap_err();
    assert!(
        matches!(error, DataError::LabelCount { ref rows, ref label_rows, .. } if rows == "3" && label_rows == "2")
    );
}

#[test]
fn columns_of_the_matrix_can_be_labels() {
    for name in ["float64.npy", "float32_fortran.npy"] {
        let options = ReadOptions { id: Some(column("1")), ..labelled("-1") };
        let found = read(&fixture(name), &options);
        assert_eq!(found.data.features, [1.5, 4.0]);
        assert_eq!(found.data.labels, texts(&["3.25", "-6.75"]));
        assert_eq!(found.data.ids, texts(&["-2", "5.5"]));
    }
    let options = ReadOptions { features: columns(&["2", "0"]), ..plain() };
    assert_eq!(read(&fixture("float16.npy"), &options).data.features, [3.25, 1.5, -6.75, 4.0]);
}

#[test]
fn a_label_by_name_points_to_the_labels_file() {
    assert_eq!(
        message(&fixture("float64.npy"), &labelled("y")),
        "float64.npy: the label column `y` does not apply to NPY files. \
         Its columns have no names: give the number of one, or a file of labels"
    );
}

#[test]
fn batches_of_both_orders() {
    let folder = Folder::new();
    let (rows, width) = (1000, 70);
    let value = |row: usize, column: usize| (row * width + column) as f32;
    let by_rows: Vec<f32> = (0..rows * width).map(|index| index as f32).collect();
    let by_columns: Vec<f32> =
        (0..width).flat_map(|column| (0..rows).map(move |row| value(row, column))).collect();
    let c_order = folder.write("c.npy", npy("<f4", false, "(1000, 70)", &singles(&by_rows)));
    let fortran = folder.write("f.npy", npy("<f4", true, "(1000, 70)", &singles(&by_columns)));
    let compressed = folder.write_gz("f.npy.gz", npy("<f4", true, "(1000, 70)", &singles(&by_columns)));
    let options = ReadOptions { batch_rows: 300, ..plain() };
    let expected = batches(&c_order, &options);
    assert_eq!(expected.iter().map(|batch| batch.rows).collect::<Vec<_>>(), [300, 300, 300, 100]);
    assert_eq!(expected[3].features, by_rows[900 * width..]);
    assert_eq!(batches(&fortran, &options), expected);
    assert_eq!(batches(&compressed, &options), expected);
}

#[test]
fn arrays_that_are_no_matrix() {
    let folder = Folder::new();
    assert_eq!(
        message(&fixture("object.npy"), &plain()),
        "object.npy: the array holds Python objects, and pickle is not loaded. \
         Save it with dtype float32, or with dtype str for labels"
    );
    assert_eq!(
        message(&fixture("structured.npy"), &plain()),
        "structured.npy: the array has named fields. Save a plain matrix of dtype float32"
    );
    assert_eq!(
        message(&fixture("labels_int.npy"), &plain()),
        "labels_int.npy: the array has the shape (2,). \
         Reshape it to one row per sample and one column per feature"
    );
    assert_eq!(
        message(&fixture("labels_unicode.npy"), &plain()),
        "labels_unicode.npy: the array holds text. Give a matrix of numbers; labels belong in a file of their own"
    );
    assert_eq!(
        message(&folder.write("complex.npy", npy("<c8", false, "(1, 1)", &[0; 8])), &plain()),
        "complex.npy: the array has dtype `<c8`. Save it with dtype float32"
    );
    let error = failure(&folder.write("none.npy", npy("<f4", false, "(0, 3)", &[])), &plain());
    assert!(matches!(error, DataError::NoRows { .. }));
    let error = failure(&folder.write("flat.npy", npy("<f4", false, "(3, 0)", &[])), &plain());
    assert!(matches!(error, DataError::NoFeatures { .. }));
}

#[test]
fn broken_files() {
    let folder = Folder::new();
    assert_eq!(
        message(&folder.write("cut.npy", npy("<f4", false, "(2, 3)", &[0; 20])), &plain()),
        "cut.npy is truncated: the shape (2, 3) needs 24 bytes of data and there are 20. Copy or export it again"
    );
    assert_eq!(
        message(&folder.write_gz("cut.npy.gz", npy("<f4", false, "(2, 3)", &[0; 20])), &plain()),
        "cut.npy.gz is truncated: 2 rows are announced and it ends before. Copy or export it again"
    );
    assert_eq!(
        message(&folder.write("start.npy", b"\x93NUMPY\x01\x00\x76"), &plain()),
        "start.npy is truncated: it ends within the header. Copy or export it again"
    );
    let huge = npy("<f4", false, "(9999999999, 9999999999999)", &[]);
    assert_eq!(
        message(&folder.write("huge.npy", huge), &plain()),
        "huge.npy is damaged: its shape (9999999999, 9999999999999) is impossibly large. Copy or export it again"
    );
    let mut long = npy("<f4", false, "(1, 1)", &[]);
    long.splice(6..10, [2, 0, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(
        message(&folder.write("long.npy", long), &plain()),
        "long.npy is damaged: its header claims a length of 4294967295 bytes. Copy or export it again"
    );
    let mut future = npy("<f4", false, "(1, 1)", &[0; 4]);
    future[6] = 9;
    assert_eq!(
        message(&folder.write("future.npy", future), &plain()),
        "future.npy is damaged: NPY version 9 is unknown. Copy or export it again"
    );
    let wide = npy("<f4", false, "(1, 2000000)", &vec![0; 8_000_000]);
    assert_eq!(
        message(&folder.write("wide.npy", wide), &plain()),
        "wide.npy has 2000000 columns, more than the limit of 1048576. Check the column numbers in it"
    );
}

#[test]
fn values_that_are_not_finite() {
    let folder = Folder::new();
    let values: Vec<u8> =
        [1.0, 2.0, f64::NAN, 4.0, 5.0, 1e300].iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
    let path = folder.write("x.npy", npy("<f8", false, "(3, 2)", &values));
    assert_eq!(
        message(&path, &plain()),
        "x.npy: row 2: column `column_0` holds NaN, which is not finite. \
         Replace it by a finite number, or have bad rows left out"
    );
    let found = read(&path, &ReadOptions { skip_bad_rows: true, ..plain() });
    assert_eq!(found.data.features, [1.0, 2.0]);
    assert_eq!(found.skipped.rows, 2);
    assert_eq!(
        found.skipped.reasons[1].1.to_string(),
        "column `column_1` holds 1e300, which is beyond the range of 32-bit floats"
    );
}
