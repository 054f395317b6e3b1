//! JSON lines.

use evmachine_data::{DataError, Format, ReadOptions};

use crate::support::{Folder, column, columns, failure, labelled, message, plain, read, texts};

const FLAT: &str = "{\"y\":\"cat\",\"b\":2,\"a\":1.5,\"n\":7}\n\n{\"a\":-3,\"y\":1.0,\"b\":true,\"n\":8}\n";

#[test]
fn flat_objects_are_rows() {
    let folder = Folder::new();
    let options = ReadOptions { id: Some(column("n")), ..labelled("y") };
    for path in
        [folder.write("t.jsonl", FLAT), folder.write("t.txt", FLAT), folder.write_gz("t.ndjson.gz", FLAT)]
    {
        let found = read(&path, &options);
        assert_eq!((found.schema.format, found.schema.named), (Format::Jsonl, true));
        assert_eq!(found.schema.feature_names, ["b", "a"]);
        assert_eq!(found.data.features, [2.0, 1.5, 1.0, -3.0]);
        assert_eq!(found.data.labels, texts(&["cat", "1"]));
        assert_eq!(found.data.ids, texts(&["7", "8"]));
    }
    let by_model = ReadOptions { expected: vec!["a".into(), "b".into()], ..plain() };
    assert_eq!(read(&folder.path("t.jsonl"), &by_model).data.features, [1.5, 2.0, -3.0, 1.0]);
    let kept = ReadOptions { id: Some(column("y")), kept: columns(&["n"]), ..plain() };
    let found = read(&folder.path("t.jsonl"), &kept).data;
    assert_eq!(
        (found.features, found.kept),
        (vec![2.0, 1.5, 1.0, -3.0], vec![vec!["7".to_owned(), "8".to_owned()]])
    );
}

#[test]
fn an_array_is_a_vector_of_features() {
    let folder = Folder::new();
    let text = "{\"v\":[1,2.5],\"label\":true,\"note\":{\"a\":[]}}\n{\"label\":false,\"v\":[3,4]}\n";
    let path = folder.write("t.jsonl", text);
    let found = read(&path, &ReadOptions { drop: columns(&["note"]), ..labelled("label") });
    assert_eq!(found.schema.feature_names, ["v_0", "v_1"]);
    assert_eq!(found.data.features, [1.0, 2.5, 3.0, 4.0]);
    assert_eq!(found.data.labels, texts(&["true", "false"]));
    let by_model = ReadOptions { expected: vec!["v_0".into(), "v_1".into()], ..plain() };
    assert_eq!(read(&path, &by_model).data.features, [1.0, 2.5, 3.0, 4.0]);
    assert_eq!(
        message(&path, &labelled("label")),
        "t.jsonl: column `note` is not numeric: its type is object. Make it the label or the id, or leave it out"
    );
    assert!(matches!(
        failure(&folder.write("m.jsonl", "{\"v\":[1],\"a\":1}\n"), &plain()),
        DataError::MixedFeatures { .. }
    ));
}

#[test]
fn bad_lines_are_named() {
    let folder = Folder::new();
    let said = |line: &str| message(&folder.write("t.jsonl", format!("{{\"a\":1}}\n{line}\n")), &plain());
    let begins = |line: &str, start: &str| {
        let said = said(line);
        assert!(said.starts_with(&format!("t.jsonl: row 2 (line 2): {start}")), "{said}");
    };
    begins("{\"a\":\"x\"}", "column `a` holds `x`, which is not a number");
    begins("{\"a\":null}", "column `a` has no value");
    begins("{}", "column `a` has no value");
    begins("{\"a\":1e300}", "column `a` holds 1e300, which is beyond");
    begins("{\"a\":NaN}", "it is not a JSON object: expected value");
    begins("[1]", "it is not a JSON object: invalid type: sequence, expected an object");
    begins("{\"a\":1", "it is not a JSON object: EOF");
    let text = "{\"v\":[1,2]}\n{\"v\":[1]}\n{\"v\":[1,null]}\n{\"v\":[1,\"x\"]}\n{\"v\":7}\n{\"v\":[3,4]}\n";
    let found = read(&folder.write("v.jsonl", text), &ReadOptions { skip_bad_rows: true, ..plain() });
    assert_eq!((found.data.row_numbers, found.skipped.rows), (vec![1, 6], 4));
    assert_eq!(found.skipped.reasons[1].1.to_string(), "column `v_1` has no value");
}

#[test]
fn deep_nesting_is_refused() {
    let folder = Folder::new();
    let path = folder.write("t.jsonl", format!("{{\"a\":{}\n", "[".repeat(1 << 16)));
    assert!(matches!(failure(&path, &plain()), DataError::BadRow { .. }));
}
