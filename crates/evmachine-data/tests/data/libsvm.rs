//! LIBSVM files.

use evmachine_data::{DataError, Format, ReadOptions};

use crate::support::{Folder, columns, failure, labelled, message, plain, read, texts};

#[test]
fn sparse_rows_become_dense() {
    let folder = Folder::new();
    let text = "# heading\n+1 1:0.5 3:2 # note\n-1\n\n2.0 qid:7 2:-1e-2\n";
    for path in [folder.write("a.svm", text), folder.write("a", text), folder.write_gz("a.txt.gz", text)] {
        let found = read(&path, &plain());
        assert_eq!(found.schema.format, Format::Libsvm);
        assert_eq!(found.schema.feature_names, ["1", "2", "3"]);
        assert_eq!(found.schema.label_name.as_deref(), Some("label"));
        assert_eq!(found.data.features, [0.5, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, -0.01, 0.0]);
        assert_eq!(found.data.labels, texts(&["1", "-1", "2.0"]));
    }
    assert_eq!(read(&folder.path("a.svm"), &labelled("label")).data.rows, 3);
}

#[test]
fn indexes_from_zero() {
    let folder = Folder::new();
    let found = read(&folder.write("a.svm", "cat 0:1 2:3\ndog 1:2\n"), &plain());
    assert_eq!(found.schema.feature_names, ["0", "1", "2"]);
    assert_eq!(found.data.features, [1.0, 0.0, 3.0, 0.0, 2.0, 0.0]);
}

#[test]
fn the_width_can_be_given() {
    let folder = Folder::new();
    let path = folder.write("a.svm", "1 1:1\n2 2:2\n");
    let wide = ReadOptions { libsvm_columns: Some(4), ..plain() };
    assert_eq!(read(&path, &wide).data.features, [1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
    let narrow = ReadOptions { libsvm_columns: Some(1), ..plain() };
    assert_eq!(
        message(&path, &narrow),
        "a.svm: row 2 (line 2): index 2 is beyond the 1 features expected. \
         Check that the file belongs to this model, or have bad rows left out"
    );
}

#[test]
fn features_are_chosen_by_position() {
    let folder = Folder::new();
    let path = folder.write("a.svm", "1 1:1 2:2 3:3\n2 2:5\n");
    let options = ReadOptions { features: columns(&["-1", "0"]), ..plain() };
    let found = read(&path, &options);
    assert_eq!(found.schema.feature_names, ["3", "1"]);
    assert_eq!(found.data.features, [3.0, 1.0, 0.0, 0.0]);
}

#[test]
fn bad_lines() {
    let folder = Folder::new();
    let said = |line: &str| message(&folder.write("a.svm", format!("1 1:1 2:2\n# note\n{line}\n")), &plain());
    let expect = |line: &str, problem: &str| {
        assert_eq!(said(line), format!("a.svm: row 2 (line 3): {problem}, or have bad rows left out"));
    };
    expect("2 1:x", "`1:x` is not of the form index:value. Correct the line");
    expect("2 1", "`1` is not of the form index:value. Correct the line");
    expect("2 -1:4", "`-1:4` is not of the form index:value. Correct the line");
    expect("2 1:1 1:2", "index 1 is given twice. Correct the line");
    expect("1:1 2:2", "the label is missing. Fill in the label");
    expect("2 1:nan", "column `1` holds NaN, which is not finite. Replace it by a finite number");
    expect(
        "2 1:1e39",
        "column `1` holds 1e39, which is beyond the range of 32-bit floats. Rescale the column",
    );
    let options = ReadOptions { skip_bad_rows: true, ..plain() };
    let path = folder.write("a.svm", "1 1:1 2:2\n2 1:x\n3 2:4\n");
    let found = read(&path, &options);
    assert_eq!(found.data.row_numbers, [1, 3]);
    assert_eq!(found.data.features, [1.0, 2.0, 0.0, 4.0]);
}

#[test]
fn options_that_do_not_apply() {
    let folder = Folder::new();
    let path = folder.write("a.svm", "1 1:1\n");
    assert_eq!(
        message(&path, &labelled("-1")),
        "a.svm: the label column -1 does not apply to LIBSVM files. Leave it out: each line begins with its label"
    );
    let labels = ReadOptions { labels_file: Some(folder.write("l.txt", "cat\n")), ..plain() };
    assert_eq!(
        message(&path, &labels),
        "a.svm: labels are asked for both from the lines and from l.txt. Leave one of them out"
    );
    assert!(matches!(failure(&folder.write("c.svm", "# nothing\n"), &plain()), DataError::NoRows { .. }));
    let far = folder.write("far.svm", "1 4000000000:1\n");
    assert!(matches!(failure(&far, &plain()), DataError::TooManyColumns { columns: 4_000_000_000, .. }));
}
