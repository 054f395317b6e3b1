//! What the list says of a parameter.

use serde_json::Value;

use super::Params;
use super::range::Range;
use super::rejection::Rejection;

/// The kind of value that a parameter has.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// One of these names.
    Choice(&'static [&'static str]),
    /// On or off.
    Switch,
    /// A whole number.
    Count,
    /// A whole number of bytes; megabytes on the command line.
    Bytes,
    /// A number.
    Number,
    /// A number or nothing.
    Optional,
    /// "auto" or a number.
    AutoOrNumber,
    /// "auto", a count, or a share of the negatives.
    TailSize,
    /// A limit for each class, over all classes, as a share of all rows, or nothing.
    Budget,
    /// A rule for what is unknown.
    Rejection,
    /// "exact", or approximate with a recall.
    Search,
    /// Two numbers.
    Pair,
}

/// A parameter as every front end has it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Parameter {
    /// Its field in [`Params`], key in TOML and model files, and name in Python; the flag has hyphens.
    pub name: &'static str,
    /// What the paper calls it.
    pub symbol: Option<&'static str>,
    /// What the value is.
    pub kind: Kind,
    /// What the value counts or is a share of, in one word.
    pub unit: &'static str,
    /// One line on what it does.
    pub about: &'static str,
    /// The first version of the model file that has it.
    pub since: u32,
    /// Values that tuning tries; none if it leaves the parameter alone. Those of `tail_size` are shares.
    pub tried: &'static [f64],
    /// The numbers it may have, by the variant of its value ("" if there is one alone).
    pub ranges: &'static [(&'static str, Range)],
    /// The number that is checked, with its variant.
    pub(crate) number: fn(&Params) -> Option<(&'static str, f64)>,
}

impl Parameter {
    /// The parameter of that name.
    pub fn named(name: &str) -> Option<&'static Parameter> {
        Params::LIST.iter().find(|parameter| parameter.name == name)
    }

    /// The rule that a number breaks as a value of a variant ("" if there is one alone); `None` if it may have the number.
    /// Variants without a range take any finite number.
    ///
    /// ```
    /// use evmachine::Parameter;
    ///
    /// let search = Parameter::named("search").unwrap();
    /// assert_eq!(search.broken_rule("recall", 0.9), None);
    /// assert_eq!(search.broken_rule("recall", 1.0).as_deref(), Some("must be above 0 and below 1"));
    /// ```
    pub fn broken_rule(&self, variant: &str, number: f64) -> Option<String> {
        let range =
            self.ranges.iter().find(|(name, _)| *name == variant).map_or(Range::FINITE, |(_, range)| *range);
        if range.holds(number) {
            return None;
        }
        let rule = range.to_string();
        let is_auto = self.kind == Kind::AutoOrNumber;
        Some(if is_auto { rule.replacen("must be ", "must be \"auto\" or ", 1) } else { rule })
    }

    /// Its value among `params`, as JSON.
    pub fn value(&self, params: &Params) -> Value {
        let values = serde_json::to_value(params).unwrap_or_default();
        // What is exact is not written.
        values.get(self.name).cloned().unwrap_or_else(|| Value::from("exact"))
    }

    /// What it takes, in words, without its range: "a number".
    pub fn takes(&self) -> String {
        match self.kind {
            Kind::Choice(names) => either(names),
            Kind::Switch => "True or False".to_owned(),
            Kind::Count | Kind::Bytes => "an int that is not negative".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::Optional => "a number or None".to_owned(),
            Kind::AutoOrNumber => "\"auto\" or a number".to_owned(),
            Kind::TailSize => "an int, a float or \"auto\"".to_owned(),
            Kind::Budget => "an int, a float, {\"total\": n} or None".to_owned(),
            Kind::Rejection => Rejection::TAKES.to_owned(),
            Kind::Search => "exact, or approximate with a recall".to_owned(),
            Kind::Pair => "two numbers".to_owned(),
        }
    }
}

/// "a, b or c".
fn either(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} or {last}", names.join(", ")),
    }
}
