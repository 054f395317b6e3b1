//! Names that found a class.

use evmachine::refuse_slip;

use crate::error::StoreError;
use crate::pool::Pool;

impl Pool {
    /// Refuses a name that no class may have. Unless `new_class`, refuses also a name that would found a class and looks
    /// like a typing error for a class of the live version or for a label that somebody gave.
    ///
    /// Every front end asks this before an answer, because only there somebody can say that the name is meant.
    pub fn check_label(&mut self, name: &str, new_class: bool) -> Result<(), StoreError> {
        self.check_name(name)?;
        if new_class {
            return Ok(());
        }
        let model = self.live()?;
        let labels = self.labels()?;
        let classes = model.classes().map(|class| class.name).chain(labels.keys().map(String::as_str));
        Ok(refuse_slip(name, classes)?)
    }
}
