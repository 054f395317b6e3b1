//! What a model notes of its rows and columns, which decides nothing.

use std::sync::Arc;

use crate::error::FeatureError;
use crate::model::Evm;
use crate::model::aside::Aside;
use crate::model::encoder::Known;
use crate::model::origin::Origins;
use evmachine_engine::features::LARGEST;

/// Notes of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ledger {
    /// Rows that were set aside.
    pub(crate) aside: Arc<Vec<Aside>>,
    /// Where rows came from.
    pub(crate) origins: Arc<Origins>,
    /// By column, what stands in for a missing value.
    pub(crate) fill: Option<Arc<Vec<f32>>>,
    /// One for each dimension, or none at all.
    pub(crate) feature_names: Vec<String>,
    pub(crate) label_type: Option<String>,
    /// What the vectors come from, where it was named.
    pub(crate) encoder: Option<Known>,
}

/// # Look inside
impl Evm {
    /// Names of the features, one for each dimension; empty where nobody gave them.
    pub fn feature_names(&self) -> &[String] {
        &self.ledger.feature_names
    }

    /// Names the features, so that whoever loads the model can put columns in the same order: one name for each dimension,
    /// or none at all, which takes them away.
    ///
    /// ```
    /// # use evmachine::{Evm, FeatureError, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// # let (mut evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
    /// evm.set_feature_names(vec!["height".to_owned()])?;
    /// assert_eq!(evm.feature_names(), ["height"]);
    /// let two = vec!["height".to_owned(), "width".to_owned()];
    /// assert_eq!(evm.set_feature_names(two), Err(FeatureError::NameCount { expected: 1, found: 2 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_feature_names(&mut self, names: Vec<String>) -> Result<(), FeatureError> {
        if !names.is_empty() && names.len() != self.machine.dimensions {
            return Err(FeatureError::NameCount { expected: self.machine.dimensions, found: names.len() });
        }
        self.ledger.feature_names = names;
        Ok(())
    }

    /// What labels were before they became class names, in the words of whoever trained the model, such as `uint8`.
    pub fn label_type(&self) -> Option<&str> {
        self.ledger.label_type.as_deref()
    }

    /// Notes the type of the labels, so that whoever loads the model can give them back as they came. Class names are text
    /// whatever it is.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["0", "0", "0", "1", "1", "1"])?;
    /// # let (mut evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
    /// evm.set_label_type(Some("int64".to_owned()));
    /// assert_eq!(Evm::from_bytes(&evm.to_bytes()?)?.label_type(), Some("int64"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_label_type(&mut self, label_type: Option<String>) {
        self.ledger.label_type = label_type;
    }

    /// What fills missing values, one number for each dimension; `None` where they are not filled.
    pub fn fill_values(&self) -> Option<&[f32]> {
        self.ledger.fill.as_deref().map(Vec::as_slice)
    }

    /// Keeps what fills missing values, so that whoever loads the model fills queries alike: one number for each dimension,
    /// or none at all, which takes them away.
    pub fn set_fill_values(&mut self, numbers: Option<Vec<f32>>) -> Result<(), FeatureError> {
        if let Some(numbers) = &numbers {
            if numbers.len() != self.machine.dimensions {
                let (expected, found) = (self.machine.dimensions, numbers.len());
                return Err(FeatureError::Dimensions { expected, found });
            }
            if let Some(column) = numbers.iter().position(|value| !value.is_finite()) {
                return Err(FeatureError::NotFinite { row: 0, column, value: f64::from(numbers[column]) });
            }
            if let Some(column) = numbers.iter().position(|value| value.abs() > LARGEST) {
                let (value, limit) = (numbers[column], LARGEST);
                return Err(FeatureError::TooLarge { row: 0, column, value, limit });
            }
        }
        self.ledger.fill = numbers.map(std::sync::Arc::new);
        Ok(())
    }
}
