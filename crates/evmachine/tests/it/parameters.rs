//! The page about parameters says what the list says.

use std::fmt::Write as _;
use std::path::Path;

use evmachine::{Kind, Parameter, Params, in_python};

fn row(parameter: &Parameter) -> String {
    let value = |params: &Params| match parameter.value(params) {
        serde_json::Value::String(name) => name,
        value => in_python(&value),
    };
    let ranges: Vec<String> = parameter
        .ranges
        .iter()
        .map(|(variant, range)| {
            let range = range.to_string().replacen("must be ", "", 1);
            if variant.is_empty() { range } else { format!("{variant}: {range}") }
        })
        .collect();
    let takes = match parameter.kind {
        Kind::Choice(names) => names.join(", "),
        _ => ranges.join("; "),
    };
    format!(
        "| `{}` | {} | {} | {} | {takes} | `{}` | `{}` | {} |\n",
        parameter.name,
        parameter.symbol.unwrap_or(""),
        parameter.about,
        parameter.unit,
        value(&Params::paper()),
        value(&Params::robust()),
        parameter.since,
    )
}

#[test]
fn the_page_of_parameters_is_the_list() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/parameters.md");
    let mut page = "# Parameters\n\n\
        One list in the library makes the flags of the program (`--tail-size`), the keys of a parameter file, the names in \
        Python, the checks and this page. The default is the column \"robust\", for Euclidean distances. The preset `plain` is the column \"paper\", \
        but for `rejection_threshold`, which is `{\"false_unknown\": 0.05}`. \"Since\" is the first version of the model file that has the parameter.\n\n\
        | Name | In the paper | What it does | Unit | Values | paper | robust | Since |\n\
        |---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for parameter in Params::LIST {
        write!(page, "{}", row(parameter)).unwrap();
    }
    page.push_str(
        "\nThis page is written by `EVMACHINE_WRITE=1 cargo test -p evmachine --test it parameters`.\n",
    );
    if std::env::var_os("EVMACHINE_WRITE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/parameters.md is old; set EVMACHINE_WRITE=1 to write it again");
}

#[test]
fn words_set_what_they_say_and_errors_name_the_parameter() {
    let mut params = Params::plain();
    for (name, words) in [
        ("metric", "cosine"),
        ("tail_size", "75"),
        ("reduction", "weighted-max-k"),
        ("standardize", "true"),
        ("strangers", "0.5, 4"),
        ("logit_weight", "auto"),
        ("max_extreme_vectors", r#"{"total":100}"#),
    ] {
        params.set(name, words).unwrap();
    }
    let text = serde_json::to_string(&params).unwrap();
    for part in [
        r#""metric":"cosine""#,
        r#""tail_size":{"count":75}"#,
        r#""reduction":"weighted_max_k""#,
        r#""standardize":true"#,
        r#""strangers":[0.5,4.0]"#,
        r#""logit_weight":"auto""#,
        r#""max_extreme_vectors":{"total":100}"#,
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let error = |name: &str, words: &str| Params::plain().set(name, words).unwrap_err().to_string();
    assert_eq!(error("metric", "cosin"), "metric = cosin: must be euclidean, cosine or manhattan");
    assert_eq!(error("n_fused", "-1"), "n_fused = -1: must be a whole number");
    assert_eq!(error("pooling", "NaN"), "pooling = NaN: must be a number");
    assert_eq!(error("tail_sise", "1"), "there is no parameter \"tail_sise\"; did you mean tail_size?");
    let error =
        Params { probe_weight: evmachine::Weight::Fixed(21.0), ..Params::plain() }.check().unwrap_err();
    assert_eq!(error.to_string(), "probe_weight = 21: must be \"auto\" or between 0 and 20");
}
