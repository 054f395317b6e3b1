//! Seconds that a stage takes; always 0 on a platform without a clock.

/// Started when it is made.
pub(crate) struct Clock {
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    start: std::time::Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
            start: std::time::Instant::now(),
        }
    }

    /// Since it was started.
    pub(crate) fn elapsed(&self) -> std::time::Duration {
        #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
        return self.start.elapsed();
        #[cfg(all(target_family = "wasm", target_os = "unknown"))]
        return std::time::Duration::ZERO;
    }
}
