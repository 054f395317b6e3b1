//! Parquet and Arrow files, those of `pyarrow` and broken ones.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, Date32Array, FixedSizeListArray, Float32Array, Float64Array, ListArray, RecordBatch,
    StringArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};
use evmachine_data::{DataError, Format, ReadOptions};

use crate::support::{
    Folder, batches, column, columns, failure, fixture, labelled, message, plain, read, texts,
};

/// Writes the columns in every format of record batches.
fn write_all(folder: &Folder, columns: &[(&str, ArrayRef)]) -> Vec<PathBuf> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.iter().map(|(name, array)| (*name, array.clone(), true)),
    )
    .unwrap();
    write_batch(folder, &batch)
}

fn write_batch(folder: &Folder, batch: &RecordBatch) -> Vec<PathBuf> {
    let paths = ["t.parquet", "t.arrow", "t.arrows"].map(|name| folder.path(name));
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(File::create(&paths[0]).unwrap(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    let mut writer = FileWriter::try_new(File::create(&paths[1]).unwrap(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    let mut writer = StreamWriter::try_new(File::create(&paths[2]).unwrap(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    paths.to_vec()
}

/// The message without the extension, which differs from format to format.
fn said(path: &Path, options: &ReadOptions) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    message(path, options).replace(name, "t")
}

#[test]
fn scalars_written_by_pyarrow() {
    for name in ["scalars_snappy.parquet", "scalars_zstd.parquet", "scalars_lz4.feather", "scalars.arrows"] {
        let options = ReadOptions { id: Some(column("key")), ..labelled("class") };
        let found = read(&fixture(name), &options);
        assert_eq!(found.schema.feature_names, ["a", "b", "h", "flag"], "{name}");
        assert_eq!(found.data.features, [1.5, -2.0, 3.25, 1.0, 4.0, 5.0, -6.75, 0.0], "{name}");
        assert_eq!(found.data.labels, texts(&["cat", "dog"]));
        assert_eq!(found.data.ids, texts(&["10", "11"]));
        let options = ReadOptions { features: columns(&["h", "a"]), label: Some(column("flag")), ..plain() };
        let found = read(&fixture(name), &options);
        assert_eq!(found.data.features, [3.25, 1.5, -6.75, 4.0]);
        assert_eq!(found.data.labels, texts(&["true", "false"]));
        let options = ReadOptions {
            features: columns(&["b"]),
            id: Some(column("key")),
            kept: columns(&["class", "a"]),
            ..plain()
        };
        let found = read(&fixture(name), &options).data;
        assert_eq!((found.features, found.ids), (vec![-2.0, 5.0], texts(&["10", "11"])), "{name}");
        assert_eq!(found.kept, [["cat", "dog"], ["1.5", "4"]], "{name}");
    }
}

#[test]
fn vectors_written_by_pyarrow() {
    for (name, labels) in [
        ("list.parquet", ["0", "1"]),
        ("fixed_list.parquet", ["cat", "dog"]),
        ("fixed_list.arrow", ["cat", "dog"]),
    ] {
        let found = read(&fixture(name), &labelled("label"));
        assert_eq!(found.schema.feature_names, ["embedding_0", "embedding_1", "embedding_2"], "{name}");
        assert_eq!(found.data.features, [1.5, -2.0, 3.25, 4.0, 5.5, -6.75], "{name}");
        assert_eq!(found.data.labels, texts(&labels));
        let chosen = ReadOptions { features: columns(&["embedding"]), ..plain() };
        assert_eq!(read(&fixture(name), &chosen).data.columns, 3);
    }
}

#[test]
fn batches_cut_record_batches() {
    let folder = Folder::new();
    let values: ArrayRef = Arc::new(Float32Array::from_iter_values((0..1000).map(|row| row as f32)));
    let vectors: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(
        (0..1000).map(|row| Some(vec![Some(row as f32), Some(0.5)])),
    ));
    for path in write_all(&folder, &[("v", values), ("e", vectors)]) {
        for (feature, width) in [("v", 1), ("e", 2)] {
            let options = ReadOptions { features: columns(&[feature]), batch_rows: 300, ..plain() };
            let found = batches(&path, &options);
            assert_eq!(found.iter().map(|batch| batch.rows).collect::<Vec<_>>(), [300, 300, 300, 100]);
            assert_eq!(found[3].features[0], 900.0);
            assert_eq!(found[3].features.len(), 100 * width);
            assert_eq!(found[3].first_row, 901);
        }
    }
}

#[test]
fn bad_rows() {
    let folder = Folder::new();
    let a: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(1.0), None, Some(f64::NAN), Some(1e300), Some(5.0)]));
    let y: ArrayRef = Arc::new(StringArray::from(vec![Some("cat"), Some("dog"), Some("x"), Some("x"), None]));
    let e: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(vec![
        Some(vec![Some(1.0), Some(2.0)]),
        Some(vec![Some(1.0)]),
        None,
        Some(vec![Some(1.0), None]),
        Some(vec![Some(9.0), Some(8.0)]),
    ]));
    let skipping =
        |feature: &str| ReadOptions { features: columns(&[feature]), skip_bad_rows: true, ..labelled("y") };
    for path in write_all(&folder, &[("a", a), ("y", y), ("e", e)]) {
        let found = read(&path, &skipping("a"));
        assert_eq!(found.data.features, [1.0]);
        let reasons: Vec<String> =
            found.skipped.reasons.iter().map(|(place, problem)| format!("{place}: {problem}")).collect();
        assert_eq!(
            reasons,
            [
                "row 2: column `a` has no value",
                "row 3: column `a` holds NaN, which is not finite",
                "row 4: column `a` holds 1e300, which is beyond the range of 32-bit floats",
                "row 5: the label is missing",
            ]
        );
        let found = read(&path, &skipping("e"));
        assert_eq!(found.data.features, [1.0, 2.0]);
        let reasons: Vec<String> =
            found.skipped.reasons.iter().map(|(place, problem)| format!("{place}: {problem}")).collect();
        assert_eq!(
            reasons,
            [
                "row 2: the vector in column `e` has 1 elements where 2 are expected",
                "row 3: column `e` has no value",
                "row 4: column `e_1` has no value",
                "row 5: the label is missing",
            ]
        );
        let strict = ReadOptions { skip_bad_rows: false, ..skipping("e") };
        assert_eq!(
            said(&path, &strict),
            "t: row 2: the vector in column `e` has 1 elements where 2 are expected. \
             Use vectors of one length, or have bad rows left out"
        );
    }
}

#[test]
fn the_first_vector_may_be_missing() {
    let folder = Folder::new();
    let rows = vec![None, Some(vec![]), Some(vec![Some(1.0), Some(2.0)])];
    let vectors: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(rows));
    let missing: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<Float32Type, Vec<Option<f32>>, _>(vec![None, None, None]));
    for path in write_all(&folder, &[("e", vectors), ("none", missing)]) {
        let chosen = |name: &str| ReadOptions { features: columns(&[name]), skip_bad_rows: true, ..plain() };
        let found = read(&path, &chosen("e"));
        assert_eq!((found.data.features, found.skipped.rows), (vec![1.0, 2.0], 2));
        assert_eq!(
            said(&path, &chosen("none")),
            "t: row 1: column `none` has no value. Fill in the value, or have bad rows left out"
        );
    }
}

#[test]
fn columns_of_other_types() {
    let folder = Folder::new();
    let a: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    let name: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let day: ArrayRef = Arc::new(Date32Array::from(vec![1]));
    let e: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(vec![Some(vec![Some(1.0), Some(2.0)])]));
    for path in write_all(&folder, &[("a", a), ("name", name), ("day", day), ("e", e)]) {
        assert_eq!(
            said(&path, &plain()),
            "t: column `name` is not numeric: its type is Utf8. \
             Make it the label or the id, or leave it out"
        );
        assert_eq!(
            said(&path, &labelled("day")),
            "t: column `day` cannot be the label: its type is Date32. Convert it to text or integers"
        );
        let mixed = ReadOptions { drop: columns(&["day", "name"]), ..plain() };
        assert_eq!(
            said(&path, &mixed),
            "t: column `e` holds vectors and column `a` is a feature too. \
             Choose the one, or leave out the other"
        );
        assert_eq!(
            said(&path, &labelled("nam")),
            "t has no column `nam`; its columns are `a`, `name`, `day`, `e`. Did you mean `name`?"
        );
    }
}

#[test]
fn no_rows_and_truncation() {
    let folder = Folder::new();
    let empty: ArrayRef = Arc::new(Float64Array::from(Vec::<f64>::new()));
    for path in write_all(&folder, &[("a", empty)]) {
        assert!(matches!(failure(&path, &plain()), DataError::NoRows { .. }));
    }
    let whole = std::fs::read(fixture("list.parquet")).unwrap();
    assert_eq!(
        message(&folder.write("cut.parquet", &whole[..whole.len() / 2]), &labelled("label")),
        "cut.parquet is truncated: the Parquet footer is missing. Copy or export it again"
    );
    let whole = std::fs::read(fixture("fixed_list.arrow")).unwrap();
    let cut = message(&folder.write("cut.arrow", &whole[..whole.len() / 2]), &labelled("label"));
    assert!(
        cut.starts_with("cut.arrow is damaged: ") || cut.starts_with("cut.arrow is truncated: "),
        "{cut}"
    );
    let path = folder.write_gz("whole.parquet.gz", std::fs::read(fixture("list.parquet")).unwrap());
    assert!(matches!(failure(&path, &plain()), DataError::NotStreamable { format: Format::Parquet, .. }));
}

/// Replaces the only occurrence of some bytes.
fn replace(content: &mut [u8], from: &[u8], to: &[u8]) {
    let found: Vec<usize> = (0..content.len()).filter(|&start| content[start..].starts_with(from)).collect();
    assert_eq!(found.len(), 1);
    content[found[0]..][..to.len()].copy_from_slice(to);
}

#[test]
fn compressed_buffers_that_claim_too_much() {
    let folder = Folder::new();
    let zeros: ArrayRef = Arc::new(Float64Array::from(vec![0.0; 54_321]));
    let batch = RecordBatch::try_from_iter([("a", zeros)]).unwrap();
    let schema = batch.schema();
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let options = IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap();
        let mut stream = StreamWriter::try_new_with_options(Vec::new(), &schema, options.clone()).unwrap();
        stream.write(&batch).unwrap();
        let mut file = FileWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
        file.write(&batch).unwrap();
        for mut content in [stream.into_inner().unwrap(), file.into_inner().unwrap()] {
            let path = folder.write("t.arrow", &content);
            assert_eq!(read(&path, &plain()).data.features, vec![0.0; 54_321]);
            replace(&mut content, &(8 * 54_321u64).to_le_bytes(), &(1u64 << 50).to_le_bytes());
            assert_eq!(
                message(&folder.write("t.arrow", &content), &plain()),
                "t.arrow is damaged: a buffer in it claims a length of 1125899906842624 bytes. \
                 Copy or export it again"
            );
        }
    }
}

#[test]
fn arrow_files_whose_parts_reach_beyond_their_end() {
    let folder = Folder::new();
    let said = "t.arrow is truncated: the data stops in the middle. Copy or export it again";
    let whole = std::fs::read(fixture("fixed_list.arrow")).unwrap();
    let mut footer = whole.clone();
    let length = footer.len() - 10;
    footer[length..][..4].copy_from_slice(&i32::MAX.to_le_bytes());
    assert_eq!(message(&folder.write("t.arrow", &footer), &labelled("label")), said);

    let values: ArrayRef = Arc::new(Float64Array::from(vec![1.5; 12_345]));
    let batch = RecordBatch::try_from_iter([("a", values)]).unwrap();
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let whole = writer.into_inner().unwrap();
    let range = footer_range(&whole);
    let footer = arrow_ipc::root_as_footer(&whole[range.clone()]).unwrap();
    let block = footer.recordBatches().unwrap().get(0);

    let mut body = whole.clone();
    replace(&mut body[range.clone()], &block.bodyLength().to_le_bytes(), &(1u64 << 50).to_le_bytes());
    assert_eq!(message(&folder.write("t.arrow", &body), &plain()), said);

    let mut metadata = whole.clone();
    let lengths = [i64::from(block.metaDataLength()).to_le_bytes(), block.bodyLength().to_le_bytes()];
    replace(&mut metadata[range], &lengths.concat(), &16u64.to_le_bytes());
    assert_eq!(
        message(&folder.write("t.arrow", &metadata), &plain()),
        "t.arrow is damaged: a message in it is not readable. Copy or export it again"
    );
}

/// Where the footer of an Arrow file is.
fn footer_range(content: &[u8]) -> std::ops::Range<usize> {
    let end = content.len() - 10;
    let length = i32::from_le_bytes(content[end..][..4].try_into().unwrap());
    end - length as usize..end
}

#[test]
fn endless_rows_of_empty_vectors() {
    let folder = Folder::new();
    let field = Arc::new(Field::new("item", DataType::Float32, true));
    let values: ArrayRef = Arc::new(Float32Array::from(Vec::<f32>::new()));
    let rows = 1 << 50;
    let lists: ArrayRef =
        Arc::new(FixedSizeListArray::try_new_with_length(field, 0, values, None, rows).unwrap());
    let batch = RecordBatch::try_from_iter([("e", lists)]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let path = folder.write("t.arrows", writer.into_inner().unwrap());
    assert!(matches!(failure(&path, &plain()), DataError::ColumnType { .. }));
}

/// A Parquet file without row groups whose only column lies in so many groups.
fn nested(depth: u8) -> Vec<u8> {
    let mut footer = vec![0x15, 2, 0x19, 0xfc];
    let elements = u32::from(depth) + 2;
    footer.extend([elements as u8 | 0x80, (elements >> 7) as u8]);
    footer.extend([0x48, 1, b's', 0x15, 2, 0]);
    footer.extend((0..depth).flat_map(|_| [0x35, 0, 0x18, 1, b'g', 0x15, 2, 0]));
    footer.extend([0x15, 2, 0x25, 0, 0x18, 1, b'x', 0]);
    footer.extend([0x16, 2, 0x19, 0x0c, 0]);
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", footer.as_slice(), &length, b"PAR1"].concat()
}

#[test]
fn parquet_groups_that_lie_too_deep() {
    let folder = Folder::new();
    let few = failure(&folder.write("t.parquet", nested(20)), &plain());
    assert!(matches!(few, DataError::ColumnType { .. }), "{few}");
    assert_eq!(
        message(&folder.write("t.parquet", nested(120)), &plain()),
        "t.parquet is damaged: its columns lie too deeply in each other. Copy or export it again"
    );
}

#[test]
fn class_labels_of_hugging_face_have_names() {
    let folder = Folder::new();
    let metadata = r#"{"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}, "x": {"dtype": "float32", "_type": "Value"}}}}"#;
    let schema = arrow_schema::Schema::new(vec![
        Field::new("x", DataType::Float32, false),
        Field::new("label", DataType::Int64, false),
    ])
    .with_metadata(std::collections::HashMap::from([("huggingface".to_owned(), metadata.to_owned())]));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0, 4.0])),
        Arc::new(arrow_array::Int64Array::from(vec![1, 0, 7, -1])),
    ];
    let batch = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    for path in write_batch(&folder, &batch) {
        let found = read(&path, &ReadOptions { skip_bad_rows: true, ..labelled("label") });
        assert_eq!(found.data.labels, texts(&["dog", "cat", "7"]));
        assert_eq!(found.skipped.rows, 1);
    }
}

#[test]
fn expected_features_are_scalars_or_the_elements_of_a_vector() {
    let folder = Folder::new();
    let vectors = ListArray::from_iter_primitive::<Float32Type, _, _>([Some([Some(1.0), Some(2.0)])]);
    let scalars: ArrayRef = Arc::new(Float64Array::from(vec![5.0]));
    let words: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let table = [
        ("id", words),
        ("v", Arc::new(vectors) as ArrayRef),
        ("w", scalars.clone()),
        ("__index_level_0__", scalars),
    ];
    for path in write_all(&folder, &table) {
        let expected = |names: &[&str]| ReadOptions {
            expected: names.iter().map(ToString::to_string).collect(),
            ..plain()
        };
        assert_eq!(read(&path, &expected(&["v_0", "v_1"])).data.features, [1.0, 2.0]);
        assert_eq!(read(&path, &expected(&["w"])).data.features, [5.0]);
        assert!(matches!(failure(&path, &expected(&["w", "u"])), DataError::MissingFeatures { .. }));
        let found = read(&path, &ReadOptions { drop: columns(&["id", "v"]), ..plain() });
        assert_eq!(found.schema.feature_names, ["w"]);
    }
}

#[test]
fn the_index_of_a_data_frame_is_no_feature_and_is_told() {
    let folder = Folder::new();
    let metadata = r#"{"index_columns": ["sample", {"kind": "range", "start": 0, "stop": 2, "step": 1}, "day"], "columns": []}"#;
    let names = ["x", "sample", "y", "day"];
    let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Float32, false)).collect();
    let schema = arrow_schema::Schema::new(fields)
        .with_metadata(std::collections::HashMap::from([("pandas".to_owned(), metadata.to_owned())]));
    let columns = (0..4).map(|at| Arc::new(Float32Array::from(vec![at as f32, 9.0])) as ArrayRef).collect();
    let batch = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    for path in write_batch(&folder, &batch) {
        let found = read(&path, &plain()).schema;
        assert_eq!(found.feature_names, ["x", "y"]);
        let told: Vec<String> = found.notices.iter().map(ToString::to_string).collect();
        let expected = ["sample", "day"].map(|name| {
            format!("column {name:?} is the index of a data frame; it is not taken for a feature")
        });
        assert_eq!(told, expected);
        // Who asks for it gets it.
        let asked = ReadOptions { features: self::columns(&["sample", "x"]), ..plain() };
        assert_eq!(read(&path, &asked).data.features[..2], [1.0, 0.0]);
        let label = read(&path, &labelled("day"));
        assert_eq!(label.schema.feature_names, ["x", "y"]);
        assert_eq!(label.schema.notices.len(), 1);
    }
}

#[test]
fn compression_that_is_not_read_is_named() {
    let folder = Folder::new();
    let mut bytes = std::fs::read(fixture("scalars_snappy.parquet")).unwrap();
    // The codec, a field before the number of values, from Snappy to Brotli.
    let places: Vec<usize> =
        (0..bytes.len() - 3).filter(|&at| bytes[at..at + 3] == [0x15, 0x02, 0x16]).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at + 1] = 0x08;
    }
    assert_eq!(
        message(&folder.write("t.parquet", bytes), &labelled("class")),
        "t.parquet is a Parquet file compressed by Brotli, which is not read. \
         Write it with the compression snappy, zstd or gzip"
    );
}
