//! The vector instructions that everything runs on: the best that the processor has.

use fearless_simd::Level;

/// Whatever it is, the same rows give the same model for any number of threads, tiles and memory. Levels that lack a fused
/// multiplication and addition may round the last digit otherwise than those that have it.
#[inline]
pub fn level() -> Level {
    #[cfg(feature = "forced")]
    if let Some(level) = forced::get() {
        return level;
    }
    Level::new()
}

/// The name of a level.
pub fn name(level: Level) -> &'static str {
    match level {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Avx512(_) => "AVX-512",
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Avx2(_) => "AVX2",
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Sse4_2(_) => "SSE4.2",
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Sse2(_) => "SSE2",
        #[cfg(target_arch = "aarch64")]
        Level::Neon(_) => "NEON",
        _ => "scalar",
    }
}

#[cfg(feature = "forced")]
pub mod forced {
    //! Lower levels than the processor's, for the threads of one pool.

    use std::cell::Cell;

    use fearless_simd::Level;

    thread_local! {
        static LEVEL: Cell<Option<Level>> = const { Cell::new(None) };
    }

    pub(super) fn get() -> Option<Level> {
        LEVEL.get()
    }

    /// Every level that this processor has, the scalar one included.
    pub fn levels() -> Vec<Level> {
        let best = Level::new();
        let mut levels = vec![Level::fallback()];
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(best.as_sse4_2().map(Level::Sse4_2));
            levels.extend(best.as_avx2().map(Level::Avx2));
            levels.extend(best.as_avx512().map(Level::Avx512));
        }
        #[cfg(target_arch = "aarch64")]
        levels.extend(best.as_neon().map(Level::Neon));
        levels
    }

    /// Calls on so many threads, which all run on that level.
    ///
    /// # Panics
    ///
    /// If there are no threads to be had.
    pub fn on<R: Send>(level: Level, threads: usize, call: impl FnOnce() -> R + Send) -> R {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .start_handler(move |_| LEVEL.set(Some(level)))
            .build()
            .expect("a pool of a few threads");
        pool.install(call)
    }
}
