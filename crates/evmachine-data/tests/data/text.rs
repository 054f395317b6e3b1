//! Text tables: what is found in them, and what is said of bad ones.

use crate::support::{Folder, batches, column, columns, failure, labelled, message, plain, read, texts};
use evmachine_data::{DataError, Format, Header, Notice, Place, ReadOptions, RowProblem, open};

const IRIS: &str = "id,length,width,species\na,5.1,3.5,setosa\nb,6.2, 2.9 ,virginica\n";

fn iris_options() -> ReadOptions {
    ReadOptions { id: Some(column("id")), ..labelled("species") }
}

#[test]
fn named_columns() {
    let folder = Folder::new();
    let found = read(&folder.write("iris.csv", IRIS), &iris_options());
    assert_eq!(found.schema.format, Format::Csv);
    assert_eq!(found.schema.feature_names, ["length", "width"]);
    assert_eq!(found.schema.label_name.as_deref(), Some("species"));
    assert_eq!(found.schema.id_name.as_deref(), Some("id"));
    assert_eq!((found.data.first_row, found.data.rows, found.data.columns), (1, 2, 2));
    assert_eq!(found.data.features, [5.1, 3.5, 6.2, 2.9]);
    assert_eq!(found.data.labels, texts(&["setosa", "virginica"]));
    assert_eq!(found.data.ids, texts(&["a", "b"]));
    assert_eq!(found.data.row_numbers, [1, 2]);
}

#[test]
fn columns_are_kept_as_text() {
    let folder = Folder::new();
    let text = "id,score,length,day,width\na,0.5,1,monday,2\nb,,3,tuesday,4\n";
    let path = folder.write("t.csv", text);
    let options = ReadOptions { id: Some(column("id")), kept: columns(&["day", "score"]), ..plain() };
    let found = read(&path, &options);
    assert_eq!(found.schema.feature_names, ["length", "width"]);
    assert_eq!(found.data.kept, [["monday", "tuesday"], ["0.5", ""]]);
    let skipped = read(
        &folder.write("s.csv", text.replace("a,0.5,1", "a,0.5,x")),
        &ReadOptions { skip_bad_rows: true, ..options },
    );
    assert_eq!(skipped.data.kept, [["tuesday"], [""]]);
    let said = |kept: &[&str], change: fn(ReadOptions) -> ReadOptions| {
        message(&path, &change(ReadOptions { kept: columns(kept), ..plain() }))
    };
    let same = |options| options;
    assert!(said(&["day", "day"], same).contains("`day`"));
    assert!(said(&["none"], same).starts_with("t.csv has no column `none`"), "{}", said(&["none"], same));
    let by_id = said(&["id"], |options| ReadOptions { id: Some(column("id")), ..options });
    assert!(by_id.contains("`id`"), "{by_id}");
    let feature = said(&["day"], |options| ReadOptions { features: columns(&["day"]), ..options });
    assert!(feature.contains("`day`"), "{feature}");
}

#[test]
fn every_separator_and_line_ending() {
    let folder = Folder::new();
    for separator in [",", ";", "\t", " ", "   "] {
        for ending in ["\n", "\r\n"] {
            let text = [
                "1", separator, "2", separator, "cat", ending, "3", separator, "4", separator, "dog", ending,
            ]
            .concat();
            let found = read(&folder.write("table.txt", text), &labelled("-1"));
            assert_eq!(found.data.features, [1.0, 2.0, 3.0, 4.0], "{separator:?} {ending:?}");
            assert_eq!(found.data.labels, texts(&["cat", "dog"]));
            let format = if separator == "\t" { Format::Tsv } else { Format::Csv };
            assert_eq!(found.schema.format, format);
            assert_eq!(found.schema.feature_names, ["column_0", "column_1"]);
            assert!(!found.schema.named);
        }
    }
}

#[test]
fn compressed_text_and_byte_order_marks() {
    let folder = Folder::new();
    let expected = read(&folder.write("iris.csv", IRIS), &iris_options());
    assert_eq!(read(&folder.write_gz("iris.csv.gz", IRIS), &iris_options()), expected);
    assert_eq!(read(&folder.write_gz("iris", IRIS), &iris_options()), expected);
    let packed = zstd::encode_all(IRIS.as_bytes(), 3).unwrap();
    assert_eq!(read(&folder.write("iris.csv.zst", &packed), &iris_options()), expected);
    let cut = message(&folder.write("cut.csv.zst", &packed[..packed.len() - 5]), &iris_options());
    assert_eq!(cut, "cut.csv.zst is truncated: the data stops in the middle. Copy or export it again");
    assert_eq!(read(&folder.write("mark.csv", format!("\u{feff}{IRIS}")), &iris_options()), expected);
}

#[test]
fn columns_by_number_range_and_drop() {
    let folder = Folder::new();
    let path = folder.write("wide.csv", "9,1,2,3,4\n8,5,6,7,8\n");
    let chosen = |features: &[&str], drop: &[&str]| {
        let options = ReadOptions { features: columns(features), drop: columns(drop), ..plain() };
        read(&path, &options).data.features
    };
    assert_eq!(chosen(&["1:3"], &[]), [1.0, 2.0, 5.0, 6.0]);
    assert_eq!(chosen(&["-1", "0"], &[]), [4.0, 9.0, 8.0, 8.0]);
    assert_eq!(chosen(&[], &["0", "-2:"]), [1.0, 2.0, 5.0, 6.0]);
    assert_eq!(chosen(&["1:"], &["2:4"]), [1.0, 4.0, 5.0, 8.0]);
}

#[test]
fn batches_hold_no_more_rows_than_asked_for() {
    let folder = Folder::new();
    let text = (0..10).map(|row| format!("{row},0.5,c{row}")).collect::<Vec<_>>().join("\n");
    let options = ReadOptions { batch_rows: 4, ..labelled("2") };
    let found = batches(&folder.write("ten.csv", text), &options);
    assert_eq!(found.iter().map(|batch| batch.rows).collect::<Vec<_>>(), [4, 4, 2]);
    assert_eq!(found.iter().map(|batch| batch.first_row).collect::<Vec<_>>(), [1, 5, 9]);
    assert_eq!(found[2].labels, texts(&["c8", "c9"]));
}

#[test]
fn labels_stay_as_they_were_written() {
    let folder = Folder::new();
    let path = folder.write("labels.csv", "x,y\n1,3.0\n2, cat \n3,\"a, b\"\n4,0.5\n");
    assert_eq!(read(&path, &labelled("y")).data.labels, texts(&["3.0", " cat ", "a, b", "0.5"]));
}

#[test]
fn bad_rows_end_the_reading() {
    let folder = Folder::new();
    let said =
        |row: &str| message(&folder.write("t.csv", format!("a,b,y\n1,2,cat\n{row}\n")), &labelled("y"));
    assert_eq!(
        said("1,nan,dog"),
        "t.csv: row 2 (line 3): column `b` holds NaN, which is not finite. \
         Replace it by a finite number, or have bad rows left out"
    );
    assert_eq!(
        said("-inf,2,dog"),
        "t.csv: row 2 (line 3): column `a` holds -inf, which is not finite. \
         Replace it by a finite number, or have bad rows left out"
    );
    assert_eq!(
        said("1,1e39,dog"),
        "t.csv: row 2 (line 3): column `b` holds 1e39, which is beyond the range of 32-bit floats. \
         Rescale the column, or have bad rows left out"
    );
    assert_eq!(
        said("1,,dog"),
        "t.csv: row 2 (line 3): column `b` has no value. Fill in the value, or have bad rows left out"
    );
    assert_eq!(
        said("1,two,dog"),
        "t.csv: row 2 (line 3): column `b` holds `two`, which is not a number. Correct it, \
         leave the column out, or have bad rows left out"
    );
    assert_eq!(
        said("1,2, "),
        "t.csv: row 2 (line 3): the label is missing. Fill in the label, or have bad rows left out"
    );
    assert_eq!(
        said("1,2,dog,3"),
        "t.csv: row 2 (line 3): there are 4 fields where 3 are expected. \
         Correct the row, or have bad rows left out"
    );
    let path = folder.write("latin.csv", b"a,y\n1,cat\n2,\xe9t\xe9\n");
    assert_eq!(
        message(&path, &labelled("y")),
        "latin.csv: row 2 (line 3): column `y` is not UTF-8 text. Save the file as UTF-8, or have bad rows left out"
    );
}

#[test]
fn bad_rows_are_skipped_on_request() {
    let folder = Folder::new();
    let text = "a,y\n1,cat\nNA,dog\n\n3,cow\nnan,x\n4,\n5,6,7\n?,q\n8,hen\ninf,z\n";
    let path = folder.write("t.csv", text);
    let mut reader = open(&path, &ReadOptions { skip_bad_rows: true, ..labelled("y") }).unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert!(reader.next().is_none());
    assert_eq!(batch.features, [1.0, 3.0, 8.0]);
    assert_eq!(batch.row_numbers, [1, 3, 8]);
    assert_eq!(batch.labels, texts(&["cat", "cow", "hen"]));
    assert_eq!(reader.skipped().rows, 6);
    assert_eq!(reader.skipped().reasons.len(), 5);
    let (place, problem) = &reader.skipped().reasons[0];
    assert_eq!(*place, Place { row: 2, line: Some(3) });
    assert_eq!(*problem, RowProblem::Missing { column: "a".into() });
}

#[test]
fn a_file_of_bad_rows_is_an_error() {
    let folder = Folder::new();
    let path = folder.write("t.csv", "a,y\nnan,cat\nnan,dog\n");
    assert_eq!(
        message(&path, &ReadOptions { skip_bad_rows: true, ..labelled("y") }),
        "t.csv: all 2 rows are bad; the first: row 1 (line 2): column `a` holds NaN, which is not finite. \
         Correct the file"
    );
}

#[test]
fn columns_of_words_are_named() {
    let folder = Folder::new();
    let path = folder.write("iris.csv", IRIS);
    for skip_bad_rows in [false, true] {
        let options = ReadOptions { skip_bad_rows, ..labelled("species") };
        assert_eq!(
            message(&path, &options),
            "iris.csv: column `id` is not numeric: row 1 (line 2) holds `a`. \
             Make it the label or the id, or leave it out"
        );
    }
    let path = folder.write("bare.csv", "1,2,setosa\n3,4,virginica\n");
    assert_eq!(
        message(&path, &plain()),
        "bare.csv: column `column_2` is not numeric: row 1 (line 1) holds `setosa`. \
         Make it the label or the id, or leave it out; if the first line is a header, say so"
    );
    let chosen = ReadOptions { features: columns(&["length"]), ..plain() };
    assert_eq!(read(&folder.path("iris.csv"), &chosen).data.features, [5.1, 6.2]);
}

#[test]
fn headers_can_be_forced() {
    let folder = Folder::new();
    let path = folder.write("t.csv", "1,2\n3,4\n");
    let rows = |header| read(&path, &ReadOptions { header, ..plain() }).data.rows;
    assert_eq!((rows(Header::Auto), rows(Header::Yes), rows(Header::No)), (2, 1, 2));
}

#[test]
fn unknown_and_conflicting_columns() {
    let folder = Folder::new();
    let path = folder.write("iris.csv", IRIS);
    assert_eq!(
        message(&path, &labelled("specis")),
        "iris.csv has no column `specis`; its columns are `id`, `length`, `width`, `species`. \
         Did you mean `species`?"
    );
    assert_eq!(
        message(&path, &labelled("target")),
        "iris.csv has no column `target`; its columns are `id`, `length`, `width`, `species`. Give one of these"
    );
    assert_eq!(
        message(&path, &labelled("9")),
        "iris.csv has no column 9; it has 4 columns, numbered from 0. Give one of these"
    );
    assert_eq!(
        message(&path, &labelled("1:3")),
        "iris.csv: the label is one column, not the range 1:3. Give a name or a number"
    );
    let options = ReadOptions { id: Some(column("species")), ..labelled("species") };
    assert_eq!(
        message(&path, &options),
        "iris.csv: column `species` is asked for both as the label and as the id. Choose one of them"
    );
    let options = ReadOptions { drop: columns(&["id", "length", "width"]), ..labelled("species") };
    assert_eq!(
        message(&path, &options),
        "iris.csv has no feature columns left: label, id and columns to leave out are all there are"
    );
    let path = folder.write("twice.csv", "a,b,a\n1,2,3\n");
    assert_eq!(
        message(&path, &plain()),
        "twice.csv has two columns called `a`, numbers 0 and 2. Rename one of them"
    );
}

#[test]
fn empty_files_and_lone_headers() {
    let folder = Folder::new();
    assert_eq!(
        message(&folder.write("empty.csv", ""), &plain()),
        "empty.csv is empty. Check the program that wrote it"
    );
    assert!(matches!(failure(&folder.write("blank.csv", "\n\n"), &plain()), DataError::EmptyFile { .. }));
    assert!(matches!(failure(&folder.write_gz("empty.csv.gz", ""), &plain()), DataError::EmptyFile { .. }));
    assert_eq!(
        message(&folder.write("header.csv", "a,b,c\n"), &plain()),
        "header.csv has columns but no rows. Check the program that wrote it"
    );
}

#[test]
fn words_for_nothing_are_labels_and_no_numbers() {
    let folder = Folder::new();
    let path = folder.write("t.csv", "a,y\n1,NA\n2,None\n3,nan\n4,?\n");
    assert_eq!(read(&path, &labelled("y")).data.labels, texts(&["NA", "None", "nan", "?"]));
}

#[test]
fn a_quote_left_open_is_named() {
    let folder = Folder::new();
    let said = |text: &str| message(&folder.write("t.csv", text), &labelled("y"));
    let expected = |line: u64| {
        format!(
            "t.csv: a quote is opened in the record of line {line} and never closed. Close it, or double it where it is part of the text"
        )
    };
    assert_eq!(said("\"a,y\n1,2\n"), expected(1));
    assert_eq!(said("a,y\n1,\"cat\n2,dog\n"), expected(2));
    assert_eq!(said("a,y\n1,cat\n2,\"dog"), expected(3));
    let long = "1,cat\n".repeat(200_000);
    assert_eq!(said(&format!("a,y\n{long}7,\"dog\n")), expected(200_002));
}

#[test]
fn names_that_count_columns_are_no_row() {
    let folder = Folder::new();
    let path = folder.write("frame.csv", "class,0,1,2\ncat,5,6,7\ndog,5,6,8\ncat,9,6,7\n");
    let found = read(&path, &labelled("0"));
    assert_eq!((found.data.rows, found.schema.named), (3, true));
    assert_eq!(found.schema.feature_names, ["0", "1", "2"]);
    let path = folder.write("index.csv", ",0,1\n0,5,6\n1,7,8\n");
    let found = read(&path, &plain());
    assert_eq!(found.data.features, [5.0, 6.0, 7.0, 8.0]);
    assert_eq!(found.schema.notices, [Notice::IndexColumn { column: 0 }]);
    let chosen = ReadOptions { features: columns(&["0:"]), ..plain() };
    assert_eq!(read(&path, &chosen).data.columns, 3);
    let path = folder.write("doubtful.csv", "0,1,2\n5,6,7\n");
    let found = read(&path, &plain());
    assert_eq!((found.data.rows, found.schema.notices), (2, vec![Notice::DoubtfulHeader]));
}

#[test]
fn expected_features_are_taken_by_name() {
    let folder = Folder::new();
    let path = folder.write("t.csv", "id,b,note,a,y\nx,2,-,1,cat\nz,4,-,3,dog\n");
    let expected = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let options = ReadOptions { expected: expected(&["a", "b"]), ..labelled("y") };
    let found = read(&path, &options);
    assert_eq!(found.schema.feature_names, ["a", "b"]);
    assert_eq!(found.data.features, [1.0, 2.0, 3.0, 4.0]);
    let options = ReadOptions { expected: expected(&["a", "c", "d"]), ..labelled("y") };
    assert_eq!(
        message(&path, &options),
        "t.csv lacks 2 of the features that are needed: `c`, `d`; its columns are `id`, `b`, `note`, `a`, `y`. \
         Give a file with these columns, or choose the features"
    );
    let options = ReadOptions { expected: expected(&["a"]), drop: columns(&["a"]), ..plain() };
    assert!(matches!(failure(&path, &options), DataError::ColumnConflict { .. }));
    // Without names in the file position counts.
    let bare = folder.write("bare.csv", "1,2\n3,4\n");
    let options = ReadOptions { expected: expected(&["a", "b"]), ..plain() };
    assert_eq!(read(&bare, &options).data.features, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn rows_that_a_model_does_not_take_are_bad_ones() {
    let folder = Folder::new();
    let path = folder.write("t.csv", "a,b\n1,2\n0,0\n1,-2e15\n0,-0\n3,4\n");
    assert_eq!(
        message(&path, &plain()),
        "t.csv: row 3 (line 4): column `b` holds -2e15, whose magnitude is above 1e15. \
         Rescale the column, or have bad rows left out"
    );
    let directed = ReadOptions { directed: true, ..plain() };
    assert_eq!(
        message(&path, &directed),
        "t.csv: row 2 (line 3): all features are zero, and such a row has no cosine distance to anything. \
         Remove the row, use another metric, or have bad rows left out"
    );
    let found = read(&path, &ReadOptions { skip_bad_rows: true, ..directed });
    assert_eq!((found.data.row_numbers, found.skipped.rows), (vec![1, 5], 3));
}

#[test]
fn no_message_is_as_long_as_the_file() {
    let folder = Folder::new();
    let long = "x".repeat(1 << 20);
    for text in [
        format!("{long},b\n1,2\n"),
        format!("{long},b\n1,word\n"),
        format!("a,{long}\n1,{long}\n"),
        format!("a,{long},{long}\n1,2,3\n"),
        format!("1 1:{long}\n"),
        format!("{{\"{long}\":\"{long}\"}}\n"),
        format!("{{\"a\":1,\"b\":{long}}}\n"),
    ] {
        for label in ["label", "0", "-1"] {
            let options = labelled(label);
            if let Err(error) = evmachine_data::read_all(&folder.write("t.txt", &text), &options) {
                assert!(error.to_string().len() < 3000, "{}", error.to_string().len());
            }
        }
    }
}

#[test]
fn a_line_of_separators_takes_no_memory_for_names() {
    let folder = Folder::new();
    let path = folder.write("t.csv", ",".repeat(3 << 20));
    assert!(matches!(failure(&path, &plain()), DataError::TooManyColumns { .. }));
}

#[test]
fn truncated_compression_is_noticed() {
    let folder = Folder::new();
    let text = (0..200_000).map(|row| format!("{},{row}", row * 7 % 1013)).collect::<Vec<_>>().join("\n");
    let whole = crate::support::gzip(text.as_bytes());
    let path = folder.write("cut.csv.gz", &whole[..whole.len() - 20]);
    assert_eq!(
        message(&path, &plain()),
        "cut.csv.gz is truncated: the data stops in the middle. Copy or export it again"
    );
}

#[test]
fn rows_longer_than_the_first_look() {
    let folder = Folder::new();
    let row = |value: usize| vec![format!("{value}.12345678"); 150_000].join(",");
    let path = folder.write("wide.csv", format!("{}\n{}\n{}\n", row(1), row(2), row(3)));
    let found = read(&path, &plain());
    assert_eq!((found.data.rows, found.data.columns), (3, 150_000));
}

#[test]
fn label_files() {
    let folder = Folder::new();
    let path = folder.write("x.csv", "1,2\nnan,4\n5,6\n");
    let with = |labels: &str| ReadOptions {
        labels_file: Some(folder.write("labels.txt", labels)),
        skip_bad_rows: true,
        ..plain()
    };
    let found = read(&path, &with("cat\ndog\ncow\n"));
    assert_eq!(found.data.labels, texts(&["cat", "cow"]));
    assert!(found.schema.label_name.unwrap().ends_with("labels.txt"));
    assert_eq!(
        message(&path, &with("cat\ndog\n")),
        "labels.txt has 2 labels but x.csv has more than 2 rows. \
         Give one label for each row, without a heading"
    );
    assert_eq!(
        message(&path, &with("label\ncat\ndog\ncow\n")),
        "labels.txt has more than 3 labels but x.csv has 3 rows. \
         Give one label for each row, without a heading"
    );
    let both = ReadOptions { label: Some(column("0")), ..with("cat\ndog\ncow\n") };
    assert!(matches!(failure(&path, &both), DataError::TwoLabels { .. }));
}
