//! `evmachine plot`

use std::path::{Path, PathBuf};

use clap::Args;
use evmachine::{Evm, Features};
use evmachine_plot::{Picture, Plane, PointClass, Projection, plane, projection};

use crate::console::Console;
use crate::data::{DataArguments, Labelled};
use crate::failure::{Failure, Kind};
use crate::model;
use crate::parameters::ParameterArguments;
use crate::principal;

/// Points drawn of each class; more would hide each other.
const SHOWN_PER_CLASS: usize = 400;

/// Draw a model or a data set
///
/// In two dimensions: the points, the extreme vectors and the contours of psi. In more: the two principal
/// components. A data set is trained on first; the parameters say how.
///
/// Example: evmachine plot letters.csv --label 0 -o letters.png
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A model file, or labelled data.
    input: PathBuf,

    /// The picture to write, .png or .svg.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Rows to mark where the model calls them unknown.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// The title of the picture.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    #[command(flatten)]
    columns: DataArguments,

    #[command(flatten)]
    parameters: ParameterArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let (evm, data) = if is_model(&arguments.input)? {
        (model::load(&arguments.input)?, None)
    } else {
        let params = arguments.parameters.build()?;
        let data = arguments.columns.read_labelled(console, &arguments.input, None)?;
        let progress = console.progress();
        let run = console.run(&progress);
        let (evm, _) = Evm::fit_with(&run, &params, &data.features, &data.labels)
            .map_err(|error| Failure::from(error).about(arguments.input.display()))?;
        (evm, Some(data))
    };
    let unknown = match &arguments.queries {
        Some(path) => unknowns(arguments, &evm, path)?,
        None => Features::new(Vec::new(), evm.dimensions())?,
    };
    let name =
        arguments.input.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let title = arguments.title.clone().unwrap_or(name);
    let picture = if evm.dimensions() == 2 {
        contours(&evm, data.as_ref(), &unknown, &title)?
    } else {
        components(&evm, data.as_ref(), &unknown, &title)?
    };
    picture.save(&arguments.output)?;
    console.say(format!("picture written to {}", arguments.output.display()));
    Ok(())
}

/// Whether a file is a model, by the JSON header that safetensors begin with.
fn is_model(path: &Path) -> Result<bool, Failure> {
    use std::io::Read;
    let mut start = [0u8; 9];
    let mut file = std::fs::File::open(path)
        .map_err(|error| Failure::new(Kind::Data, error.to_string()).about(path.display()))?;
    let read = file.read(&mut start).unwrap_or(0);
    Ok(read == 9 && start[8] == b'{' && start[4..8] == [0; 4])
}

fn unknowns(arguments: &Arguments, evm: &Evm, path: &Path) -> Result<Features<'static>, Failure> {
    let mut values = Vec::new();
    // Queries may have the label column of the data, or none.
    let unlabelled = DataArguments { label: None, ..arguments.columns.clone() };
    let dimensions = Some(evm.dimensions());
    let reader = unlabelled.open(path, dimensions).or_else(|_| arguments.columns.open(path, dimensions))?;
    for batch in reader {
        let batch = batch?;
        let features = Features::new(batch.features, batch.columns)?;
        let decisions = evm.decide(&features).map_err(|error| Failure::from(error).about(path.display()))?;
        for (row, decision) in decisions.iter().enumerate() {
            if decision.class().is_none() {
                values.extend_from_slice(features.row(row));
            }
        }
    }
    Ok(Features::new(values, evm.dimensions())?)
}

/// By class, the rows to draw: of the data, or the extreme vectors.
fn points_by_class(evm: &Evm, data: Option<&Labelled>) -> Vec<(String, Vec<Vec<f32>>)> {
    let mut classes: Vec<(String, Vec<Vec<f32>>)> =
        evm.classes().map(|class| (class.name.to_owned(), Vec::new())).collect();
    match data {
        Some(data) => {
            for (row, &id) in data.labels.ids().iter().enumerate() {
                classes[id as usize].1.push(data.features.row(row).to_vec());
            }
        }
        None => {
            for vector in evm.extreme_vectors() {
                classes[vector.class].1.push(evm.in_feature_space(vector.vector));
            }
        }
    }
    for (_, rows) in &mut classes {
        let step = rows.len().div_ceil(SHOWN_PER_CLASS).max(1);
        *rows = rows.iter().step_by(step).cloned().collect();
    }
    classes
}

fn contours(
    evm: &Evm,
    data: Option<&Labelled>,
    unknown: &Features<'_>,
    title: &str,
) -> Result<Picture, Failure> {
    let pair = |row: &[f32]| [f64::from(row[0]), f64::from(row[1])];
    let classes: Vec<(String, Vec<[f64; 2]>)> = points_by_class(evm, data)
        .into_iter()
        .map(|(name, rows)| (name, rows.iter().map(|row| pair(row)).collect()))
        .collect();
    let classes: Vec<PointClass<'_>> =
        classes.iter().map(|(name, points)| PointClass { name, points }).collect();
    let vectors: Vec<[f64; 2]> =
        evm.extreme_vectors().map(|vector| pair(&evm.in_feature_space(vector.vector))).collect();
    let queries: Vec<[f64; 2]> = (0..unknown.rows()).map(|row| pair(unknown.row(row))).collect();
    let psi = |x: f64, y: f64| {
        let query = Features::new(vec![x as f32, y as f32], 2);
        let decision = query.ok().and_then(|query| evm.decide(&query).ok());
        decision.map_or(0.0, |decision| decision[0].probability())
    };
    Ok(plane(&Plane {
        title,
        x_label: data.map_or("x", |data| data.schema.feature_names[0].as_str()),
        y_label: data.map_or("y", |data| data.schema.feature_names[1].as_str()),
        classes: &classes,
        extreme_vectors: &vectors,
        queries: &queries,
        psi: Some(&psi),
        ..Plane::default()
    })?)
}

fn components(
    evm: &Evm,
    data: Option<&Labelled>,
    unknown: &Features<'_>,
    title: &str,
) -> Result<Picture, Failure> {
    let classes = points_by_class(evm, data);
    let rows: Vec<f32> = classes.iter().flat_map(|(_, rows)| rows.iter().flatten().copied()).collect();
    let axes = principal::Plane::new(&Features::new(rows, evm.dimensions())?);
    let classes: Vec<(String, Vec<[f64; 2]>)> = classes
        .into_iter()
        .map(|(name, rows)| (name, rows.iter().map(|row| axes.project(row)).collect()))
        .collect();
    let classes: Vec<PointClass<'_>> =
        classes.iter().map(|(name, points)| PointClass { name, points }).collect();
    let unknowns: Vec<[f64; 2]> = (0..unknown.rows()).map(|row| axes.project(unknown.row(row))).collect();
    Ok(projection(&Projection {
        title,
        x_label: "first principal component",
        y_label: "second principal component",
        classes: &classes,
        unknowns: &unknowns,
    })?)
}
