//! `inspect`, `export` and `demo`: what is inside a model, and what others read of it.

use crate::{Place, trained};

#[test]
fn inspecting_shows_what_is_inside() {
    let place = Place::new();
    trained(&place);
    insta::assert_snapshot!("inspect", place.ok(&["inspect", "model.safetensors"]));
    let json: serde_json::Value =
        serde_json::from_str(&place.ok(&["inspect", "model.safetensors", "--json"])).unwrap();
    assert_eq!(json["classes"].as_array().unwrap().len(), 4);
    assert_eq!(json["params"]["cover_threshold"], 1.0);
    place.ok(&["inspect", "model.safetensors", "--plot", "histograms.svg"]);
    assert!(place.read("histograms.svg").contains("shape (kappa)"));
}

#[test]
fn an_export_is_an_onnx_file() {
    let place = Place::new();
    trained(&place);
    let output = place.run(&["export", "model.safetensors", "--onnx", "model.onnx"]);
    insta::assert_snapshot!("export", String::from_utf8(output.stderr).unwrap());
    let bytes = std::fs::read(place.path("model.onnx")).unwrap();
    let evm = evmachine::Evm::load(place.path("model.safetensors")).unwrap();
    assert_eq!(bytes, evmachine_onnx::to_onnx(&evm, "unknown").unwrap());
    place.ok(&["export", "model.safetensors", "--onnx", "strict.onnx", "--delta", "0.9"]);
    assert_ne!(bytes, std::fs::read(place.path("strict.onnx")).unwrap());
}

#[test]
fn the_demo_tells_the_whole_story() {
    let place = Place::new();
    let output = place.ok(&["demo"]);
    let settings = {
        let mut settings = insta::Settings::clone_current();
        // Times differ from run to run; every other figure is the same on every machine that rounds alike.
        settings.add_filter(r"\d+(\.\d+)?(ms|s|µs)\b", "[time]");
        settings
    };
    settings.bind(|| insta::assert_snapshot!("demo", output));
    let page = std::fs::read_to_string(place.path("evmachine-demo").join("report.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 5);
    assert!(!page.contains("http://") || !page.contains("src="), "the page needs nothing from elsewhere");
}
