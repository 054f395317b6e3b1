//! Decisions of a model's ONNX graph, by onnxruntime in Python.

use std::error::Error;
use std::fs;
use std::process::Command;

use evmachine::{Evm, Features};
use evmachine_onnx::{UNKNOWN_LABEL, to_onnx};

/// Prints a character for each row, 1 if it is known.
const SCRIPT: &str = "
import sys, numpy, onnxruntime
graph, rows, columns = sys.argv[1], sys.argv[2], int(sys.argv[3])
session = onnxruntime.InferenceSession(graph)
features = numpy.fromfile(rows, dtype='<f4').reshape(-1, columns)
for part in numpy.array_split(features, max(1, len(features) // 500)):
    labels = session.run(['label'], {'features': part})[0]
    print(''.join('0' if label == sys.argv[4] else '1' for label in labels), end='')
";

/// Whether the graph calls each row known.
pub(crate) fn known(python: &str, evm: &Evm, queries: &Features<'_>) -> Result<Vec<bool>, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("evmachine-promises-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let (graph, rows) = (folder.join("model.onnx"), folder.join("rows.f32"));
    fs::write(&graph, to_onnx(evm, UNKNOWN_LABEL)?)?;
    let bytes: Vec<u8> = queries.values().iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(&rows, bytes)?;
    let columns = queries.columns().to_string();
    let mut command = Command::new(python);
    let found =
        command.args(["-c", SCRIPT]).arg(&graph).arg(&rows).args([&columns, UNKNOWN_LABEL]).output()?;
    fs::remove_dir_all(&folder)?;
    if !found.status.success() {
        return Err(format!("{python} failed: {}", String::from_utf8_lossy(&found.stderr)).into());
    }
    let known: Vec<bool> = found.stdout.iter().map(|&character| character == b'1').collect();
    if known.len() != queries.rows() {
        return Err(format!("{} answers to {} rows", known.len(), queries.rows()).into());
    }
    Ok(known)
}
