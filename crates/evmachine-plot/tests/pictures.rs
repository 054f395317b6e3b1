//! Every kind of picture, as a reader of its files sees it.

use std::fs;

use evmachine_plot::{
    BarSeries, Bars, Confusion, Curves, Direction, Histograms, Multiples, Panel, Picture, Plane, PlotError,
    PointClass, Projection, Reliability, Series, bars, confusion, curves, histograms, multiples, plane,
    projection, reliability,
};

const LEFT: [[f64; 2]; 3] = [[0.0, 0.0], [1.0, 0.5], [0.4, 1.2]];
const RIGHT: [[f64; 2]; 3] = [[4.0, 3.0], [4.5, 3.5], [5.0, 2.5]];
const CLASSES: [PointClass<'static>; 2] =
    [PointClass { name: "cat", points: &LEFT }, PointClass { name: "dog & <wolf>", points: &RIGHT }];

fn largest(&[x, y]: &[f64; 2]) -> f64 {
    LEFT.iter().map(|point| (-(x - point[0]).hypot(y - point[1])).exp()).fold(0.0, f64::max)
}

fn draw_plane() -> Result<Picture, PlotError> {
    plane(&Plane {
        title: "Plane title",
        x_label: "first",
        y_label: "second",
        classes: &CLASSES,
        extreme_vectors: &LEFT[..1],
        queries: &[[2.0, 2.0]],
        psi: Some(&|points| Ok(points.iter().map(largest).collect())),
        levels: &[],
    })
}

fn draw_projection() -> Result<Picture, PlotError> {
    projection(&Projection {
        title: "Projection title",
        x_label: "PC 1",
        y_label: "PC 2",
        classes: &CLASSES,
        unknowns: &[[2.0, 2.0]],
    })
}

fn draw_histograms() -> Result<Picture, PlotError> {
    let values: Vec<f64> = (0..300).map(|value| f64::from(value % 17)).chain([9000.0]).collect();
    let panels = [Panel { label: "shape", values: &values }, Panel { label: "scale", values: &[2.0; 9] }];
    histograms(&Histograms { title: "Histogram title", panels: &panels })
}

fn draw_curves() -> Result<Picture, PlotError> {
    let series = [
        Series { name: "EVM", x: &[0.01, 0.1, 1.0], y: &[0.9, 0.8, 0.7], errors: Some(&[0.1, 0.0, 0.3]) },
        Series { name: "softmax", x: &[0.02], y: &[0.5], errors: None },
    ];
    curves(&Curves {
        title: "Curve title",
        x_label: "ratio",
        y_label: "F1",
        series: &series,
        logarithmic_x: true,
    })
}

fn draw_multiples() -> Result<Picture, PlotError> {
    let low = [Series { name: "EVM", x: &[0.0, 50.0], y: &[0.9, 0.8], errors: None }];
    let high = [Series { name: "NNO", x: &[0.0, 50.0], y: &[0.2, 0.1], errors: None }];
    let panel =
        |title, series| Curves { title, x_label: "unknown", y_label: "F1", series, logarithmic_x: false };
    let panels = [panel("50 known", &low[..]), panel("100 known", &high[..])];
    multiples(&Multiples { title: "Multiples title", panels: &panels })
}

fn draw_bars(direction: Direction) -> Result<Picture, PlotError> {
    let series = [
        BarSeries { name: "before", values: &[1.5, -2.0] },
        BarSeries { name: "after", values: &[2.5, 0.0] },
    ];
    bars(&Bars {
        title: "Bar title",
        value_label: "seconds",
        groups: &["fit", "predict"],
        series: &series,
        direction,
    })
}

fn draw_confusion() -> Result<Picture, PlotError> {
    let counts = [8, 1, 1, 0, 9, 1, 0, 0, 0];
    confusion(&Confusion { title: "Confusion title", names: &["cat", "dog"], counts: &counts })
}

fn draw_reliability() -> Result<Picture, PlotError> {
    reliability(&Reliability {
        title: "Reliability title",
        confidence: &[0.1, 0.0, 0.5, 0.9],
        accuracy: &[0.0, 0.0, 0.75, 1.0],
        weights: &[2.0, 0.0, 4.0, 4.0],
    })
}

/// A picture and texts it must hold.
type Expected = (Picture, &'static [&'static str]);

fn all() -> Result<Vec<Expected>, PlotError> {
    let bar_texts: &[&str] = &["Bar title", "seconds", "fit", "predict", "before", "after", "2.5", "-2"];
    Ok(vec![
        (
            draw_plane()?,
            &[
                "Plane title",
                "first",
                "second",
                "cat",
                "dog & <wolf>",
                "extreme vector",
                "query",
                "?",
                "0.005",
            ],
        ),
        (draw_projection()?, &["Projection title", "PC 1", "PC 2", "cat", "dog & <wolf>", "unknown"]),
        (draw_histograms()?, &["Histogram title", "scale", "count", "shape (1 of 301 above 16 not shown)"]),
        (draw_curves()?, &["Curve title", "ratio", "F1", "EVM", "softmax", "0.01", "1"]),
        (
            draw_multiples()?,
            &["Multiples title", "50 known", "100 known", "unknown", "F1", "NNO", "0.9", "0.1"],
        ),
        (draw_bars(Direction::Vertical)?, bar_texts),
        (draw_bars(Direction::Horizontal)?, bar_texts),
        (
            draw_confusion()?,
            &["Confusion title", "cat", "dog", "unknown", "0.80", "0.90", "true class", "predicted class"],
        ),
        // 0.2 * 0.1 + 0.4 * 0.25 + 0.4 * 0.1.
        (
            draw_reliability()?,
            &[
                "Reliability title",
                "ECE 0.160",
                "confidence",
                "accuracy",
                "share of answers",
                "where both agree",
            ],
        ),
    ])
}

fn texts(svg: &str) -> Result<Vec<String>, roxmltree::Error> {
    let document = roxmltree::Document::parse(svg)?;
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    Ok(texts.filter_map(|node| node.text().map(str::to_owned)).collect())
}

#[test]
fn svgs_parse_and_hold_all_names() {
    for (picture, expected) in all().unwrap() {
        let texts = texts(picture.svg()).unwrap();
        for text in expected {
            assert!(texts.iter().any(|found| found == text), "{text} is not among {texts:?}");
        }
        assert!(!picture.svg().contains("NaN") && !picture.svg().contains("inf "));
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for ((first, _), (second, _)) in all().unwrap().into_iter().zip(all().unwrap()) {
        assert!(first.svg() == second.svg());
        assert!(first.png(1.0).unwrap() == second.png(1.0).unwrap());
    }
}

#[test]
fn pngs_have_the_size_of_their_scale() {
    for (picture, _) in all().unwrap() {
        let (width, height) = picture.size();
        for scale in [0.5, 1.3] {
            let png = picture.png(scale).unwrap();
            assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
            let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
            assert_eq!(side(16), (width as f32 * scale).ceil() as u32);
            assert_eq!(side(20), (height as f32 * scale).ceil() as u32);
        }
    }
}

#[test]
fn every_clipping_region_is_defined_once() {
    for (picture, _) in all().unwrap() {
        let document = roxmltree::Document::parse(picture.svg()).unwrap();
        let mut ids: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
        let mut uses = document.descendants().filter_map(|node| node.attribute("clip-path")).peekable();
        assert!(uses.peek().is_some());
        assert!(uses.all(|used| ids.iter().any(|id| used == format!("url(#{id})"))));
    }
}

#[test]
fn every_error_bar_lies_inside_the_axes() {
    let series = Series { name: "wide", x: &[0.0, 1.0], y: &[0.5, 0.6], errors: Some(&[3.0, 0.1]) };
    let picture = curves(&Curves { series: &[series], ..Curves::default() }).unwrap();
    let document = roxmltree::Document::parse(picture.svg()).unwrap();
    let number =
        |node: roxmltree::Node<'_, '_>, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let inside = document.descendants().find(|node| node.has_tag_name("clipPath")).unwrap();
    let inside = inside.first_element_child().unwrap();
    let (top, height) = (number(inside, "y"), number(inside, "height"));
    let stems = document.descendants().filter(|node| {
        node.has_tag_name("line")
            && node.attribute("stroke") == Some("#0072b2")
            && node.attribute("stroke-width") == Some("1")
    });
    let mut found = 0;
    for stem in stems {
        for end in ["y1", "y2"] {
            let y = number(stem, end);
            assert!(y > top && y < top + height, "{y} is outside {top} to {}", top + height);
            found += 1;
        }
    }
    assert_eq!(found, 12);
}

#[test]
fn a_unit_is_as_long_across_as_upwards() {
    let points = [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]];
    let classes = [PointClass { name: "corner", points: &points }];
    let picture = plane(&Plane { classes: &classes, ..Plane::default() }).unwrap();
    let document = roxmltree::Document::parse(picture.svg()).unwrap();
    let circles: Vec<(f64, f64)> = document
        .descendants()
        .filter(|node| node.attribute("r").is_some_and(|radius| radius.starts_with("4.6")))
        .map(|node| ["cx", "cy"].map(|name| node.attribute(name).unwrap().parse::<f64>().unwrap()))
        .map(|[x, y]| (x, y))
        .collect();
    assert_eq!(circles.len(), 3);
    let (across, upwards) = (circles[1].0 - circles[0].0, circles[0].1 - circles[2].1);
    assert!((across - upwards).abs() < 0.05, "{across} and {upwards}");
}

#[test]
fn odd_names_stay_as_they_are() {
    let names = ["$5 and $6", "naïve 日本語 🦊", "a\\b", "\u{0}nul\nline"];
    let classes: Vec<PointClass<'_>> = names.iter().map(|&name| PointClass { name, points: &LEFT }).collect();
    let picture =
        projection(&Projection { title: "cost in $ and €", classes: &classes, ..Projection::default() })
            .unwrap();
    let texts = texts(picture.svg()).unwrap();
    for expected in ["$5 and $6", "naïve 日本語 🦊", "a\\b", "nul line", "cost in $ and €"] {
        assert!(texts.iter().any(|text| text == expected), "{expected} is not among {texts:?}");
    }
    picture.png(1.0).unwrap();
}

#[test]
fn extremes_are_drawn_without_panic() {
    for scale in [1e-300, 1e-12, 1.0, 1e15, 1e99] {
        let points = [[0.0, -scale], [scale, scale]];
        let classes = [PointClass { name: "extreme", points: &points }];
        let level = |points: &[[f64; 2]]| Ok(vec![0.5; points.len()]);
        let picture = plane(&Plane { classes: &classes, psi: Some(&level), ..Plane::default() }).unwrap();
        assert!(roxmltree::Document::parse(picture.svg()).is_ok());
        let values = [scale, 2.0 * scale, -scale, scale];
        histograms(&Histograms { title: "", panels: &[Panel { label: "", values: &values }] }).unwrap();
        let series = [BarSeries { name: "", values: &values }];
        bars(&Bars { groups: &["a", "b", "c", "d"], series: &series, ..Bars::default() }).unwrap();
        let series = [Series { name: "", x: &values, y: &values, errors: None }];
        curves(&Curves { series: &series, ..Curves::default() }).unwrap();
    }
    let series = [Series { name: "decades", x: &[1e-9, 1e99], y: &[0.0, 0.0], errors: None }];
    curves(&Curves { series: &series, logarithmic_x: true, ..Curves::default() }).unwrap();
    let long = "x".repeat(3000);
    let series = [BarSeries { name: &long, values: &[0.0] }];
    bars(&Bars { title: &long, value_label: &long, groups: &[&long], series: &series, ..Bars::default() })
        .unwrap();
}

#[test]
fn many_classes_are_cut_off_politely() {
    let names: Vec<String> = (0..45).map(|class| format!("class {class}")).collect();
    let classes: Vec<PointClass<'_>> = names.iter().map(|name| PointClass { name, points: &LEFT }).collect();
    let picture = projection(&Projection { classes: &classes, ..Projection::default() }).unwrap();
    let texts = texts(picture.svg()).unwrap();
    assert!(texts.iter().any(|text| text == "class 19"));
    assert!(texts.iter().all(|text| text != "class 20"));
    assert!(texts.iter().any(|text| text == "and 25 more classes"));
}

#[test]
fn files_follow_their_ending_and_replace_whole() {
    let folder = tempfile::tempdir().unwrap();
    let picture = draw_confusion().unwrap();
    let (svg, png) = (folder.path().join("a.SVG"), folder.path().join("a.png"));
    fs::write(&svg, "old").unwrap();
    picture.save(&svg).unwrap();
    picture.save(&png).unwrap();
    assert_eq!(fs::read_to_string(&svg).unwrap(), picture.svg());
    assert!(fs::read(&png).unwrap() == picture.png(2.0).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    assert!(matches!(picture.save(folder.path().join("a.gif")), Err(PlotError::UnknownFormat { .. })));
    assert!(matches!(picture.save(folder.path().join("a")), Err(PlotError::UnknownFormat { .. })));
    assert!(matches!(picture.save(folder.path().join("none/a.svg")), Err(PlotError::Write { .. })));
}
