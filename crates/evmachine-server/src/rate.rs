//! How often a client may ask.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Seconds' worth of requests that may come at once.
const BURST: f64 = 10.0;
/// Clients that are kept in mind; of more, those that asked least lately are forgotten, which forgives them.
const CLIENTS: usize = 10_000;

/// A bucket for each client, that fills at the rate and is emptied by requests.
pub(crate) struct Rate {
    per_second: f64,
    buckets: Mutex<HashMap<String, (f64, Instant)>>,
}

impl Rate {
    pub(crate) fn new(per_second: f64) -> Self {
        Self { per_second, buckets: Mutex::default() }
    }

    /// Whether the client may go on.
    pub(crate) fn take(&self, client: &str) -> bool {
        self.take_at(client, Instant::now())
    }

    fn take_at(&self, client: &str, now: Instant) -> bool {
        let most = (self.per_second * BURST).max(1.0);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > CLIENTS {
            let full = |(left, since): (f64, Instant)| {
                left + now.saturating_duration_since(since).as_secs_f64() * self.per_second >= most
            };
            buckets.retain(|_, bucket| !full(*bucket));
            if buckets.len() > CLIENTS {
                buckets.clear();
            }
        }
        let (left, since) = buckets.get(client).copied().unwrap_or((most, now));
        let left = (left + now.saturating_duration_since(since).as_secs_f64() * self.per_second).min(most);
        let may = left >= 1.0;
        let left = if may { left - 1.0 } else { left };
        buckets.insert(client.to_owned(), (left, now));
        may
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_fills_at_the_rate() {
        let rate = Rate::new(2.0);
        let start = Instant::now();
        let taken = (0..30).filter(|_| rate.take_at("a", start)).count();
        assert_eq!(taken, 20);
        assert!(rate.take_at("b", start), "others have buckets of their own");
        assert!(!rate.take_at("a", start + Duration::from_millis(400)));
        assert!(rate.take_at("a", start + Duration::from_millis(600)));
        assert!(!rate.take_at("a", start + Duration::from_millis(700)));
    }
}
