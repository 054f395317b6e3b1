//! Setting thresholds: by a rule, on rows that were not learned or on strangers, and what that promises.

pub(crate) mod discovery;
pub(crate) mod promise;
pub(crate) mod rows;
pub(crate) mod rule;
pub(crate) mod strangers;
