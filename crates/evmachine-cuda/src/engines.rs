//! The engines of a device: as many as there are calls at once.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::{Engine, Opened};
use crate::error::{Failure, OpenError};

/// Nobody waits for an engine. Calls share the threads of a pool, and a thread that waits for a part of one call may be handed
/// another call, which would wait for what lies below it on the same stack.
pub(crate) struct Engines {
    opened: Arc<Opened>,
    idle: Mutex<Vec<Engine>>,
}

/// An engine in use, which is idle again when it is dropped.
pub(crate) struct Taken<'a> {
    engines: &'a Engines,
    engine: Option<Engine>,
}

impl Engines {
    pub(crate) fn open(number: usize) -> Result<Self, OpenError> {
        let opened = Arc::new(Opened::new(number)?);
        let first = Engine::new(&opened)
            .map_err(|failure| OpenError::Refused { number, reason: opened.explain(failure).to_string() })?;
        Ok(Self { opened, idle: Mutex::new(vec![first]) })
    }

    pub(crate) fn opened(&self) -> &Opened {
        &self.opened
    }

    pub(crate) fn take(&self) -> Result<Taken<'_>, Failure> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let engine = idle.map_or_else(|| Engine::new(&self.opened), Ok)?;
        Ok(Taken { engines: self, engine: Some(engine) })
    }
}

impl Deref for Taken<'_> {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        self.engine.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut idle = self.engines.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(self.engine.take());
    }
}
