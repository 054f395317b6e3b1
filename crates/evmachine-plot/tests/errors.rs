//! Input that cannot be drawn gives an error that names it.

use evmachine_plot::{
    BarSeries, Bars, Confusion, Curves, Histograms, Panel, Plane, PlotError, PointClass, Projection,
    Reliability, Series, bars, confusion, curves, histograms, plane, projection, reliability,
};

const POINTS: [[f64; 2]; 2] = [[0.0, 0.0], [1.0, 1.0]];
const CLASSES: [PointClass<'static>; 1] = [PointClass { name: "cat", points: &POINTS }];

fn line<'a>(
    x: &'a [f64],
    y: &'a [f64],
    errors: Option<&'a [f64]>,
    logarithmic_x: bool,
) -> Result<(), PlotError> {
    let series = [Series { name: "EVM", x, y, errors }];
    curves(&Curves { series: &series, logarithmic_x, ..Curves::default() }).map(drop)
}

#[test]
fn nothing_to_draw() {
    assert!(matches!(plane(&Plane::default()), Err(PlotError::Empty { .. })));
    assert!(matches!(projection(&Projection::default()), Err(PlotError::Empty { .. })));
    assert!(matches!(histograms(&Histograms::default()), Err(PlotError::Empty { .. })));
    assert!(matches!(curves(&Curves::default()), Err(PlotError::Empty { .. })));
    assert!(matches!(bars(&Bars::default()), Err(PlotError::Empty { .. })));
    assert!(matches!(confusion(&Confusion::default()), Err(PlotError::Empty { .. })));
    assert!(matches!(line(&[], &[], None, false), Err(PlotError::Empty { .. })));
    let hollow = [PointClass { name: "cat", points: &[] }];
    assert!(matches!(
        projection(&Projection { classes: &hollow, ..Projection::default() }),
        Err(PlotError::Empty { .. })
    ));
    let panels = [Panel { label: "shape", values: &[] }];
    let error = histograms(&Histograms { title: "", panels: &panels }).unwrap_err();
    assert_eq!(error.to_string(), "the panel shape is empty. Give at least one value");
}

#[test]
fn lengths_that_differ() {
    let error = line(&[0.0, 1.0], &[0.5], None, false).unwrap_err();
    assert!(matches!(error, PlotError::LengthMismatch { expected: 2, found: 1, .. }));
    assert_eq!(error.to_string(), "y of the series EVM has 1 values where 2 belong. Give one for each");
    assert!(matches!(line(&[0.0], &[0.5], Some(&[]), false), Err(PlotError::LengthMismatch { .. })));
    let series = [BarSeries { name: "before", values: &[1.0] }];
    assert!(matches!(
        bars(&Bars { groups: &["a", "b"], series: &series, ..Bars::default() }),
        Err(PlotError::LengthMismatch { expected: 2, found: 1, .. })
    ));
    assert!(matches!(
        confusion(&Confusion { title: "", names: &["a"], counts: &[1, 2, 3] }),
        Err(PlotError::LengthMismatch { expected: 4, found: 3, .. })
    ));
}

#[test]
fn values_that_have_no_place() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200] {
        let points = [[0.0, 0.0], [0.0, bad]];
        let classes = [PointClass { name: "cat", points: &points }];
        let error = projection(&Projection { classes: &classes, ..Projection::default() }).unwrap_err();
        assert!(matches!(error, PlotError::NotDrawable { index: 3, .. }));
        assert!(error.to_string().contains("the class cat"));
        for (extreme_vectors, queries, unknowns) in [(&points[..], &[][..], &[][..]), (&[], &points, &points)]
        {
            let drawn = plane(&Plane { classes: &CLASSES, extreme_vectors, queries, ..Plane::default() });
            assert!(matches!(drawn, Err(PlotError::NotDrawable { .. })));
            let drawn = projection(&Projection { classes: &CLASSES, unknowns, ..Projection::default() });
            assert_eq!(drawn.is_err(), !unknowns.is_empty());
        }
        assert!(matches!(line(&[bad], &[0.0], None, false), Err(PlotError::NotDrawable { .. })));
        assert!(matches!(line(&[0.0], &[bad], None, false), Err(PlotError::NotDrawable { .. })));
        assert!(matches!(line(&[0.0], &[0.0], Some(&[bad]), false), Err(PlotError::NotDrawable { .. })));
        let panels = [Panel { label: "shape", values: &[1.0, bad] }];
        let drawn = histograms(&Histograms { title: "", panels: &panels });
        assert!(matches!(drawn, Err(PlotError::NotDrawable { index: 1, .. })));
        let series = [BarSeries { name: "before", values: &[bad] }];
        let drawn = bars(&Bars { groups: &["a"], series: &series, ..Bars::default() });
        assert!(matches!(drawn, Err(PlotError::NotDrawable { .. })));
    }
}

#[test]
fn values_outside_their_interval() {
    assert!(matches!(line(&[0.0], &[0.0], None, true), Err(PlotError::OutOfRange { index: 0, .. })));
    assert!(matches!(line(&[1.0], &[0.0], Some(&[-0.1]), false), Err(PlotError::OutOfRange { .. })));
    for value in [f64::NAN, -0.5, 1.5] {
        let psi = move |points: &[[f64; 2]]| Ok(vec![value; points.len()]);
        let drawn = plane(&Plane { classes: &CLASSES, psi: Some(&psi), ..Plane::default() });
        assert!(matches!(drawn, Err(PlotError::OutOfRange { .. })));
        let drawn = plane(&Plane { classes: &CLASSES, levels: &[value], ..Plane::default() });
        assert!(matches!(drawn, Err(PlotError::OutOfRange { .. })));
    }
}

#[test]
fn more_than_stays_readable() {
    let panels = [Panel { label: "shape", values: &[1.0] }; 3];
    let drawn = histograms(&Histograms { title: "", panels: &panels });
    assert!(matches!(drawn, Err(PlotError::TooMany { limit: 2, found: 3, .. })));
    let drawn = confusion(&Confusion { title: "", names: &["a"; 41], counts: &[0; 42 * 42] });
    assert!(matches!(drawn, Err(PlotError::TooMany { limit: 40, found: 41, .. })));
    let series = [Series { name: "EVM", x: &[0.0], y: &[0.0], errors: None }; 13];
    let drawn = curves(&Curves { series: &series, ..Curves::default() });
    assert!(matches!(drawn, Err(PlotError::TooMany { limit: 12, found: 13, .. })));
    let series = [BarSeries { name: "before", values: &[1.0; 61] }];
    let drawn = bars(&Bars { groups: &["a"; 61], series: &series, ..Bars::default() });
    assert!(matches!(drawn, Err(PlotError::TooMany { limit: 60, found: 61, .. })));
}

#[test]
fn scales_without_pixels() {
    let picture = plane(&Plane { classes: &CLASSES, ..Plane::default() }).unwrap();
    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-6, 1e6] {
        assert!(matches!(picture.png(scale), Err(PlotError::Scale { .. })), "{scale}");
    }
}

#[test]
fn bins_that_are_none() {
    let draw = |confidence: &[f64], accuracy: &[f64], weights: &[f64]| {
        reliability(&Reliability { title: "", confidence, accuracy, weights }).map(drop)
    };
    assert!(matches!(draw(&[], &[], &[]), Err(PlotError::Empty { .. })));
    let error = draw(&[0.5], &[0.5], &[0.0]).unwrap_err();
    assert_eq!(error.to_string(), "every bin is empty. Give at least one value");
    assert!(matches!(draw(&[0.5], &[0.5, 0.6], &[1.0]), Err(PlotError::LengthMismatch { .. })));
    assert!(matches!(draw(&[0.5], &[0.5], &[]), Err(PlotError::LengthMismatch { .. })));
    assert!(matches!(draw(&[1.5], &[0.5], &[1.0]), Err(PlotError::OutOfRange { .. })));
    assert!(matches!(draw(&[0.5], &[f64::NAN], &[1.0]), Err(PlotError::OutOfRange { .. })));
    assert!(matches!(draw(&[0.5], &[0.5], &[-1.0]), Err(PlotError::OutOfRange { .. })));
    assert!(matches!(draw(&[0.5; 51], &[0.5; 51], &[1.0; 51]), Err(PlotError::TooMany { limit: 50, .. })));
    draw(&[0.0], &[1.0], &[1e100]).unwrap();
}
