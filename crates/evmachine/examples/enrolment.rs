//! What self-enrolment does to classes: a stream in which one suggestion in five is wrong, learned with and without a rule.
//!
//! People are drawn as unit vectors: 20 are known by 20 rows each, 10 are new. The stream has 20 days of 200 rows. Each row has a quality
//! between 0 and 1; the system suggests a wrong person for 0.4 (1 - quality) of the rows, one in five on average, and a row of less quality
//! is noisier. One row in a hundred is nearly zero. All suggestions are proposed, and at the end of a day the model learns what the rule
//! lets through.
//!
//! Purity is the share of learned rows that are of the person whose name they got, over all of them and of the class that is worst. Right is
//! the share of 3,000 further rows of all 30 people, of quality 0.6 and more, that are given their name, and wrong another one.
//!
//! `cargo run --release -p evmachine --example enrolment`

#[path = "random/mod.rs"]
mod random;

use std::collections::BTreeMap;
use std::error::Error;

use evmachine::{Capture, EnrolmentRule, Evm, Features, HeldReason, Labels, Metric, Params, UnknownPool};

use random::Random;

const DIMENSIONS: usize = 64;
const KNOWN: usize = 20;
const PEOPLE: usize = 30;
const DAYS: usize = 20;
const ROWS: usize = 200;
/// Rows that a person looks at and names each day, with a quarantine.
const CONFIRMED: usize = 40;

struct Captured {
    person: usize,
    suggested: usize,
    quality: f64,
    vector: Vec<f32>,
}

struct World {
    random: Random,
    centres: Vec<Vec<f64>>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let centres = (0..PEOPLE).map(|_| unit((0..DIMENSIONS).map(|_| random.normal()).collect())).collect();
        Self { random, centres }
    }

    fn row(&mut self, person: usize, quality: f64) -> Vec<f32> {
        let noise = 0.09 / (0.4 + 0.6 * quality);
        let random = &mut self.random;
        let values = self.centres[person].iter().map(|value| value + noise * random.normal());
        unit(values.collect()).into_iter().map(|value| value as f32).collect()
    }

    fn captured(&mut self) -> Captured {
        let person = self.below(PEOPLE);
        let quality = self.random.uniform();
        let mut vector = self.row(person, quality);
        let mut suggested = person;
        if self.random.uniform() < 0.01 {
            vector = (0..DIMENSIONS).map(|_| (1e-4 * self.random.normal()) as f32).collect();
            suggested = self.below(PEOPLE);
        }
        if self.random.uniform() < 0.4 * (1.0 - quality) {
            suggested = (person + 1 + self.below(PEOPLE - 1)) % PEOPLE;
        }
        Captured { person, suggested, quality, vector }
    }

    fn below(&mut self, count: usize) -> usize {
        ((self.random.uniform() * count as f64) as usize).min(count - 1)
    }
}

fn unit(mut values: Vec<f64>) -> Vec<f64> {
    let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    for value in &mut values {
        *value /= norm;
    }
    values
}

fn name(person: usize) -> String {
    format!("person {person}")
}

fn model(world: &mut World) -> Result<Evm, Box<dyn Error>> {
    let people = (0..KNOWN * 20).map(|row| row % KNOWN);
    let values: Vec<f32> = people.clone().flat_map(|person| world.row(person, 0.9)).collect();
    let params = Params { metric: Metric::Cosine, ..Params::plain() };
    Ok(Evm::fit(&params, &Features::new(values, DIMENSIONS)?, &Labels::new(people.map(name))?)?.0)
}

fn stream(rule: &EnrolmentRule, what: &str) -> Result<(), Box<dyn Error>> {
    let mut world = World::new(1);
    let mut model = model(&mut world)?;
    let mut pool = UnknownPool::new(DIMENSIONS);
    let mut truth = BTreeMap::new();
    // Rows learned by their name, and those of them that are right.
    let mut learned: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut held: Vec<HeldReason> = Vec::new();
    let (mut suggestions, mut wrong) = (0, 0);
    for day in 0..DAYS {
        for row in 0..ROWS {
            let Captured { person, suggested, quality, vector } = world.captured();
            let samples = pool.add(&Features::new(vector, DIMENSIONS)?)?;
            let occasion = Some(format!("day {day}"));
            pool.describe(&samples, &[Capture { quality: Some(quality), occasion, time: None }])?;
            pool.propose(&samples, &name(suggested))?;
            if rule.quarantine && row < CONFIRMED {
                pool.label(&samples, &name(person))?;
            }
            truth.insert(samples[0], person);
            suggestions += 1;
            wrong += usize::from(person != suggested);
        }
        let enrolled = pool.take_enrolled(&model, rule)?;
        for (sample, &class) in enrolled.samples.iter().zip(enrolled.labels.ids()) {
            let class = &enrolled.labels.names()[class as usize];
            let (rows, right) = learned.entry(class.clone()).or_default();
            *rows += 1;
            *right += usize::from(*class == name(truth[sample]));
        }
        if !enrolled.samples.is_empty() {
            model.update(&enrolled.features, &enrolled.labels)?;
        }
        held = enrolled.held_back.iter().map(|held| held.reason).collect();
    }
    let (rows, right) = learned.values().fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
    let worst = learned.values().map(|(rows, right)| *right as f64 / *rows as f64).fold(1.0, f64::min);
    let mut asked = Vec::new();
    for query in 0..3_000 {
        let quality = 0.6 + 0.4 * world.random.uniform();
        asked.extend(world.row(query % PEOPLE, quality));
    }
    let decisions = model.decide(&Features::new(asked, DIMENSIONS)?)?;
    let (mut named, mut other) = (0, 0);
    for (query, decision) in decisions.iter().enumerate() {
        match decision.class().map(|class| model.class_name(class) == name(query % PEOPLE)) {
            Some(true) => named += 1,
            Some(false) => other += 1,
            None => {}
        }
    }
    println!(
        "| {what} | {rows} | {:.3} | {worst:.3} | {} | {:.3} | {:.3} |",
        right as f64 / rows.max(1) as f64,
        model.classes().len(),
        f64::from(named) / 3_000.0,
        f64::from(other) / 3_000.0,
    );
    eprintln!(
        "{wrong} of {suggestions} suggestions wrong; held back at the end: {}",
        HeldReason::summary(&held)
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("| rule | rows learned | purity | worst class | classes | right | wrong |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let none = EnrolmentRule::default();
    stream(&none, "none")?;
    let quality = EnrolmentRule { least_quality: Some(0.6), ..none };
    stream(&quality, "quality of 0.6")?;
    let founding = EnrolmentRule { least_samples: 5, least_occasions: 2, ..quality };
    stream(&founding, "and 5 samples of 2 days to found a class")?;
    for most in [0.2, 0.1, 0.05, 0.02] {
        let moved = EnrolmentRule { most_moved: Some(most), ..founding.clone() };
        stream(&moved, &format!("and no class moves by more than {most} widths"))?;
    }
    let quarantine = EnrolmentRule { quarantine: true, ..founding };
    stream(&quarantine, "and no limit to that, but a quarantine; a person names 40 rows of each day")
}
