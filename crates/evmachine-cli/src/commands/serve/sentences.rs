//! Sentences of CLINC150 (Larson et al., 2019; CC BY 3.0) with their embeddings: intents of banking and travel, and questions that
//! belong to none.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use evmachine::{Features, Labels, Metric, Params};
use evmachine_console::failure::Failure;
use evmachine_openworld::NewSample;

use super::demonstration::{Demonstration, damaged};

/// Intent, sentence, and its embedding as signed bytes in base64; no intent for what belongs to none.
const TEXT: &str = include_str!("../../../data/clinc150/sentences.tsv");
const DIMENSIONS: usize = 384;

/// Intents that the first model knows.
const KNOWN: [&str; 12] = [
    "balance",
    "book_flight",
    "car_rental",
    "exchange_rate",
    "flight_status",
    "pay_bill",
    "report_fraud",
    "routing",
    "timezone",
    "transactions",
    "transfer",
    "translate",
];
/// Sentences of each that it learns; the others come in.
const LEARNED: usize = 15;

pub(super) fn read() -> Result<Demonstration, Failure> {
    let mut learned = [0; KNOWN.len()];
    let (mut train, mut names, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    let (mut stream, mut shown) = (Vec::new(), Vec::new());
    for (row, line) in TEXT.lines().enumerate() {
        let mut fields = line.split('\t');
        let (Some(intent), Some(sentence), Some(embedding)) = (fields.next(), fields.next(), fields.next())
        else {
            return Err(damaged());
        };
        let bytes = STANDARD_NO_PAD.decode(embedding).map_err(|_| damaged())?;
        let values = bytes.into_iter().map(|byte| f32::from(byte.cast_signed()));
        match KNOWN.iter().position(|known| *known == intent) {
            Some(class) if learned[class] < LEARNED => {
                learned[class] += 1;
                train.extend(values);
                names.push(intent);
                ids.push(sentence.to_owned());
            }
            _ => {
                stream.extend(values);
                let (id, text) = (Some(format!("sentence {}", row + 1)), Some(sentence.to_owned()));
                shown.push(NewSample { id, text, ..NewSample::default() });
            }
        }
    }
    Ok(Demonstration {
        subject: "12 intents",
        params: Params::robust_for(Metric::Cosine).keeping_all(),
        train: (Features::new(train, DIMENSIONS)?, Labels::new(names)?),
        ids: Some(ids),
        stream: (Features::new(stream, DIMENSIONS)?, shown),
        at_once: 700,
    })
}
