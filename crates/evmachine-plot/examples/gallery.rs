//! Writes one PNG of every kind of picture, from made-up data, into the folder given as argument.
//!
//! ```sh
//! cargo run -p evmachine-plot --example gallery -- pictures
//! ```

use std::error::Error;
use std::path::Path;

use evmachine_plot::{
    BarSeries, Bars, Confusion, Curves, Direction, Histograms, Panel, Picture, Plane, PlotError, PointClass,
    Projection, Reliability, Series, bars, confusion, curves, histograms, plane, projection, reliability,
};

type Drawing = fn() -> Result<Picture, PlotError>;

/// A small generator with a fixed start, so that the gallery is the same on every machine.
struct Dice(u64);

impl Dice {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn cloud(&mut self, centre: [f64; 2], spread: f64, points: usize) -> Vec<[f64; 2]> {
        (0..points)
            .map(|_| [centre[0] + spread * self.normal(), centre[1] + spread * self.normal()])
            .collect()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("give the folder for the pictures as argument")?;
    std::fs::create_dir_all(&folder)?;
    let kinds: [(&str, Drawing); 12] = [
        ("plane", four_classes),
        ("projection", ten_digits),
        ("projection-many", thirty_intents),
        ("histograms", weibulls),
        ("histogram-equal", equal_shapes),
        ("curves", openness),
        ("curves-logarithmic", vector_ratio),
        ("bars", update),
        ("bars-horizontal", timings),
        ("confusion", small_confusion),
        ("confusion-large", large_confusion),
        ("reliability", too_sure),
    ];
    for (name, draw) in kinds {
        let picture = draw()?;
        for ending in ["png", "svg"] {
            let path = Path::new(&folder).join(name).with_extension(ending);
            picture.save(&path)?;
            println!("{}", path.display());
        }
    }
    Ok(())
}

fn four_classes() -> Result<Picture, PlotError> {
    let mut dice = Dice(7);
    let clouds = [
        dice.cloud([-2.2, 1.6], 0.55, 26),
        dice.cloud([1.9, 2.0], 0.6, 24),
        dice.cloud([0.2, -1.9], 0.5, 22),
        dice.cloud([3.6, -1.0], 0.45, 18),
    ];
    let extreme: Vec<[f64; 2]> = clouds.iter().flat_map(|cloud| cloud.iter().step_by(6).copied()).collect();
    let largest = |&[x, y]: &[f64; 2]| {
        let inclusion = |vector: &[f64; 2]| {
            let distance = (x - vector[0]).hypot(y - vector[1]);
            (-(distance / 0.95).powf(3.0)).exp()
        };
        extreme.iter().map(inclusion).fold(0.0, f64::max)
    };
    let psi = |points: &[[f64; 2]]| Ok(points.iter().map(largest).collect());
    let names = ["setosa", "versicolor", "virginica", "iris sibirica"];
    let classes: Vec<PointClass<'_>> =
        names.iter().zip(&clouds).map(|(name, points)| PointClass { name, points }).collect();
    plane(&Plane {
        title: "Extreme vectors and probability of inclusion",
        x_label: "first feature",
        y_label: "second feature",
        classes: &classes,
        extreme_vectors: &extreme,
        queries: &[[-0.6, 0.4], [2.9, 0.6], [-3.4, -1.8]],
        psi: Some(&psi),
        levels: &[],
    })
}

fn clouds(classes: usize, points: usize, start: u64) -> Vec<Vec<[f64; 2]>> {
    let mut dice = Dice(start);
    (0..classes)
        .map(|class| {
            let angle = class as f64 * 2.4;
            let reach = 2.0 + 9.0 * (class as f64 / classes as f64).sqrt();
            dice.cloud([reach * angle.cos(), reach * angle.sin()], 0.9, points)
        })
        .collect()
}

fn ten_digits() -> Result<Picture, PlotError> {
    let clouds = clouds(10, 60, 3);
    let names: Vec<String> = (0..10).map(|digit| format!("digit {digit}")).collect();
    let classes: Vec<PointClass<'_>> =
        names.iter().zip(&clouds).map(|(name, points)| PointClass { name, points }).collect();
    let unknowns = Dice(11).cloud([1.0, -1.0], 4.5, 40);
    projection(&Projection {
        title: "Letters among digits",
        x_label: "PC 1 (31 % of variance)",
        y_label: "PC 2 (17 % of variance)",
        classes: &classes,
        unknowns: &unknowns,
    })
}

fn thirty_intents() -> Result<Picture, PlotError> {
    let clouds = clouds(30, 40, 5);
    let names: Vec<String> = (0..30).map(|intent| format!("intent_number_{intent}")).collect();
    let classes: Vec<PointClass<'_>> =
        names.iter().zip(&clouds).map(|(name, points)| PointClass { name, points }).collect();
    let unknowns = Dice(12).cloud([0.0, 0.0], 5.0, 25);
    projection(&Projection {
        title: "Thirty intents",
        x_label: "PC 1",
        y_label: "PC 2",
        classes: &classes,
        unknowns: &unknowns,
    })
}

fn weibulls() -> Result<Picture, PlotError> {
    let mut dice = Dice(21);
    let mut shapes: Vec<f64> = (0..2400).map(|_| (1.6 + 0.35 * dice.normal()).exp()).collect();
    shapes.extend([160.0, 420.0, 95.0]);
    let scales: Vec<f64> = (0..2400).map(|_| (0.42 + 0.08 * dice.normal()).abs()).collect();
    histograms(&Histograms {
        title: "Weibull parameters of 2 403 extreme vectors",
        panels: &[Panel { label: "shape κ", values: &shapes }, Panel { label: "scale λ", values: &scales }],
    })
}

fn equal_shapes() -> Result<Picture, PlotError> {
    histograms(&Histograms {
        title: "All shapes equal",
        panels: &[Panel { label: "shape", values: &[2.5; 40] }],
    })
}

fn openness() -> Result<Picture, PlotError> {
    let x: Vec<f64> = (0..8).map(|step| f64::from(step) * 0.02).collect();
    let line = |start: f64, fall: f64| -> Vec<f64> {
        x.iter().map(|openness| start - fall * openness.powf(0.8)).collect()
    };
    let (evm, weibull, softmax) = (line(0.97, 0.5), line(0.955, 0.9), line(0.962, 1.9));
    let errors: Vec<f64> = (0..8).map(|step| 0.006 + 0.003 * f64::from(step)).collect();
    curves(&Curves {
        title: "OLETTER: F1 against openness",
        x_label: "openness",
        y_label: "F1 measure",
        series: &[
            Series { name: "EVM", x: &x, y: &evm, errors: Some(&errors) },
            Series { name: "W-SVM", x: &x, y: &weibull, errors: Some(&errors) },
            Series { name: "softmax threshold", x: &x, y: &softmax, errors: Some(&errors) },
        ],
        logarithmic_x: false,
    })
}

fn vector_ratio() -> Result<Picture, PlotError> {
    let x: Vec<f64> = (0..120).map(|step| 10f64.powf(-3.0 + f64::from(step) / 119.0 * 3.0)).collect();
    let line = |rate: f64| -> Vec<f64> { x.iter().map(|ratio| 0.98 - 0.5 * (-ratio * rate).exp()).collect() };
    let (greedy, random) = (line(40.0), line(9.0));
    curves(&Curves {
        title: "OSCR against the share of vectors kept",
        x_label: "vector ratio",
        y_label: "area under the OSCR curve",
        series: &[
            Series { name: "set cover", x: &x, y: &greedy, errors: None },
            Series { name: "random subset", x: &x, y: &random, errors: None },
        ],
        logarithmic_x: true,
    })
}

fn update() -> Result<Picture, PlotError> {
    bars(&Bars {
        title: "Before and after an incremental update",
        value_label: "score",
        groups: &["accuracy", "macro F1", "AUROC", "OSCR"],
        series: &[
            BarSeries { name: "before", values: &[0.912, 0.887, 0.941, 0.853] },
            BarSeries { name: "after update", values: &[0.931, 0.913, 0.948, 0.881] },
            BarSeries { name: "full retraining", values: &[0.934, 0.915, 0.95, 0.884] },
        ],
        direction: Direction::Vertical,
    })
}

fn timings() -> Result<Picture, PlotError> {
    bars(&Bars {
        title: "Time to fit",
        value_label: "seconds",
        groups: &["OLETTER, 20 000 rows", "MNIST, 60 000 rows", "CLINC150", "ImageNet features, 1.2 M rows"],
        series: &[
            BarSeries { name: "1 thread", values: &[3.2, 41.7, 1.9, 388.0] },
            BarSeries { name: "16 threads", values: &[0.41, 4.6, 0.27, 37.4] },
        ],
        direction: Direction::Horizontal,
    })
}

fn matrix(classes: usize) -> Vec<u64> {
    let mut dice = Dice(31);
    let side = classes + 1;
    (0..side * side)
        .map(|cell| {
            let noise = dice.uniform();
            if cell / side == cell % side {
                70 + (40.0 * noise) as u64
            } else if cell % side == classes {
                (9.0 * noise) as u64
            } else {
                (10.0 * noise.powi(12)) as u64
            }
        })
        .collect()
}

fn small_confusion() -> Result<Picture, PlotError> {
    let names = ["airplane", "automobile", "bird", "cat", "deer", "dog"];
    confusion(&Confusion { title: "Six known classes", names: &names, counts: &matrix(6) })
}

fn large_confusion() -> Result<Picture, PlotError> {
    let names: Vec<String> = (0..40).map(|class| format!("category {class:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    confusion(&Confusion { title: "Forty known classes", names: &names, counts: &matrix(40) })
}

fn too_sure() -> Result<Picture, PlotError> {
    let bins = 10;
    let confidence: Vec<f64> = (0..bins).map(|bin| (f64::from(bin) + 0.55) / f64::from(bins)).collect();
    let accuracy: Vec<f64> = confidence.iter().map(|confidence| confidence.powf(1.6)).collect();
    // Nobody was as unsure as the second bin.
    let weights = [3.0, 0.0, 8.0, 12.0, 21.0, 30.0, 52.0, 85.0, 160.0, 410.0];
    reliability(&Reliability {
        title: "A classifier that is too sure",
        confidence: &confidence,
        accuracy: &accuracy,
        weights: &weights,
    })
}
