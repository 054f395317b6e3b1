//! The pictures of the demo's report.

use std::fmt::Write as _;

use evmachine_console::failure::Failure;
use evmachine_eval::curves::oscr_curve;
use evmachine_eval::evaluation::confusion;
use evmachine_plot::{
    BarSeries, Bars, Confusion, Curves, Direction, Picture, PointClass, Projection, Series, bars, curves,
    projection,
};

use super::Story;
use crate::commands::inspect::parameter_histograms;
use crate::failure::OrFail;

/// Adds all of them, each under its heading.
pub(super) fn add(page: &mut String, story: &Story<'_>) -> Result<(), Failure> {
    figure(page, &change(story)?, "The same held-out letters, before and after the update.");
    page.push_str("<h2>What it rejected</h2>");
    figure(
        page,
        &unknowns(story)?,
        "Held-out letters in the plane of the two principal components; crosses are what the first model called \
         unknown.",
    );
    page.push_str("<h2>At every threshold</h2>");
    figure(
        page,
        &oscr(story)?,
        "Rate of known letters accepted and named right against the rate of new letters accepted, before the \
         update.",
    );
    page.push_str("<h2>Which letters are taken for which</h2>");
    figure(page, &taken_for(story)?, "After the update; rows are the truth, columns the answers.");
    page.push_str("<h2>Inside the model</h2>");
    let vectors = || story.evm.extreme_vectors().map(|vector| vector.psi);
    let shapes: Vec<f64> = vectors().map(|psi| psi.shape).collect();
    let scales: Vec<f64> = vectors().map(|psi| psi.scale).collect();
    let caption = "Shape and scale of the Weibull curve around each extreme vector.";
    figure(page, &parameter_histograms(&shapes, &scales)?, caption);
    Ok(())
}

fn figure(page: &mut String, picture: &Picture, caption: &str) {
    // An XML declaration has no place inside HTML.
    let svg = picture.svg();
    let svg = svg.find("<svg").map_or(svg, |start| &svg[start..]);
    let _ = write!(page, "<figure>{svg}<figcaption>{caption}</figcaption></figure>");
}

fn change(story: &Story<'_>) -> Result<Picture, Failure> {
    let names: Vec<&str> = story.figures.iter().map(|line| line[0].as_str()).collect();
    let column = |index: usize| -> Vec<f64> {
        story
            .figures
            .iter()
            .map(|line| line[index].trim_end_matches(" %").parse().expect("a percentage"))
            .collect()
    };
    let (before, after) = (column(1), column(2));
    bars(&Bars {
        title: "Held-out letters, before and after the update",
        value_label: "per cent",
        groups: &names,
        series: &[BarSeries { name: "before", values: &before }, BarSeries { name: "after", values: &after }],
        direction: Direction::Horizontal,
    })
    .or_fail()
}

fn unknowns(story: &Story<'_>) -> Result<Picture, Failure> {
    let axes = evmachine_openworld::Plane::new(&story.features.select(story.train));
    let mut by_class: Vec<(&str, Vec<[f64; 2]>)> = Vec::new();
    let mut rejected = Vec::new();
    for (position, &row) in story.test.iter().enumerate() {
        let point = axes.project(story.features.row(row));
        if !story.before.0.accepted[position] {
            rejected.push(point);
            continue;
        }
        let name = story.evm.class_name(story.before.0.best[position]);
        match by_class.iter_mut().find(|(class, _)| *class == name) {
            Some((_, points)) => points.push(point),
            None => by_class.push((name, vec![point])),
        }
    }
    by_class.sort_by_key(|(name, _)| *name);
    let classes: Vec<PointClass<'_>> =
        by_class.iter().map(|(name, points)| PointClass { name, points }).collect();
    projection(&Projection {
        title: "What the first model called unknown",
        x_label: "first principal component",
        y_label: "second principal component",
        classes: &classes,
        unknowns: &rejected,
    })
    .or_fail()
}

fn oscr(story: &Story<'_>) -> Result<Picture, Failure> {
    const BOTH: &str = "the demo asks about known letters and about unknown ones";
    let (x, y): (Vec<f64>, Vec<f64>) = oscr_curve(&story.before.0).expect(BOTH).into_iter().unzip();
    let area = story.before.1.oscr.expect(BOTH);
    let name = format!("area {area:.3}");
    let series = [Series { name: &name, x: &x, y: &y, errors: None }];
    curves(&Curves {
        title: "OSCR",
        x_label: "unknown letters accepted",
        y_label: "known letters accepted and right",
        series: &series,
        logarithmic_x: false,
    })
    .or_fail()
}

fn taken_for(story: &Story<'_>) -> Result<Picture, Failure> {
    let names: Vec<&str> = story.evm.classes().map(|class| class.name).collect();
    let matrix = confusion(&story.after.0, names.len());
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&class| names[class]);
    let sorted: Vec<&str> = order.iter().map(|&class| names[class]).collect();
    order.push(names.len());
    let pairs = order.iter().flat_map(|&row| order.iter().map(move |&column| (row, column)));
    let counts: Vec<u64> = pairs.map(|(row, column)| matrix[row][column]).collect();
    evmachine_plot::confusion(&Confusion {
        title: "Confusion after the update",
        names: &sorted,
        counts: &counts,
    })
    .or_fail()
}
