//! The values of a JSON object, one of which is a row.

use std::fmt;

use evmachine::labels;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What stands in a column of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    Vector(Vector),
    Object,
}

/// An array of numbers, as far as it is one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Vector {
    /// NaN stands for what is no number.
    pub(crate) values: Vec<f64>,
    /// The first element that is no number, and its text; that of a null is `None`.
    pub(crate) bad: Option<(usize, Option<String>)>,
}

impl Cell {
    /// The cell as a number; truth values are 0 and 1.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Boolean(value) => Some(f64::from(u8::from(*value))),
            Self::Signed(value) => Some(*value as f64),
            Self::Unsigned(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The cell as a label or an identifier; `None` where it has no plain text form.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Null => Some(String::new()),
            Self::Boolean(value) => Some(labels::from_boolean(*value)),
            Self::Signed(value) => Some(value.to_string()),
            Self::Unsigned(value) => Some(value.to_string()),
            Self::Float(value) => Some(labels::from_double(*value)),
            Self::Text(text) => Some(text.clone()),
            Self::Vector(_) | Self::Object => None,
        }
    }

    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "truth value",
            Self::Signed(_) | Self::Unsigned(_) | Self::Float(_) => "number",
            Self::Text(_) => "text",
            Self::Vector(_) => "array",
            Self::Object => "object",
        }
    }
}

/// The members of an object, in their order.
pub(crate) struct Members(pub(crate) Vec<(String, Cell)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Value;
        impl<'de> Visitor<'de> for Value {
            type Value = Cell;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<Cell, E> {
                Ok(Cell::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Cell, E> {
                Ok(Cell::Boolean(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Cell, E> {
                Ok(Cell::Signed(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Cell, E> {
                Ok(Cell::Unsigned(value))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Cell, E> {
                Ok(Cell::Float(value))
            }

            fn visit_str<E>(self, text: &str) -> Result<Cell, E> {
                Ok(Cell::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Cell, E> {
                Ok(Cell::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Cell, A::Error> {
                let mut vector = Vector::default();
                while let Some(element) = elements.next_element::<Cell>()? {
                    let number = element.number();
                    if number.is_none() {
                        let text = element.text().unwrap_or_else(|| element.kind().to_owned());
                        let text = Some(text).filter(|_| element != Cell::Null);
                        // What is no number at all is worse than what is missing.
                        let worse =
                            vector.bad.as_ref().is_none_or(|(_, bad)| bad.is_none() && text.is_some());
                        if worse {
                            vector.bad = Some((vector.values.len(), text));
                        }
                    }
                    vector.values.push(number.unwrap_or(f64::NAN));
                }
                Ok(Cell::Vector(vector))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Cell::Object)
            }
        }
        deserializer.deserialize_any(Value)
    }
}
