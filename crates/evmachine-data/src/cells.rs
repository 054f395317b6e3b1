//! The values of Arrow arrays as numbers and as text.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;
use evmachine::labels;

/// Whether [`numbers`] understands the type.
pub(crate) fn is_numeric(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_floating() || *kind == DataType::Boolean
}

/// Whether [`texts`] understands the type.
pub(crate) fn is_printable(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_printable(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        other => is_numeric(other),
    }
}

/// Every value as a double; what stands for a null is arbitrary.
pub(crate) fn numbers(array: &ArrayRef) -> Vec<f64> {
    match array.data_type() {
        DataType::Int8 => each::<Int8Type, _>(array, f64::from),
        DataType::Int16 => each::<Int16Type, _>(array, f64::from),
        DataType::Int32 => each::<Int32Type, _>(array, f64::from),
        DataType::Int64 => each::<Int64Type, _>(array, |value| value as f64),
        DataType::UInt8 => each::<UInt8Type, _>(array, f64::from),
        DataType::UInt16 => each::<UInt16Type, _>(array, f64::from),
        DataType::UInt32 => each::<UInt32Type, _>(array, f64::from),
        DataType::UInt64 => each::<UInt64Type, _>(array, |value| value as f64),
        DataType::Float16 => each::<Float16Type, _>(array, f64::from),
        DataType::Float32 => each::<Float32Type, _>(array, f64::from),
        DataType::Float64 => each::<Float64Type, _>(array, |value| value),
        DataType::Boolean => {
            array.as_boolean().values().iter().map(|value| f64::from(u8::from(value))).collect()
        }
        _ => vec![f64::NAN; array.len()],
    }
}

/// Every value as a label; `None` where it is null.
pub(crate) fn texts(array: &ArrayRef) -> Vec<Option<String>> {
    let from_text = |text: Option<&str>| text.map(str::to_owned);
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(from_text).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(from_text).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(from_text).collect(),
        DataType::Boolean => array.as_boolean().iter().map(|value| value.map(labels::from_boolean)).collect(),
        DataType::Int8 => print::<Int8Type>(array, |value| value.to_string()),
        DataType::Int16 => print::<Int16Type>(array, |value| value.to_string()),
        DataType::Int32 => print::<Int32Type>(array, |value| value.to_string()),
        DataType::Int64 => print::<Int64Type>(array, |value| value.to_string()),
        DataType::UInt8 => print::<UInt8Type>(array, |value| value.to_string()),
        DataType::UInt16 => print::<UInt16Type>(array, |value| value.to_string()),
        DataType::UInt32 => print::<UInt32Type>(array, |value| value.to_string()),
        DataType::UInt64 => print::<UInt64Type>(array, |value| value.to_string()),
        DataType::Float16 => print::<Float16Type>(array, |value| labels::from_single(value.to_f32())),
        DataType::Float32 => print::<Float32Type>(array, labels::from_single),
        DataType::Float64 => print::<Float64Type>(array, labels::from_double),
        DataType::Dictionary(_, _) => decoded(array),
        _ => vec![None; array.len()],
    }
}

fn decoded(array: &ArrayRef) -> Vec<Option<String>> {
    let dictionary = array.as_any_dictionary();
    let words = texts(dictionary.values());
    if words.is_empty() {
        return vec![None; array.len()];
    }
    let keys = dictionary.normalized_keys();
    keys.into_iter()
        .enumerate()
        .map(|(row, key)| if dictionary.is_null(row) { None } else { words[key].clone() })
        .collect()
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef) -> &PrimitiveArray<T> {
    array.as_primitive::<T>()
}

fn each<T: ArrowPrimitiveType, F: Fn(T::Native) -> f64>(array: &ArrayRef, convert: F) -> Vec<f64> {
    primitive::<T>(array).values().iter().map(|&value| convert(value)).collect()
}

fn print<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    convert: impl Fn(T::Native) -> String,
) -> Vec<Option<String>> {
    primitive::<T>(array).iter().map(|value| value.map(&convert)).collect()
}
