//! Grows a forest from plain files and times it. `benches/forest.py` runs it beside scikit-learn.
//!
//!     forest extra|random|boosted TREES SEED COLUMNS TRAIN LABELS QUERIES OUTPUT
//!
//! TRAIN and QUERIES hold `f32`, row after row, LABELS a class number in `u32` for each row, all little-endian; OUTPUT gets the
//! probabilities of the queries as `f64`. Prints the seconds of growing and of asking.

use std::time::Instant;
use std::{env, error, fs};

use evmachine_engine::{Features, Run};
use evmachine_forest::{Boosted, BoostedOptions, Forest, ForestOptions};

fn main() -> Result<(), Box<dyn error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [kind, trees, seed, columns, train, labels, queries, output] = &arguments[..] else {
        return Err(
            "usage: forest extra|random|boosted TREES SEED COLUMNS TRAIN LABELS QUERIES OUTPUT".into()
        );
    };
    let words = |path: &String| -> Result<Vec<[u8; 4]>, std::io::Error> {
        Ok(fs::read(path)?.as_chunks::<4>().0.to_vec())
    };
    let floats = |path: &String| -> Result<Vec<f32>, std::io::Error> {
        Ok(words(path)?.into_iter().map(f32::from_le_bytes).collect())
    };
    let train = Features::new(floats(train)?, columns.parse()?)?;
    let queries = Features::new(floats(queries)?, columns.parse()?)?;
    let labels: Vec<u32> = words(labels)?.into_iter().map(u32::from_le_bytes).collect();
    let classes = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let (trees, seed) = (trees.parse()?, seed.parse()?);
    let options = match kind.as_str() {
        "extra" => Some(ForestOptions::extra_trees()),
        "random" => Some(ForestOptions::random_forest()),
        "boosted" => None,
        _ => return Err(format!("{kind}: extra, random or boosted").into()),
    };
    let run = Run::new();
    let clock = Instant::now();
    let (grown, asked, found) = if let Some(options) = options {
        let options = ForestOptions { trees, seed, ..options };
        let forest = Forest::fit(&run, &train, &labels, classes, &options)?;
        let grown = clock.elapsed();
        (grown, Instant::now(), forest.probabilities(&queries)?)
    } else {
        let options = BoostedOptions { rounds: trees, seed, ..BoostedOptions::default() };
        let boosted = Boosted::fit(&run, &train, &labels, classes, &options)?;
        let grown = clock.elapsed();
        (grown, Instant::now(), boosted.probabilities(&queries)?)
    };
    println!("{} {}", grown.as_secs_f64(), asked.elapsed().as_secs_f64());
    fs::write(output, found.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
    Ok(())
}
