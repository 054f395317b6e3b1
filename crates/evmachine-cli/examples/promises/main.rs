//! Whether thresholds keep what they promise, on rows that nobody saw.
//!
//! ```text
//! cargo run --release -p evmachine-cli --example promises                          # some cells of the grid, in a minute
//! cargo run --release -p evmachine-cli --example promises -- grid                  # all cells of it; --from ROWS, --to ROWS, --after edits
//! cargo run --release -p evmachine-cli --example promises -- grid --device         # those on a CUDA device
//! cargo run --release -p evmachine-cli --example promises -- grid --onnx PYTHON    # those in ONNX graphs, by a Python with onnxruntime
//! cargo run --release -p evmachine-cli --example promises -- large [--device]      # 200,000 x 512, 1,000 classes, robust
//! cargo run --release -p evmachine-cli --example promises -- strangers             # shares of strangers accepted
//! cargo run --release -p evmachine-cli --example promises -- batches               # false discovery rates
//! cargo run --release -p evmachine-cli --example promises -- confidence            # 200 trainings
//! cargo run --release -p evmachine-cli --example promises -- times                 # how long a fit takes
//! cargo run --release -p evmachine-cli --example promises -- divisions             # random divisions of UCI Letter
//! cargo run --release -p evmachine-cli --example promises -- divisions clinc CLINC.npz
//! cargo run --release -p evmachine-cli --example promises -- divisions tiny FOLDER 0
//! ```
//!
//! Each exits with an error if a promise is broken by more than chance allows.

#![allow(clippy::disallowed_methods, reason = "no flags say where this is to run")]

mod batches;
mod cells;
mod chance;
mod divisions;
mod drawn;
mod graph;
mod grid;
#[path = "../sets/mod.rs"]
mod sets;
mod strangers;
mod times;

use std::error::Error;
use std::process::ExitCode;

use crate::grid::Place;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let value = |flag: &str, or: usize| -> Result<usize, Box<dyn Error>> {
        let Some(at) = arguments.iter().position(|argument| argument == flag) else { return Ok(or) };
        Ok(arguments.get(at + 1).ok_or_else(|| format!("{flag} needs a number"))?.parse()?)
    };
    let kept = match arguments.first().map(String::as_str) {
        None => {
            grid::run(&grid::Options { few: true, place: Place::Here, rows: 0..=usize::MAX, after: None })?
        }
        Some("grid") => {
            let rows = value("--from", 0)?..=value("--to", usize::MAX)?;
            let python = arguments.iter().position(|argument| argument == "--onnx");
            let place = match python.map(|at| arguments.get(at + 1)) {
                Some(Some(python)) => Place::Graph(python.clone()),
                Some(None) => return Err("--onnx needs a Python that has onnxruntime".into()),
                None if has("--device") => Place::Device,
                None => Place::Here,
            };
            let after = arguments.iter().position(|argument| argument == "--after");
            let after = after.and_then(|at| arguments.get(at + 1)).cloned();
            grid::run(&grid::Options { few: has("--few"), place, rows, after })?
        }
        Some("large") => grid::run_large(has("--device"))?,
        Some("strangers") => strangers::run()?,
        Some("batches") => batches::run()?,
        Some("confidence") => batches::run_confidence()?,
        Some("times") => times::run()?,
        Some("divisions") => divisions::run(&arguments[1..])?,
        Some(other) => {
            return Err(format!(
                "{other:?} is not one of grid, large, strangers, batches, confidence, times, divisions"
            )
            .into());
        }
    };
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
