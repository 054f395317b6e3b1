//! What a run is of, so that an interrupted one is gone on with by the same run alone.

use xxhash_rust::xxh3::Xxh3;

use crate::input::labels::Labels;
use crate::model::Evm;
use crate::model::format::FormatError;
use crate::params::Params;
use evmachine_engine::features::Features;
use evmachine_engine::level;

/// What a run is of, in a line for [`ScratchFolder::begin`](evmachine_engine::scratch::ScratchFolder::begin): everything that its results depend on. Costs one look at all rows.
///
/// `besides` are rows that are learned beside the others, such as ignored samples, `evm` a model that learns them.
pub fn job(
    params: &Params,
    features: &Features<'_>,
    labels: &Labels,
    besides: &[&Features<'_>],
    evm: Option<&Evm>,
) -> Result<String, FormatError> {
    let of_values = |features: &Features<'_>| {
        let mut hash = Xxh3::new();
        let mut bytes = Vec::with_capacity(4 * HASHED);
        for part in features.values().chunks(HASHED) {
            bytes.clear();
            bytes.extend(part.iter().flat_map(|value| value.to_le_bytes()));
            hash.update(&bytes);
        }
        format!("{}x{} {:016x}", features.rows(), features.columns(), hash.digest())
    };
    let mut names = Xxh3::new();
    for name in labels.names() {
        names.update(&(name.len() as u64).to_le_bytes());
        names.update(name.as_bytes());
    }
    labels.ids().iter().for_each(|id| names.update(&id.to_le_bytes()));
    let job = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "steps": evmachine_engine::tail::steps::VERSION,
        "level": level::name(level::level()),
        "params": params,
        "rows": of_values(features),
        "labels": format!("{:016x}", names.digest()),
        "besides": besides.iter().map(|features| of_values(features)).collect::<Vec<_>>(),
        "model": evm.map(|evm| evm.fingerprint().map(|hash| format!("{hash:016x}"))).transpose()?,
    });
    Ok(job.to_string())
}

/// Values that are hashed at once.
const HASHED: usize = 1 << 14;
