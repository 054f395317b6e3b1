//! The one list of parameters. Checks, flags, files, Python and the tuner read it.

use super::parameter::{Kind, Parameter};
use super::range::Range;
use super::{Budget, MOST_BACKGROUND, MOST_COVER_LOSS, MOST_WEIGHT, Params, SHAPE_CAP, TailSize, Weight};

/// One kind of number alone.
macro_rules! one {
    ($range:expr) => {
        &[("", $range)]
    };
}

const PLAIN: Parameter = Parameter {
    name: "",
    symbol: None,
    kind: Kind::Number,
    unit: "",
    about: "",
    since: 1,
    tried: &[],
    ranges: &[],
    number: |_| None,
};

impl Params {
    /// All parameters, in the order of the fields.
    pub const LIST: &'static [Parameter] = &[
        Parameter {
            name: "metric",
            kind: Kind::Choice(&["euclidean", "cosine", "manhattan"]),
            about: "The distance between vectors; cosine for embeddings",
            ..PLAIN
        },
        Parameter {
            name: "tail_size",
            symbol: Some("tau"),
            kind: Kind::TailSize,
            unit: "size",
            about: "How many of the smallest margins are fitted: auto, a count such as 75, or a share of the negatives such as 2%",
            tried: &[0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4],
            ranges: &[("count", Range::AT_LEAST_ONE), ("fraction", Range::POSITIVE_SHARE)],
            number: |params| match params.tail_size {
                TailSize::Auto => None,
                TailSize::Count(count) => Some(("count", count as f64)),
                TailSize::Fraction(fraction) => Some(("fraction", fraction)),
            },
            ..PLAIN
        },
        Parameter {
            name: "tail_model",
            kind: Kind::Choice(&["weibull", "libmr", "gumbel"]),
            about: "The curve that is fitted to the margins",
            ..PLAIN
        },
        Parameter {
            name: "fixed_shape",
            symbol: Some("kappa"),
            kind: Kind::Optional,
            unit: "shape",
            about: "Use this shape instead of fitting one; for tail model weibull",
            ranges: one!(Range::above(0.0, SHAPE_CAP)),
            number: |params| params.fixed_shape.map(|shape| ("", shape)),
            ..PLAIN
        },
        Parameter {
            name: "distance_multiplier",
            unit: "fraction",
            about: "A margin is this fraction of a distance to another class",
            tried: &[0.4, 0.5, 0.6, 0.7, 0.85, 1.0],
            ranges: one!(Range::POSITIVE),
            number: |params| Some(("", params.distance_multiplier)),
            ..PLAIN
        },
        Parameter {
            name: "standardize",
            kind: Kind::Switch,
            about: "Bring every column to mean 0 and deviation 1 first",
            since: 3,
            ..PLAIN
        },
        Parameter {
            name: "whitening",
            unit: "share",
            about: "Whiten features by this share of the within-class covariance; for metrics euclidean and cosine",
            since: 2,
            tried: &[0.0, 0.1, 0.5],
            ranges: one!(Range::SHARE),
            number: |params| Some(("", params.whitening)),
            ..PLAIN
        },
        Parameter {
            name: "smoothing",
            unit: "fraction",
            about: "Move points this fraction of the way to the mean of their nearest points of the class",
            tried: &[0.0, 0.3, 0.5, 0.65, 0.8],
            ranges: one!(Range::SHARE),
            number: |params| Some(("", params.smoothing)),
            ..PLAIN
        },
        Parameter {
            name: "smoothing_neighbors",
            kind: Kind::Count,
            unit: "count",
            about: "How many nearest points that mean is taken over, the point itself included",
            tried: &[4.0, 10.0, 20.0, 50.0],
            ranges: one!(Range::AT_LEAST_ONE),
            number: |params| Some(("", params.smoothing_neighbors as f64)),
            ..PLAIN
        },
        Parameter {
            name: "pooling",
            unit: "fraction",
            about: "Move fits this fraction of the way to the mean of all fits",
            tried: &[0.0, 0.25, 0.5, 0.7, 0.8, 0.9, 1.0],
            ranges: one!(Range::SHARE),
            number: |params| Some(("", params.pooling)),
            ..PLAIN
        },
        Parameter {
            name: "cover_threshold",
            symbol: Some("varsigma"),
            unit: "probability",
            about: "A point is covered if the psi of an extreme vector reaches this; 1 keeps every point",
            ranges: one!(Range::POSITIVE_SHARE),
            number: |params| Some(("", params.cover_threshold)),
            ..PLAIN
        },
        Parameter {
            name: "cover_risk",
            unit: "weight",
            about: "Leave out extreme vectors that cover fewer points of their class than this times the points of other classes that they claim; 0 covers every point",
            since: 5,
            ranges: one!(Range::NOT_NEGATIVE),
            number: |params| Some(("", params.cover_risk)),
            ..PLAIN
        },
        Parameter {
            name: "cover_loss",
            unit: "loss",
            about: "If the cover threshold is 1 and there are more than 2,000 rows of three classes or more: keep the fewest points that cost less than this of OSCR, with classes left out in turn; 0 keeps all",
            since: 7,
            ranges: one!(Range::closed(0.0, MOST_COVER_LOSS)),
            number: |params| Some(("", params.cover_loss)),
            ..PLAIN
        },
        Parameter {
            name: "max_extreme_vectors",
            kind: Kind::Budget,
            unit: "count",
            about: "A limit on the number of extreme vectors, which replaces the cover threshold",
            ranges: &[
                ("per_class", Range::AT_LEAST_ONE),
                ("total", Range::AT_LEAST_ONE),
                ("ratio", Range::POSITIVE_SHARE),
            ],
            number: |params| {
                params.max_extreme_vectors.map(|budget| match budget {
                    Budget::PerClass(count) => ("per_class", count as f64),
                    Budget::Total(count) => ("total", count as f64),
                    Budget::Ratio(ratio) => ("ratio", ratio),
                })
            },
            ..PLAIN
        },
        Parameter {
            name: "reduction",
            kind: Kind::Choice(&["set_cover", "weighted_max_k"]),
            about: "How extreme vectors are chosen",
            ..PLAIN
        },
        Parameter {
            name: "n_fused",
            symbol: Some("k"),
            kind: Kind::Count,
            unit: "count",
            about: "How many of a class's largest psi are averaged",
            tried: &[1.0, 2.0, 4.0, 6.0, 10.0],
            ranges: one!(Range::AT_LEAST_ONE),
            number: |params| Some(("", params.n_fused as f64)),
            ..PLAIN
        },
        Parameter {
            name: "contrast",
            unit: "weight",
            about: "How much the lead of the best class over the second counts for acceptance; for tail model weibull",
            since: 2,
            tried: &[0.0, 0.1, 0.25, 0.5],
            ranges: one!(Range::NOT_NEGATIVE),
            number: |params| Some(("", params.contrast)),
            ..PLAIN
        },
        Parameter {
            name: "background",
            unit: "weight",
            about: "How much the support of the median class counts for acceptance; for tail model weibull",
            since: 3,
            tried: &[0.0, 0.5, 1.0],
            ranges: one!(Range::closed(0.0, MOST_BACKGROUND)),
            number: |params| Some(("", params.background)),
            ..PLAIN
        },
        Parameter {
            name: "logit_weight",
            kind: Kind::AutoOrNumber,
            unit: "weight",
            about: "How much a machine over the logits of a linear probe counts: auto, as classes left out in turn tell, or a number; 0 leaves it out",
            since: 3,
            tried: &[0.0, 0.5, 1.0, 2.0],
            ranges: one!(Range::closed(0.0, MOST_WEIGHT)),
            number: |params| fixed(params.logit_weight),
            ..PLAIN
        },
        Parameter {
            name: "probe_weight",
            kind: Kind::AutoOrNumber,
            unit: "weight",
            about: "How much the logits of the probe themselves count: auto or a number; 0 leaves them out",
            since: 3,
            tried: &[0.0, 0.15, 1.0, 3.0, 8.0],
            ranges: one!(Range::closed(0.0, MOST_WEIGHT)),
            number: |params| fixed(params.probe_weight),
            ..PLAIN
        },
        Parameter {
            name: "forest_weight",
            kind: Kind::AutoOrNumber,
            unit: "weight",
            about: "How much a forest of randomised trees counts, which serves tables: auto or a number; 0 leaves it out",
            since: 6,
            tried: &[0.0, 1.0, 2.0],
            ranges: one!(Range::closed(0.0, MOST_WEIGHT)),
            number: |params| fixed(params.forest_weight),
            ..PLAIN
        },
        Parameter {
            name: "rejection_threshold",
            symbol: Some("delta"),
            kind: Kind::Rejection,
            unit: "probability",
            about: "Below which support a query is unknown: a psi, or the share of queries that may be mistaken",
            ranges: &[
                ("probability", Range::SHARE),
                ("support", Range::FINITE),
                ("false_unknown", Range::SHARE),
                ("false_unknown_per_class", Range::SHARE),
                ("false_known", Range::SHARE),
            ],
            number: |params| Some((params.rejection_threshold.name(), params.rejection_threshold.value())),
            ..PLAIN
        },
        Parameter {
            name: "confidence",
            unit: "share",
            about: "Of how many trainings in 1 the promise of the rejection rule holds; 0 keeps it on average over trainings",
            since: 5,
            ranges: one!(Range::BELOW_ONE),
            number: |params| Some(("", params.confidence)),
            ..PLAIN
        },
        Parameter {
            name: "strangers",
            kind: Kind::Pair,
            unit: "a,b",
            about: "How p-values of unknown queries are distributed, Beta(a, b), with a from 0.01 to 1 and b from 1 to 100; P(known) rests on it",
            since: 3,
            ..PLAIN
        },
        Parameter {
            name: "refit",
            kind: Kind::Choice(&["new", "affected", "all"]),
            about: "Which Psi-models already in the model an update fits again",
            ..PLAIN
        },
        Parameter {
            name: "reduce_when",
            kind: Kind::Choice(&["always", "over_budget"]),
            about: "When an update chooses extreme vectors again",
            ..PLAIN
        },
        Parameter {
            name: "tail_memory",
            kind: Kind::Choice(&["full", "max", "none"]),
            about: "What extreme vectors remember of their tails, for later updates",
            ..PLAIN
        },
        Parameter {
            name: "tail_memory_limit",
            kind: Kind::Bytes,
            unit: "bytes",
            about: "How much memory whole tails may take in the model",
            ..PLAIN
        },
        Parameter {
            name: "search",
            kind: Kind::Search,
            unit: "recall",
            about: "Whether all pairs are measured, or from 65,536 rows and 32,768 extreme vectors on those near each other alone",
            since: 5,
            ranges: &[("recall", Range::INSIDE)],
            number: |params| params.search.recall().map(|recall| ("recall", recall)),
            ..PLAIN
        },
    ];
}

fn fixed(weight: Weight) -> Option<(&'static str, f64)> {
    match weight {
        Weight::Auto => None,
        Weight::Fixed(weight) => Some(("", weight)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_list_has_every_field_in_its_order() {
        // The search is written if it is not exact.
        let params = Params { search: evmachine_engine::search::Search::Approximate(0.9), ..Params::plain() };
        let written = serde_json::to_string(&params).unwrap();
        let places: Vec<Option<usize>> =
            Params::LIST.iter().map(|parameter| written.find(&format!("\"{}\":", parameter.name))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
        let fields = serde_json::to_value(&params).unwrap().as_object().unwrap().len();
        assert_eq!(fields, Params::LIST.len());
    }

    #[test]
    fn values_that_tuning_tries_are_allowed_and_hold_the_presets() {
        for parameter in Params::LIST.iter().filter(|parameter| !parameter.tried.is_empty()) {
            let variant = if parameter.kind == Kind::TailSize { "fraction" } else { "" };
            let (_, range) = parameter.ranges.iter().find(|(name, _)| *name == variant).unwrap();
            assert!(parameter.tried.iter().all(|&value| range.holds(value)), "{}", parameter.name);
            assert!(parameter.tried.is_sorted(), "{}", parameter.name);
            for preset in [Params::plain(), Params::robust()] {
                if let Some(("", number)) = (parameter.number)(&preset) {
                    assert!(parameter.tried.contains(&number), "{}: {number}", parameter.name);
                }
            }
        }
    }

    #[test]
    fn names_of_choices_are_those_that_are_read() {
        for parameter in Params::LIST {
            if let Kind::Choice(names) = parameter.kind {
                for name in names {
                    let mut params = Params::plain();
                    params.set(parameter.name, name).unwrap();
                    assert_eq!(parameter.value(&params), Value::from(*name));
                }
            }
        }
    }
}
