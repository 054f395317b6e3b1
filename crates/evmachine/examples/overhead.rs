//! The Rust side of `python/benches/overhead.py`: fits and predicts the same arrays, once for each line that comes in.

mod processor;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use evmachine::{Evm, Features, Labels, Params, TailSize};

const COLUMNS: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let folder =
        std::env::args().nth(1).ok_or("name the folder with train.f32, queries.f32 and labels.txt")?;
    let folder = Path::new(&folder);
    let (train, queries) = (values(&folder.join("train.f32"))?, values(&folder.join("queries.f32"))?);
    let names = std::fs::read_to_string(folder.join("labels.txt"))?;
    let params = Params { tail_size: TailSize::Count(75), ..Params::paper() };
    for line in std::io::stdin().lines() {
        line?;
        let (clock, before) = (Instant::now(), processor::seconds());
        let (evm, _) = Evm::fit(&params, &Features::new(&train, COLUMNS)?, &Labels::new(names.lines())?)?;
        let (fit, fit_processor) = (clock.elapsed().as_secs_f64(), processor::seconds() - before);
        let (clock, before) = (Instant::now(), processor::seconds());
        let decisions = evm.decide(&Features::new(&queries, COLUMNS)?)?;
        let (predict, predict_processor) = (clock.elapsed().as_secs_f64(), processor::seconds() - before);
        let unknown = decisions.iter().filter(|decision| decision.class().is_none()).count();
        println!(
            "{{\"fit\": [{fit}, {fit_processor}], \"predict\": [{predict}, {predict_processor}], \"unknown\": {unknown}}}"
        );
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn values(path: &Path) -> std::io::Result<Vec<f32>> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}
