//! Any matrix comes back from every format as it was written.

use std::io::Write;
use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, RecordBatch, StringArray};
use evmachine_data::{Batch, Format, ReadOptions};
use proptest::prelude::*;

use crate::support::{Folder, labelled, npy, plain, read, singles};

#[derive(Debug, Clone)]
struct Matrix {
    width: usize,
    features: Vec<f32>,
    labels: Vec<String>,
}

fn matrices() -> impl Strategy<Value = Matrix> {
    let value = any::<f32>().prop_filter("such as a model takes", |value| value.abs() <= 1e15);
    (1usize..12, 1usize..40).prop_flat_map(move |(rows, width)| {
        let features = prop::collection::vec(value.clone(), rows * width);
        let labels = prop::collection::vec("[a-z][a-z ,\";]{0,6}[a-z]", rows);
        (features, labels).prop_map(move |(features, labels)| Matrix { width, features, labels })
    })
}

impl Matrix {
    fn rows(&self) -> impl Iterator<Item = (&[f32], &String)> {
        self.features.chunks(self.width).zip(&self.labels)
    }

    fn delimited(&self, delimiter: u8) -> Vec<u8> {
        let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
        let names = (0..self.width).map(|column| format!("f{column}")).chain(["y".to_owned()]);
        writer.write_record(names).unwrap();
        for (row, label) in self.rows() {
            let fields = row.iter().map(ToString::to_string).chain([label.clone()]);
            writer.write_record(fields).unwrap();
        }
        writer.into_inner().unwrap()
    }

    fn libsvm(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (index, (row, _)) in self.rows().enumerate() {
            write!(text, "{index}").unwrap();
            for (column, value) in row.iter().enumerate() {
                write!(text, " {}:{value:e}", column + 1).unwrap();
            }
            writeln!(text).unwrap();
        }
        text
    }

    fn npy(&self, fortran: bool) -> Vec<u8> {
        let shape = format!("({}, {})", self.labels.len(), self.width);
        let column = |column: usize| self.rows().map(move |(row, _)| row[column]);
        let by_columns: Vec<f32> = (0..self.width).flat_map(column).collect();
        npy("<f4", fortran, &shape, &singles(if fortran { &by_columns } else { &self.features }))
    }

    fn npz(&self) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, content) in [("junk", npy("<i8", false, "(0,)", &[])), ("m", self.npy(true))] {
            let options = zip::write::SimpleFileOptions::default();
            archive.start_file(format!("{name}.npy"), options).unwrap();
            archive.write_all(&content).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn scalar_batch(&self) -> RecordBatch {
        let column = |column: usize| -> ArrayRef {
            Arc::new(Float32Array::from_iter_values(self.rows().map(|(row, _)| row[column])))
        };
        let columns = (0..self.width).map(|index| (format!("f{index}"), column(index)));
        let labels: ArrayRef = Arc::new(StringArray::from(self.labels.clone()));
        RecordBatch::try_from_iter(columns.chain([("y".to_owned(), labels)])).unwrap()
    }

    fn vector_batch(&self) -> RecordBatch {
        let rows = self.rows().map(|(row, _)| Some(row.iter().copied().map(Some).collect::<Vec<_>>()));
        let vectors: ArrayRef = Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
            rows,
            i32::try_from(self.width).unwrap(),
        ));
        let labels: ArrayRef = Arc::new(StringArray::from(self.labels.clone()));
        RecordBatch::try_from_iter([("e", vectors), ("y", labels)]).unwrap()
    }
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn arrow_file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn arrow_stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_format(matrix in matrices(), batch_rows in 1usize..6) {
        let folder = Folder::new();
        let labelled = ReadOptions { batch_rows, ..labelled("y") };
        let plain = ReadOptions { batch_rows, ..plain() };
        let (scalars, vectors) = (matrix.scalar_batch(), matrix.vector_batch());
        let indexes: Vec<String> = (0..matrix.labels.len()).map(|index| index.to_string()).collect();
        let named = Some(&matrix.labels);
        let files = [
            ("m.csv", matrix.delimited(b','), named, Format::Csv),
            ("m.tsv", matrix.delimited(b'\t'), named, Format::Tsv),
            ("m.txt", matrix.delimited(b';'), named, Format::Csv),
            ("m.csv.gz", crate::support::gzip(&matrix.delimited(b',')), named, Format::Csv),
            ("m.svm", matrix.libsvm(), Some(&indexes), Format::Libsvm),
            ("m.svm.gz", crate::support::gzip(&matrix.libsvm()), Some(&indexes), Format::Libsvm),
            ("c.npy", matrix.npy(false), None, Format::Npy),
            ("f.npy", matrix.npy(true), None, Format::Npy),
            ("m.npz", matrix.npz(), None, Format::Npz),
            ("s.parquet", parquet(&scalars), named, Format::Parquet),
            ("v.parquet", parquet(&vectors), named, Format::Parquet),
            ("s.arrow", arrow_file(&scalars), named, Format::Arrow),
            ("v.feather", arrow_file(&vectors), named, Format::Arrow),
            ("s.arrows", arrow_stream(&scalars), named, Format::Arrow),
            ("v.arrows", arrow_stream(&vectors), named, Format::Arrow),
        ];
        for (name, content, labels, format) in files {
            let path = folder.write(name, content);
            let by_column = labels.is_some() && format != Format::Libsvm;
            let found = read(&path, if by_column { &labelled } else { &plain });
            prop_assert_eq!(found.schema.format, format, "{}", name);
            let rows = matrix.labels.len();
            let expected = Batch {
                first_row: 1,
                rows,
                columns: matrix.width,
                features: matrix.features.clone(),
                labels: labels.cloned(),
                ids: None,
                kept: Vec::new(),
                row_numbers: (1..=rows as u64).collect(),
            };
            prop_assert_eq!(found.data, expected, "{}", name);
        }
    }
}
