//! `evmachine inspect`

use std::path::PathBuf;

use clap::Args;
use evmachine::{Evm, Params, Shares, StatusCounts};
use evmachine_console::console::{Console, print, print_json, table};
use evmachine_console::failure::{Failure, Kind};
#[cfg(feature = "plot")]
use evmachine_plot::{Histograms, Panel, histograms};

#[cfg(feature = "plot")]
use crate::failure::OrFail;
use crate::model;
#[cfg(feature = "plot")]
use crate::picture;

/// Show what is inside a model: classes, extreme vectors, shapes and scales, fits, parameters
///
/// Example: evmachine inspect letters.safetensors --plot parameters.png
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// Draw the distributions of shape and scale to this file, .png or .svg.
    #[cfg(feature = "plot")]
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    #[cfg(feature = "plot")]
    picture::check(arguments.plot.as_deref())?;
    let evm = model::load(&arguments.model)?;
    if arguments.json {
        print_json(&json(&evm));
    } else {
        print_tables(&evm)?;
        console.warn_if(evm.promise().doubt());
    }
    #[cfg(feature = "plot")]
    if let Some(path) = &arguments.plot {
        let shapes: Vec<f64> = evm.extreme_vectors().map(|vector| vector.psi.shape).collect();
        let scales: Vec<f64> = evm.extreme_vectors().map(|vector| vector.psi.scale).collect();
        picture::save(console, &parameter_histograms(&shapes, &scales)?, path)?;
    }
    Ok(())
}

/// The supplement's Fig. 5.
#[cfg(feature = "plot")]
pub(crate) fn parameter_histograms(
    shapes: &[f64],
    scales: &[f64],
) -> Result<evmachine_plot::Picture, Failure> {
    histograms(&Histograms {
        title: "Psi-models of the extreme vectors",
        panels: &[
            Panel { label: "shape (kappa)", values: shapes },
            Panel { label: "scale (lambda)", values: scales },
        ],
    })
    .or_fail()
}

/// Smallest, median and largest.
fn spread(mut values: Vec<f64>) -> String {
    values.sort_unstable_by(f64::total_cmp);
    match values.as_slice() {
        [] => "-".to_owned(),
        sorted => {
            format!("{:.3} / {:.3} / {:.3}", sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1])
        }
    }
}

/// The score at which support is 0: one, or the range of those of the classes.
fn thresholds(evm: &Evm) -> String {
    let scores = (0..evm.classes().len()).map(|class| evm.threshold_of(class));
    let (low, high) = scores
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), score| (low.min(score), high.max(score)));
    if low == high { format!("{low:.4}") } else { format!("{low:.4} to {high:.4}, by class") }
}

fn shares(evm: &Evm) -> String {
    let alone = [1.0, 0.0, 0.0, 0.0];
    let of = |shares: Shares| [shares.features, shares.logits, shares.probe, shares.forest];
    let shares = evm.shares().map_or(alone, of);
    shares.map(|share| format!("{share:.3}")).join(" / ")
}

fn print_tables(evm: &Evm) -> Result<(), Failure> {
    let vectors: Vec<_> = evm.extreme_vectors().map(|vector| vector.psi).collect();
    let statuses: StatusCounts = vectors.iter().collect();
    let line = |name: &str, value: String| vec![name.to_owned(), value];
    let rows = [
        line("classes", evm.classes().len().to_string()),
        line("encoder", evm.encoder().map_or_else(|| "not named".to_owned(), ToString::to_string)),
        line("dimensions", evm.dimensions().to_string()),
        line("rows given", evm.points_seen().to_string()),
        line("extreme vectors", evm.extreme_vector_count().to_string()),
        line("ignored samples", evm.ignored_count().to_string()),
        line("vectors that are not of a class", evm.denied_count().to_string()),
        line("rows set aside", evm.rows_aside().len().to_string()),
        line("rows held out, never learned", evm.rows_held_out().count().to_string()),
        line(
            "missing values",
            if evm.fill_values().is_some() { "are filled" } else { "are refused" }.to_owned(),
        ),
        line("vector ratio", format!("{:.4}", evm.vector_ratio())),
        line("shape: smallest / median / largest", spread(vectors.iter().map(|psi| psi.shape).collect())),
        line("scale: smallest / median / largest", spread(vectors.iter().map(|psi| psi.scale).collect())),
        line("fits", statuses.to_string()),
        line("threshold: support 0 is at the score", thresholds(evm)),
        line("features / logits / probe / forest", shares(evm)),
        line("tail memory", format!("{:?}", evm.tail_memory()).to_lowercase()),
    ];
    print(format!("{}\n", table(&["model", ""], rows)));
    print(format!("unknown is what has a support below 0: {}\n", model::promise(evm)));
    let classes = evm.classes().map(|class| {
        vec![
            class.name.to_owned(),
            class.points_seen.to_string(),
            class.extreme_vectors.to_string(),
            format!("{:.3}", class.extreme_vectors as f64 / class.points_seen.max(1) as f64),
            class.tail_size.to_string(),
        ]
    });
    print(format!("{}\n", table(&["class", "rows", "extreme vectors", "ratio", "tail size"], classes)));
    let text = toml::to_string(&Params::clone(evm.params()))
        .map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
    print(text.trim_end());
    Ok(())
}

fn json(evm: &Evm) -> serde_json::Value {
    let statuses: StatusCounts =
        evm.extreme_vectors().map(|vector| vector.psi).collect::<Vec<_>>().iter().collect();
    let classes: Vec<serde_json::Value> = evm
        .classes()
        .map(|class| {
            serde_json::json!({
                "name": class.name,
                "rows": class.points_seen,
                "extreme_vectors": class.extreme_vectors,
                "tail_size": class.tail_size,
            })
        })
        .collect();
    serde_json::json!({
        "encoder": evm.encoder(),
        "dimensions": evm.dimensions(),
        "rows": evm.points_seen(),
        "extreme_vectors": evm.extreme_vector_count(),
        "ignored": evm.ignored_count(),
        "denied": evm.denied_count(),
        "set_aside": evm.rows_aside().len(),
        "held_out": evm.rows_held_out().count(),
        "fill": evm.fill_values(),
        "vector_ratio": evm.vector_ratio(),
        "fits": statuses,
        "tail_memory": evm.tail_memory(),
        "threshold": evm.threshold(),
        "promise": evm.promise(),
        "shares": evm.shares(),
        "calibration_rows": evm.calibration().map(|info| info.rows),
        "classes": classes,
        "params": evm.params(),
    })
}
