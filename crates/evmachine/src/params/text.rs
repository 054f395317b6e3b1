//! Parameters by name: set from the words of a command line, or from values of JSON.

use serde_json::{Map, Value};

use super::Params;
use super::parameter::{Kind, Parameter};
use crate::error::ParamsError;
use crate::input::similar::similar;

impl Params {
    /// Sets a parameter from words: "75", "2%", "auto", "cosine", "true", "0.45,6". Budgets, the rule of rejection and the
    /// search take the JSON that [`Params`] has in a file. The result is not checked against the rules.
    ///
    /// ```
    /// use evmachine::{Params, TailSize};
    ///
    /// let mut params = Params::plain();
    /// params.set("tail_size", "2%")?;
    /// assert_eq!(params.tail_size, TailSize::Fraction(0.02));
    /// assert_eq!(
    ///     params.set("whitening", "much").unwrap_err().to_string(),
    ///     "whitening = much: must be a number"
    /// );
    /// # Ok::<(), evmachine::ParamsError>(())
    /// ```
    pub fn set(&mut self, name: &str, words: &str) -> Result<(), ParamsError> {
        let parameter = Parameter::named(name).ok_or_else(|| unheard_of(name))?;
        let wrong = || ParamsError::new(parameter.name, words, in_words(parameter));
        let value = value_of(parameter.kind, words.trim()).ok_or_else(wrong)?;
        *self = self.with(Map::from_iter([(name.to_owned(), value)])).map_err(|_| wrong())?;
        Ok(())
    }

    /// These parameters with other values for some, by name. An error names the one that is wrong and what it takes. The
    /// result is not checked against the rules.
    ///
    /// What does not go with a new value is set to 0, unless it is named too: a threshold of the cover takes the place of `cover_loss`, by
    /// which the fit would choose one, and tail models other than Weibull have neither `contrast` nor `background`.
    pub fn with(&self, values: Map<String, Value>) -> Result<Params, ParamsError> {
        for (name, value) in &values {
            let parameter = Parameter::named(name).ok_or_else(|| unheard_of(name))?;
            let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
            if serde_json::from_value::<Params>(alone).is_err() {
                let rule = format!("must be {}", parameter.takes());
                return Err(ParamsError::new(parameter.name, in_python(value), rule));
            }
        }
        let broken = |error: serde_json::Error| ParamsError::new("params", "", error.to_string());
        let mut all: Map<String, Value> =
            serde_json::to_value(self).and_then(serde_json::from_value).map_err(broken)?;
        let mut clear = |name: &str| all.insert(name.to_owned(), Value::from(0.0));
        if values.contains_key("cover_threshold") {
            clear("cover_loss");
        }
        if values.get("tail_model").is_some_and(|model| model != "weibull") {
            clear("contrast");
            clear("background");
        }
        all.extend(values);
        serde_json::from_value(Value::Object(all)).map_err(broken)
    }
}

fn unheard_of(name: &str) -> ParamsError {
    let near = similar(name, Params::LIST.iter().map(|parameter| parameter.name));
    let hint = near.first().map_or(String::new(), |near| format!("; did you mean {near}?"));
    ParamsError::new("", name, format!("there is no parameter {name:?}{hint}"))
}

/// What the words of a parameter may be.
fn in_words(parameter: &Parameter) -> String {
    match parameter.kind {
        Kind::TailSize => "must be auto, a count such as 75, or a percentage such as 2%".to_owned(),
        Kind::AutoOrNumber => "must be auto or a number such as 1.5".to_owned(),
        Kind::Count | Kind::Bytes => "must be a whole number".to_owned(),
        Kind::Optional => "must be a number".to_owned(),
        Kind::Switch => "must be true or false".to_owned(),
        Kind::Pair => "must be two numbers such as 0.45,6".to_owned(),
        _ => format!("must be {}", parameter.takes()),
    }
}

fn value_of(kind: Kind, words: &str) -> Option<Value> {
    let number = |words: &str| words.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let entry = |name: &str, value: Value| Value::Object(Map::from_iter([(name.to_owned(), value)]));
    match kind {
        Kind::Choice(names) => {
            let name = words.replace('-', "_");
            names.contains(&name.as_str()).then(|| Value::from(name))
        }
        Kind::Switch => words.parse::<bool>().ok().map(Value::from),
        Kind::Count | Kind::Bytes => words.parse::<u64>().ok().map(Value::from),
        Kind::AutoOrNumber | Kind::TailSize if words == "auto" => Some(Value::from("auto")),
        Kind::Number | Kind::Optional | Kind::AutoOrNumber => number(words).map(Value::from),
        Kind::TailSize => match words.strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| entry("fraction", Value::from(percent / 100.0))),
            None => words.parse::<u64>().ok().map(|count| entry("count", Value::from(count))),
        },
        Kind::Pair => {
            let (first, second) = words.split_once(',')?;
            Some(Value::from(vec![number(first)?, number(second)?]))
        }
        Kind::Budget | Kind::Rejection | Kind::Search => serde_json::from_str(words).ok(),
    }
}

/// A value as Python writes it.
pub fn in_python(value: &Value) -> String {
    let list = |values: &[Value]| values.iter().map(in_python).collect::<Vec<_>>().join(", ");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(values) => format!("[{}]", list(values)),
        Value::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(name, value)| format!("{name:?}: {}", in_python(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}
