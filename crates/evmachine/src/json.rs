//! Numbers that JSON lacks: infinity is written as null, and minus infinity as the least number there is.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The number, or the largest there is if it is infinite, as the support of a query is that lies on an extreme vector. Files and JSON
/// hold it, and it can be compared with 0.
pub fn finite(value: f64) -> f64 {
    value.clamp(f64::MIN, f64::MAX)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let value = (*value != f64::INFINITY).then_some(value.max(f64::MIN));
    value.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = Option::<f64>::deserialize(deserializer)?;
    Ok(match value {
        None => f64::INFINITY,
        Some(f64::MIN) => f64::NEG_INFINITY,
        Some(value) => value,
    })
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct One(#[serde(with = "super")] f64);

    #[test]
    fn infinities_come_back() {
        for value in [0.0, -1.5, f64::INFINITY, f64::NEG_INFINITY] {
            let text = serde_json::to_string(&One(value)).unwrap();
            assert_eq!(serde_json::from_str::<One>(&text).unwrap().0, value, "{text}");
        }
    }
}
