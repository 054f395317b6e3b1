//! How often vectors are taken for those of another encoder: wrongly, whatever they are vectors of, and rightly.
//!
//! Encoders are drawn: two layers with random weights over a content of 12 dimensions, to unit length or not. Each is trained on 20
//! classes, and then asked about batches of 20 to 10,000 rows of five contents, the last three of classes that it never saw. Then the
//! same about vectors of other encoders of the same kind; and all of it about letters, where another encoder is other columns.
//!
//! `cargo run --release -p evmachine --example encoders`

#[path = "letter/mod.rs"]
mod letter;

use evmachine::{Evm, Features, Labels, Params};

const CONTENT: usize = 12;
const HIDDEN: usize = 48;
const CLASSES: usize = 20;
/// Rows of a batch, and how many batches of each content.
const BATCHES: [(usize, usize); 4] = [(20, 40), (100, 20), (1_000, 4), (10_000, 1)];

struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Nearly normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }

    fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }

    fn below(&mut self, count: usize) -> usize {
        ((self.next() * count as f64) as usize).min(count - 1)
    }
}

/// Two layers with random weights.
struct Drawn {
    first: Vec<f64>,
    offsets: Vec<f64>,
    second: Vec<f64>,
    dimensions: usize,
    unit: bool,
}

impl Drawn {
    fn new(random: &mut Random, dimensions: usize, unit: bool) -> Self {
        Self {
            first: random.normals(HIDDEN * CONTENT),
            offsets: random.normals(HIDDEN),
            second: random.normals(dimensions * HIDDEN),
            dimensions,
            unit,
        }
    }

    fn encode(&self, content: &[f64], values: &mut Vec<f32>) {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let hidden = self.first.chunks_exact(CONTENT).zip(&self.offsets);
        let hidden: Vec<f64> =
            hidden.map(|(weights, offset)| (dot(weights, content) / 3.0 + offset).max(0.0)).collect();
        let row: Vec<f64> = self.second.chunks_exact(HIDDEN).map(|weights| dot(weights, &hidden)).collect();
        let length = if self.unit { dot(&row, &row).sqrt().max(1e-9) } else { 1.0 };
        values.extend(row.iter().map(|value| (value / length) as f32));
    }

    fn batch(
        &self,
        random: &mut Random,
        classes: &[Vec<f64>],
        rows: usize,
    ) -> (Features<'static>, Vec<String>) {
        let (mut values, mut names) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let class = random.below(classes.len());
            let content: Vec<f64> =
                classes[class].iter().map(|centre| centre + 0.5 * random.normal()).collect();
            self.encode(&content, &mut values);
            names.push(format!("class {class}"));
        }
        (Features::new(values, self.dimensions).expect("finite"), names)
    }
}

fn classes(random: &mut Random, count: usize) -> Vec<Vec<f64>> {
    (0..count).map(|_| random.normals(CONTENT)).collect()
}

#[derive(Default)]
struct Count {
    warned: usize,
    batches: usize,
}

impl Count {
    fn ask(&mut self, evm: &Evm, rows: &Features<'_>) {
        self.batches += 1;
        self.warned += usize::from(evm.encoder_doubt(rows).is_some());
    }

    fn say(&self, what: &str) {
        println!("{what:<44} {:>6} of {:>6} batches warned of", self.warned, self.batches);
    }
}

fn drawn(encoders: u64) -> (Count, Count) {
    let (mut same, mut other) = (Count::default(), Count::default());
    let contents = ["known classes", "one known class", "new classes", "one new class", "half and half"];
    let mut by_content: Vec<Count> = contents.iter().map(|_| Count::default()).collect();
    for number in 0..encoders {
        let mut random = Random(number + 1);
        let (dimensions, unit) = ([32, 64, 128][number as usize % 3], number % 2 == 0);
        let (own, stranger) =
            (Drawn::new(&mut random, dimensions, unit), Drawn::new(&mut random, dimensions, unit));
        let (known, new) = (classes(&mut random, CLASSES), classes(&mut random, CLASSES));
        let (features, names) = own.batch(&mut random, &known, 2_000);
        let labels = Labels::new(names).expect("names");
        let params = Params { max_extreme_vectors: Some(evmachine::Budget::PerClass(1)), ..Params::paper() };
        let few = features.select(&(0..200).collect::<Vec<_>>());
        let few_labels = labels.select(&(0..200).collect::<Vec<_>>());
        let (mut evm, _) = Evm::fit(&params, &few, &few_labels).expect("good data");
        evm.set_encoder("drawn".parse().expect("a name"), &features, &labels);
        let half: Vec<Vec<f64>> = known[..CLASSES / 2].iter().chain(&new[CLASSES / 2..]).cloned().collect();
        let given = [&known[..], &known[3..4], &new[..], &new[3..4], &half[..]];
        for (content, count) in given.iter().zip(&mut by_content) {
            for (rows, batches) in BATCHES {
                for _ in 0..batches {
                    count.ask(&evm, &own.batch(&mut random, content, rows).0);
                }
            }
        }
        for rows in [20, 100, 1_000] {
            other.ask(&evm, &stranger.batch(&mut random, &known, rows).0);
            other.ask(&evm, &stranger.batch(&mut random, &new, rows).0);
        }
    }
    for (content, count) in contents.iter().zip(&by_content) {
        count.say(&format!("drawn encoders, {content}"));
        same.warned += count.warned;
        same.batches += count.batches;
    }
    (same, other)
}

fn letters() -> (Count, Count) {
    let (features, labels) = letter::read().expect("the letters of the project");
    let is_new = |row: usize| labels.ids()[row] % 4 == 3;
    let (train, rest): (Vec<usize>, Vec<usize>) =
        (0..labels.len()).filter(|&row| !is_new(row)).partition(|row| row % 2 == 0);
    let new: Vec<usize> = (0..labels.len()).filter(|&row| is_new(row)).collect();
    let few: Vec<usize> = train.iter().copied().take(300).collect();
    let (mut evm, _) =
        Evm::fit(&Params::paper(), &features.select(&few), &labels.select(&few)).expect("good data");
    evm.set_encoder("letter".parse().expect("a name"), &features.select(&train), &labels.select(&train));
    let (mut same, mut other) = (Count::default(), Count::default());
    let mut random = Random(7);
    for (rows, batches) in [(20, 2_000), (100, 500), (1_000, 50), (5_000, 5)] {
        for batch in 0..batches {
            let from = match batch % 4 {
                0 | 1 => rest.clone(),
                2 => new.clone(),
                _ => {
                    let class = labels.ids()[random.below(labels.len())];
                    (0..labels.len()).filter(|&row| labels.ids()[row] == class).collect()
                }
            };
            let drawn: Vec<usize> = (0..rows).map(|_| from[random.below(from.len())]).collect();
            let batch = features.select(&drawn);
            same.ask(&evm, &batch);
            let d = batch.columns();
            let turned = batch.values().chunks_exact(d).flat_map(|row| (0..d).map(|at| row[(at + 5) % d]));
            other.ask(&evm, &Features::new(turned.collect::<Vec<f32>>(), d).expect("finite"));
        }
    }
    (same, other)
}

fn main() {
    let encoders = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(60);
    let (same, other) = drawn(encoders);
    same.say("drawn encoders, the same");
    other.say("drawn encoders, another");
    let (same, other) = letters();
    same.say("letters, the same columns");
    other.say("letters, columns moved on by five");
}
