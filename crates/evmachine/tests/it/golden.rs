//! Agreement with reference fits: an independent maximum-likelihood fit and libmr 0.1.9.

use evmachine::{Evm, Features, FitStatus, Labels, MarginError, Params, PsiModel, TailModel, TailSize};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    margins: Vec<f64>,
    distances: Vec<f64>,
    direct: Direct,
    libmr: Libmr,
}

#[derive(Deserialize)]
struct Direct {
    shape: f64,
    scale: f64,
    psi: Vec<f64>,
}

#[derive(Deserialize)]
struct Libmr {
    shape: f64,
    scale: f64,
    small_score: f64,
    w_score: Vec<f64>,
}

fn golden() -> Vec<Case> {
    let golden: Golden = serde_json::from_str(include_str!("../golden/weibull_fits.json")).unwrap();
    assert_eq!(golden.cases.len(), 24);
    golden.cases
}

/// Largest relative difference of the parameters, and largest difference of psi.
fn differences(found: &PsiModel, model: TailModel, case: &Case) -> (f64, f64) {
    let (shape, scale, psi) = match model {
        TailModel::Libmr => (case.libmr.shape, case.libmr.scale, &case.libmr.w_score),
        _ => (case.direct.shape, case.direct.scale, &case.direct.psi),
    };
    let parameters = (found.shape / shape - 1.0).abs().max((found.scale / scale - 1.0).abs());
    let at = case.distances.iter().zip(psi).map(|(&d, &psi)| (found.probability(model, d) - psi).abs());
    (parameters, at.fold(0.0, f64::max))
}

#[test]
fn weibull_fits_agree_to_a_millionth() {
    for case in golden() {
        let found = PsiModel::fit(TailModel::Weibull, &case.margins).unwrap();
        assert_eq!(found.status, FitStatus::Converged);
        let (parameters, psi) = differences(&found, TailModel::Weibull, &case);
        assert!(parameters < 1e-6 && psi < 1e-6, "{}: {parameters:e} {psi:e}", case.name);
    }
}

#[test]
fn libmr_fits_agree_to_the_precision_of_its_own_solver() {
    for case in golden() {
        let found = PsiModel::fit(TailModel::Libmr, &case.margins).unwrap();
        assert!((found.shift + case.libmr.small_score).abs() < 1e-12, "{}", case.name);
        let (parameters, psi) = differences(&found, TailModel::Libmr, &case);
        assert!(parameters < 1e-4 && psi < 1e-5, "{}: {parameters:e} {psi:e}", case.name);
    }
}

#[test]
fn gumbel_is_the_limit_of_libmr_for_small_units() {
    const UNIT: f64 = 1e-3;
    for case in golden().into_iter().filter(|case| !case.name.contains("large")) {
        let small: Vec<f64> = case.margins.iter().map(|margin| margin * UNIT).collect();
        let libmr = PsiModel::fit(TailModel::Libmr, &small).unwrap();
        let gumbel = PsiModel::fit(TailModel::Gumbel, &case.margins).unwrap();
        for &distance in &case.distances {
            let expected = libmr.probability(TailModel::Libmr, distance * UNIT);
            let found = gumbel.probability(TailModel::Gumbel, distance);
            assert!((found - expected).abs() < 5e-3, "{} at {distance}: {found} {expected}", case.name);
        }
    }
}

/// One point at the origin, negatives on a line at the case's margins: the tail of the origin is the case.
#[test]
fn the_whole_road_gives_the_same_psi() {
    for case in golden() {
        let margins = case.margins.iter().map(|&margin| margin as f32);
        let values: Vec<f32> = std::iter::once(0.0).chain(margins).collect();
        let labels = std::iter::once("origin").chain(case.margins.iter().map(|_| "other"));
        let params = Params {
            tail_size: TailSize::Count(case.margins.len()),
            distance_multiplier: 1.0,
            cover_threshold: 1.0,
            ..Params::paper()
        };
        let features = Features::new(values, 1).unwrap();
        let (evm, _) = Evm::fit(&params, &features, &Labels::new(labels).unwrap()).unwrap();
        // From the far side of the origin, so that its curve alone is asked.
        let queries: Vec<f32> = case.distances.iter().map(|&distance| -(distance as f32)).collect();
        let found = evm.probabilities(&Features::new(queries, 1).unwrap()).unwrap();
        for (found, expected) in found.chunks_exact(2).zip(&case.direct.psi) {
            // Margins rounded to f32 move psi by their relative error times the shape.
            let slack = 1e-6 + 2e-7 * case.direct.shape;
            assert!((found[0] - expected).abs() < slack, "{}: {} {expected}", case.name, found[0]);
        }
    }
}

#[test]
fn bad_margins_are_named() {
    assert_eq!(PsiModel::fit(TailModel::Weibull, &[]), Err(MarginError::Empty));
    let error = PsiModel::fit(TailModel::Weibull, &[1.0, -0.5]).unwrap_err();
    assert_eq!(error, MarginError::NotAMargin { index: 1, value: -0.5 });
}
